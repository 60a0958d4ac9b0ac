package recorder

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

// leastRetain is the shortest Options.Retain: less is not worth a recording.
const leastRetain = time.Hour

// retainInterval is the time between two rounds of forgetting: often enough that a history is at most a thirtieth longer
// than asked for, and seldom enough that reading what is left, which ends a round, is no load.
func retainInterval(keep time.Duration) time.Duration {
	return min(max(keep/30, time.Hour), 24*time.Hour)
}

// retain forgets what ended longer ago than Options.Retain, when a round is due. The watches wait in the queue
// meanwhile, as they do for any transaction.
func (w *writer) retain(ctx context.Context) error {
	keep, now := w.r.o.Retain, w.r.now()
	if keep == 0 || !w.retained.IsZero() && now.Sub(w.retained) < retainInterval(keep) {
		return nil
	}
	w.retained = now
	return w.persist(ctx, func() error {
		report, err := w.store.Retain(ctx, now.Add(-keep))
		if err == nil && report.Versions+report.Events+report.Usages+report.Samples > 0 {
			klog.FromContext(ctx).Info("Forgot what is older than to be kept", "begins", report.From, "versions", report.Versions,
				"events", report.Events, "usages", report.Usages, "samples", report.Samples)
		}
		return err
	})
}
