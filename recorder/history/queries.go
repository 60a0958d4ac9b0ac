package history

import (
	"context"
	"time"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

// QueriesAt are the texts of the queries behind recorded metric series at t, by the name of the series. A series that the
// recorder made itself, or that came with a log that does not say, has none.
func (db *DB) QueriesAt(ctx context.Context, t time.Time) (map[string]v1alpha1.MetricQuerySpec, error) {
	objects, err := db.ObjectsAt(ctx, t, "MetricQuery")
	out := make(map[string]v1alpha1.MetricQuerySpec, len(objects))
	for _, o := range objects {
		if q, ok := o.(*v1alpha1.MetricQuery); ok {
			out[q.Name] = q.Spec
		}
	}
	return out, err
}
