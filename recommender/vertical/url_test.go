package vertical

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist/recommender/vertical/remote"
)

// FuzzAnswer: whatever a recommender elsewhere answers is an error, or recommendations in order of containers that the workload has, of amounts that
// can be requested.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{
		`{"recommendations":[{"container":"app","target":{"cpuMilli":5,"memoryBytes":6},"lower":{"cpuMilli":1},"upper":{"memoryBytes":9}}]}`, `{"recommendations":null}`,
		`{"recommendations":[{"container":"side","target":{"cpuMilli":-1}},{"container":"app","target":{"cpuMilli":1000000000000001}}]}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var a remote.Answer
		if json.Unmarshal([]byte(text), &a) != nil {
			t.Skip()
		}
		list, err := (&elsewhere{workload: shop}).read(a.Recommendations)
		if err != nil {
			return
		}
		if !slices.IsSortedFunc(list, func(a, b Recommendation) int { return strings.Compare(a.Container, b.Container) }) || len(list) != len(a.Recommendations) {
			t.Errorf("%+v", list)
		}
		for _, r := range list {
			if !slices.Contains(shop.Containers, r.Container) || r.Target == None {
				t.Errorf("%+v", r)
			}
			for _, amount := range []Amount{r.Lower, r.Target, r.Upper} {
				if amount.CPUMilli < Unset || amount.MemoryBytes < Unset || amount.CPUMilli > mostAmount || amount.MemoryBytes > mostAmount {
					t.Errorf("%+v", r)
				}
			}
		}
		again, err := (&elsewhere{workload: shop}).read(Wire(list))
		if err != nil || !slices.Equal(list, again) {
			t.Errorf("%+v became %+v, %v", list, again, err)
		}
	})
}

// TestEvery: between questions, what was recommended holds, and nothing is asked.
func TestEvery(t *testing.T) {
	u := &elsewhere{every: time.Hour, asked: start, last: []Recommendation{{Container: "app"}}}
	if got := ask(t, u, start.Add(59*time.Minute)); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	u.Reset()
	if len(u.last) != 0 || !u.asked.IsZero() || !u.reset {
		t.Errorf("after Reset: %+v", u)
	}
}
