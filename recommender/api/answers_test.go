package api

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recommender"
)

func inProcess(t *testing.T, r *recommender.Request) *recommender.Recommendation {
	t.Helper()
	out, err := recommender.New().Recommend(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSameAnswerOverHTTP: in process and over HTTP, 20 times in a row and 20 at once, the answer is the same to the byte.
func TestSameAnswerOverHTTP(t *testing.T) {
	for _, strategy := range recommender.Strategies() {
		t.Run(strategy, func(t *testing.T) {
			r := testRequest()
			r.Strategy = strategy
			want := text(t, inProcess(t, r))
			const repeats = 20
			s := newTestServer(t, Options{MaxConcurrent: repeats})
			c := newTestClient(t, s.URL)
			for range repeats {
				got, err := c.Recommend(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, text(t, got)); diff != "" {
					t.Fatalf("over HTTP (-in process +over HTTP):\n%s", diff)
				}
			}
			var wg sync.WaitGroup
			errs := make([]error, repeats)
			for i := range repeats {
				wg.Go(func() {
					got, err := c.Recommend(t.Context(), r)
					if err != nil {
						errs[i] = err
						return
					}
					b, err := json.MarshalIndent(got, "", " ")
					if err == nil && string(b) != want {
						err = fmt.Errorf("request %d: %s", i, cmp.Diff(want, string(b)))
					}
					errs[i] = err
				})
			}
			wg.Wait()
			for _, err := range errs {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestScenarioIsWorthIt: the request that the tests compare has scale-ups, pods left, fits and a node that stays.
func TestScenarioIsWorthIt(t *testing.T) {
	got := inProcess(t, testRequest())
	if len(got.ScaleUps) == 0 || len(got.Unplaced) != 1 || len(got.Fits) == 0 || len(got.Unremovable) == 0 || len(got.Steps) == 0 || got.Cost == nil {
		t.Errorf("too little to compare: %s", text(t, got))
	}
}

// TestSnapshotOfReport: a snapshot with whole objects gives the answer that its objects give.
func TestSnapshotOfReport(t *testing.T) {
	r := testRequest()
	var groups []scalehist.NodeGroup
	for _, g := range r.NodeGroups {
		groups = append(groups, scalehist.NodeGroup{Name: g.Name, MinSize: g.MinSize, MaxSize: g.MaxSize, TargetSize: g.TargetSize,
			Zone: g.Zone, MachineType: g.MachineType, Template: g.Template})
	}
	snapshot := scalehist.NewSnapshot(testNow, r.Objects, groups, scalehist.CASettings{})
	whole := FromRequest(r)
	whole.Now, whole.Objects, whole.NodeGroups, whole.Snapshot = snapshot.At, nil, nil, &snapshot
	data, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	q, err := DecodeRequest(data, DecodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, warnings := q.Recommender()
	if len(warnings) > 0 {
		t.Errorf("warnings: %q", warnings)
	}
	// A snapshot has groups in the order of their names, pods of one instant in that of theirs.
	r.NodeGroups[0], r.NodeGroups[1] = r.NodeGroups[1], r.NodeGroups[0]
	byCreation(r.Objects.Pods)
	if diff := cmp.Diff(text(t, inProcess(t, r)), text(t, inProcess(t, got))); diff != "" {
		t.Errorf("from the snapshot (-objects +snapshot):\n%s", diff)
	}
	summary := snapshot.Summary()
	data, err = json.Marshal(&Request{APIVersion: Version, Snapshot: &summary})
	if err != nil {
		t.Fatal(err)
	}
	_, err = DecodeRequest(data, DecodeOptions{})
	const want = "snapshot.nodes[0].node: it is missing: the snapshot is a summary: make the report with whole objects: 'scalehist replay --full-snapshots', FullSnapshots of harness.Settings in Go"
	if err == nil || err.Error() != want {
		t.Errorf("a summary: got %v, want %s", err, want)
	}
}

// TestRoundTrip: a request loses nothing on the wire that a recommendation reads.
func TestRoundTrip(t *testing.T) {
	r := testRequest()
	r.NodeGroups[0].Upcoming = []string{"small-7"}
	r.NodeGroups[0].TemplatePods = append(r.NodeGroups[0].TemplatePods, testPod("proxy", "100m", "10Mi", ""))
	r.NodeGroupOf = map[string]string{"small-1": "large"}
	r.Weights = recommender.Weights{"cpu": 3}
	r.Constraints.Cores, r.Constraints.MemoryGiB = &recommender.Range{Min: 1, Max: 99}, &recommender.Range{Max: 400}
	r.Constraints.Backoff = map[string]string{"large": "out of stock"}
	data, err := json.Marshal(FromRequest(r))
	if err != nil {
		t.Fatal(err)
	}
	q, err := DecodeRequest(data, DecodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := q.Recommender()
	again, err := json.Marshal(FromRequest(got))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(data), string(again)); diff != "" {
		t.Errorf("second time on the wire (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(text(t, inProcess(t, r)), text(t, inProcess(t, got))); diff != "" {
		t.Errorf("answer (-before +after):\n%s", diff)
	}
}

func TestWarnings(t *testing.T) {
	q, err := DecodeRequest([]byte(`{"apiVersion":"recommender.scalehist.io/v1","now":"2026-03-01T10:00:00Z",
		"nodeGroups":[{"name":"bare","minSize":0,"maxSize":3,"guessedMax":true,"targetSize":0}],
		"objects":[{"apiVersion":"v1","kind":"List","items":[
			{"apiVersion":"v1","kind":"Pod","metadata":{"name":"db"},"spec":{"priorityClassName":"high","containers":[{"name":"c"}],"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"d"}}]}},
			{"apiVersion":"v1","kind":"Pod","metadata":{"name":"ds","ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"x","uid":"x","controller":true}]},"spec":{"containers":[{"name":"c"}]}}]}]}`), DecodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, got := q.Recommender()
	want := []string{
		"default/db: the pods' PersistentVolumeClaims are not among the objects, so pending ones fit nowhere: add claims, volumes and storage classes to objects",
		"default/db: the pods have a priorityClassName and no priority, which counts as 0: set spec.priority",
		"bare: the node groups have no template and no node, so they cannot grow: give nodeGroups with a template",
		"bare: nobody recorded how large the node groups may be: their max size is a guess, the most nodes seen at once; give nodeGroups with a maxSize",
		"1 pod of DaemonSets and no DaemonSet among the objects: a new node is taken to have DaemonSet pods only where a node of its group stands",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if p := r.Objects.Pods[0]; p.Namespace != "default" || p.UID != "pod/default/db" {
		t.Errorf("a pod written by hand: namespace %q, UID %q", p.Namespace, p.UID)
	}
}

// TestDefaultPrices: a server's prices are for requests that have none.
func TestDefaultPrices(t *testing.T) {
	r := testRequest()
	prices := r.Prices
	r.Prices = nil
	var seen *recommender.Request
	s := newTestServer(t, Options{Prices: prices, Parallelism: 3, Recommender: answering(func(ctx context.Context, r *recommender.Request) (*recommender.Recommendation, error) {
		seen = r
		return recommender.New().Recommend(ctx, r)
	})})
	got, err := newTestClient(t, s.URL).Recommend(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if seen.Prices != prices || seen.Parallelism != 3 || got.Scoring != recommender.LeastCost {
		t.Errorf("got prices %v, parallelism %d, scoring %s", seen.Prices, seen.Parallelism, got.Scoring)
	}
}
