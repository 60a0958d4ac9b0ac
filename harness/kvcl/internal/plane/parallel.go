package plane

import (
	"context"
	"sync"
	"sync/atomic"
)

// parallel calls do(0) .. do(len(errs)-1) from several goroutines, in that order of starts, until one fails or ctx ends. errs gets what they
// return, and the error of ctx where it ended; it is nil for those that were not called.
func parallel(ctx context.Context, workers int, errs []error, do func(i int) error) {
	var (
		next   atomic.Int64
		failed atomic.Bool
		wg     sync.WaitGroup
	)
	work := func() {
		for !failed.Load() {
			i := int(next.Add(1)) - 1
			if i >= len(errs) {
				return
			}
			if errs[i] = ctx.Err(); errs[i] == nil {
				errs[i] = do(i)
			}
			if errs[i] != nil {
				failed.Store(true)
			}
		}
	}
	if workers < 2 {
		work()
		return
	}
	for range min(workers, len(errs)) {
		wg.Go(work)
	}
	wg.Wait()
}
