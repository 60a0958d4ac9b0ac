package history

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/scalehist/scalehist/recorder/history/internal/stored"
)

// LastSample is when the last sample of the series of a name is, of any labels; zero if there is none.
func (db *DB) LastSample(ctx context.Context, series string) (time.Time, error) {
	var at int64
	err := db.read(ctx, "last sample of "+series, func(q queryer) error {
		rows, err := q.QueryContext(ctx, `SELECT s.at FROM sample s JOIN series r ON r.id = s.series_id WHERE r.name = ? ORDER BY s.at DESC LIMIT 1`, series)
		if err != nil {
			return err
		}
		defer rows.Close()
		if !rows.Next() {
			return errors.Join(rows.Err(), sql.ErrNoRows)
		}
		return rows.Scan(&at)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return stored.FromNS(at), nil
}
