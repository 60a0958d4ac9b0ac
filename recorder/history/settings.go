package history

import (
	"context"
	"database/sql"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history/internal/stored"
	"github.com/scalehist/scalehist/recorder/history/snapshot"
)

// settingsKinds are the objects that settings are read from.
var settingsKinds = []string{"Deployment", "ConfigMap"}

// SettingsChanges are the changes of the settings with from < At <= to, in time order.
func (db *DB) SettingsChanges(ctx context.Context, from, to time.Time) ([]scalehist.SettingsChange, error) {
	var out []scalehist.SettingsChange
	err := db.read(ctx, "settings changes", func(q queryer) error {
		after, end, err := window(from, to)
		if err != nil {
			return err
		}
		moments, err := changeTimes(ctx, q, after.at, end)
		if err != nil {
			return err
		}
		l := newLoader(q)
		at := func(t time.Time) (scalehist.CASettings, error) {
			objects, err := objectsAt(ctx, q, l, t, settingsKinds...)
			return snapshot.Of(t, objects).CASettings, err
		}
		var last scalehist.CASettings
		if !from.IsZero() {
			if last, err = at(from); err != nil {
				return err
			}
		}
		for _, m := range moments {
			now, err := at(m)
			if err != nil {
				return err
			}
			if !now.Equal(last) {
				out = append(out, scalehist.SettingsChange{At: m, Settings: now})
				last = now
			}
		}
		return nil
	})
	return out, err
}

// At the base of a history whose past was forgotten all that lives there came.
const changeTimesQuery = `SELECT DISTINCT max(v.at, ?3) FROM scope s CROSS JOIN object o ON o.scope_id = s.id AND o.few = 1
	CROSS JOIN version v ON v.object_id = o.id AND v.few = 1
	WHERE s.kind IN ('Deployment', 'ConfigMap') AND max(v.at, ?3) > ?1 AND v.at <= ?2 ORDER BY 1`

// changeTimes are the instants at which an autoscaler's Deployment or ConfigMap came, changed or went. Only content
// matters: a Deployment's replicas are no settings.
func changeTimes(ctx context.Context, q queryer, after, end int64) ([]time.Time, error) {
	b, err := readBase(ctx, q)
	if err != nil {
		return nil, err
	}
	return readRows(ctx, q, func(rows *sql.Rows) (time.Time, error) {
		ns, err := scanOne[int64](rows)
		return stored.FromNS(ns), err
	}, changeTimesQuery, max(after, b.at-1), end, b.at)
}
