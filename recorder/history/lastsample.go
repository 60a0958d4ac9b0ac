package history

import (
	"context"
	"time"

	"github.com/scalehist/scalehist/recorder/history/internal/stored"
)

// LastSample is when the last sample of the series of a name is, of any labels; zero if there is none.
func (db *DB) LastSample(ctx context.Context, series string) (time.Time, error) {
	var at time.Time
	err := db.read(ctx, "last sample of "+series, func(q queryer) error {
		last, err := readRows(ctx, q, scanOne[int64], `SELECT s.at FROM sample s JOIN series r ON r.id = s.series_id WHERE r.name = ? ORDER BY s.at DESC LIMIT 1`, series)
		for _, ns := range last {
			at = stored.FromNS(ns)
		}
		return err
	})
	return at, err
}
