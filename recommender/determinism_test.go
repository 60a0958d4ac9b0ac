package recommender

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist/simulator/drain"
)

func encoded(t testing.TB, r *Recommendation) string {
	t.Helper()
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// mixedRequest has a bit of everything.
func mixedRequest() *Request {
	r := benchRequest(40, 160, 24)
	r.Constraints.ScaleDown = &ScaleDownConstraints{UtilizationThreshold: 1, Rules: drain.Options{}}
	r.Constraints.MaxNodesTotal = 64
	r.Objects.Pods = append(r.Objects.Pods, testPods("alone", 5, "1500m", "1Gi", apartOver(corev1.LabelHostname), withPriority(7))...)
	r.Objects.Pods = append(r.Objects.Pods, testPods("near", 5, "1500m", "1Gi", nextTo("alone", corev1.LabelTopologyZone))...)
	return r
}

// TestSameBytes: repeats, parallelism, what a recommender was asked before, concurrent requests, and a way through JSON
// change nothing.
//
//scalehist:unraced
func TestSameBytes(t *testing.T) {
	for _, strategy := range Strategies() {
		t.Run(strategy, func(t *testing.T) {
			r := mixedRequest()
			r.Strategy, r.Parallelism = strategy, 1
			want := encoded(t, recommend(t, r))
			rec := New()
			for i := range 20 {
				again := *r
				again.Parallelism = []int{1, 8, 0, 3}[i%4]
				if i%5 == 0 { // something else in between
					if _, err := rec.Recommend(t.Context(), request(twoZones(), testPods("other", 9, "1", "1Gi"))); err != nil {
						t.Fatal(err)
					}
				}
				got, err := rec.Recommend(t.Context(), &again)
				if err != nil {
					t.Fatal(err)
				}
				if e := encoded(t, got); e != want {
					t.Fatalf("repeat %d with parallelism %d differs (-first +now):\n%s", i, again.Parallelism, cmp.Diff(strings.Split(want, "\n"), strings.Split(e, "\n")))
				}
			}
			data, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			var decoded Request
			if err := json.Unmarshal(data, &decoded); err != nil {
				t.Fatal(err)
			}
			if e := encoded(t, recommend(t, &decoded)); e != want {
				t.Errorf("through JSON (-first +now):\n%s", cmp.Diff(strings.Split(want, "\n"), strings.Split(e, "\n")))
			}
			var wg sync.WaitGroup
			got := make([]string, 4)
			for i := range got {
				wg.Go(func() {
					rr := *r
					rr.Parallelism = 2
					if out, err := rec.Recommend(t.Context(), &rr); err != nil {
						got[i] = err.Error()
					} else if data, err := json.MarshalIndent(out, "", " "); err != nil {
						got[i] = err.Error()
					} else {
						got[i] = string(data)
					}
				})
			}
			wg.Wait()
			for i := range got {
				if got[i] != want {
					t.Errorf("concurrent request %d differs: %s", i, fmt.Sprint(got[i])[:min(200, len(got[i]))])
				}
			}
		})
	}
}
