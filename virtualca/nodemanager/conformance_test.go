package nodemanager_test

import (
	"sync"
	"testing"
	"time"

	"github.com/scalehist/scalehist/internal/realprogram/realtest"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
	"github.com/scalehist/scalehist/virtualca/externalgrpc/conformance"
)

// TestConformance: through provider, API and back-end the whole contract is honoured, for 64 callers at once.
func TestConformance(t *testing.T) {
	for name, b := range backends(t) {
		t.Run(name, func(t *testing.T) {
			c := client(t, b)
			realtest.Eventually(t, "its nodes do not come", func() bool {
				list, err := c.Instances(t.Context(), "a")
				return err == nil && len(list) == 2 && list[0].State == externalgrpc.Running && list[1].State == externalgrpc.Running
			})
			results, err := conformance.Run(t.Context(), dial(t, c), conformance.Options{Change: "a", Callers: 64, CallTime: 20 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			absent := map[string]bool{}
			if name == "multicluster" {
				absent["get-options"] = true // its groups have none of their own
			}
			for _, r := range results {
				if r.Outcome != conformance.Honoured && (r.Outcome == conformance.Broken || !absent[r.Check]) {
					t.Errorf("%s is %s: %s", r.Check, r.Outcome, r.Text)
				}
			}
		})
	}
}

// TestManyCallersGrowAGroup: what is granted is there, once; above the maximum nothing is.
func TestManyCallersGrowAGroup(t *testing.T) {
	for name, b := range backends(t) {
		t.Run(name, func(t *testing.T) {
			c := client(t, b)
			var wg sync.WaitGroup
			granted := make([]bool, 64)
			for i := range granted {
				wg.Go(func() {
					granted[i] = c.IncreaseSize(t.Context(), "b", 1) == nil
					if _, err := c.Instances(t.Context(), "a"); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			n := 0
			for _, g := range granted {
				if g {
					n++
				}
			}
			size, err := c.TargetSize(t.Context(), "b")
			if err != nil || size != 2 || n != 2 {
				t.Errorf("%d calls were granted, and the target size is %d, %v: want the maximum of 2", n, size, err)
			}
		})
	}
}
