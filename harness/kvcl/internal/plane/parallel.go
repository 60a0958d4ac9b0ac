package plane

import (
	"sync"
	"sync/atomic"
)

// parallel calls do(0) .. do(n-1) from several goroutines, in that order of starts, until one returns false.
func parallel(workers, n int, do func(i int) bool) {
	if workers < 2 {
		for i := 0; i < n && do(i); i++ {
		}
		return
	}
	var (
		next   atomic.Int64
		failed atomic.Bool
		wg     sync.WaitGroup
	)
	for range min(workers, n) {
		wg.Go(func() {
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if !do(i) {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
}
