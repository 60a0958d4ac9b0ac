package cloudprovider

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
)

// TestStateIsAll: a provider that goes on from a state does what the other one does, whatever is asked for before and after.
func TestStateIsAll(t *testing.T) {
	start := time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)
	fresh := func(t *rapid.T) *Provider {
		p, err := New([]scalehist.NodeGroup{{Name: "a", MaxSize: 6, TargetSize: 1}, {Name: "b", MaxSize: 3}},
			Options{Start: start, Faults: []Fault{{Group: "a", Kind: FaultStockOut, Skip: 2, Count: 2}, {Group: "b", Kind: FaultRefuse, Skip: 1, Count: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	rapid.Check(t, func(t *rapid.T) {
		p := fresh(t)
		now := start
		p.Fill(now)
		both := []*Provider{p}
		steps := rapid.IntRange(1, 12).Draw(t, "steps")
		for range 2 * steps {
			if steps--; steps == 0 {
				data, err := json.Marshal(p.State())
				if err != nil {
					t.Fatal(err)
				}
				var s State
				if err := json.Unmarshal(data, &s); err != nil {
					t.Fatal(err)
				}
				other := fresh(t)
				if err := other.Restore(s); err != nil {
					t.Fatal(err)
				}
				both = append(both, other)
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "seconds")) * time.Second)
			group, what, n := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "group"), rapid.IntRange(0, 2).Draw(t, "what"), rapid.IntRange(1, 2).Draw(t, "n")
			var errs []string
			for _, one := range both {
				one.Advance(now)
				var err error
				switch all := one.Instances(group); {
				case what == 0:
					err = one.IncreaseSize(t.Context(), now, group, n)
				case what == 1:
					err = one.DecreaseTargetSize(t.Context(), now, group, n)
				case len(all) > 0:
					err = one.DeleteNodes(t.Context(), now, group, []string{all[0].NodeName})
				}
				text := ""
				if err != nil {
					text = err.Error()
				}
				errs = append(errs, text)
			}
			if len(both) < 2 {
				continue
			}
			if errs[0] != errs[1] {
				t.Fatalf("one answers %q, the other %q", errs[0], errs[1])
			}
			if diff := cmp.Diff(both[0].State(), both[1].State()); diff != "" {
				t.Fatalf("states part (-goes on +restored):\n%s", diff)
			}
		}
	})
}
