package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
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
	if len(got.ScaleUps) == 0 || len(got.Unplaced) != 1 || len(got.Fits) == 0 || len(got.Stays) == 0 || len(got.Steps) == 0 || got.Cost == nil {
		t.Errorf("too little to compare: %s", text(t, got))
	}
}

// TestSnapshotOfReport: a snapshot with whole objects gives the answer that its objects give.
func TestSnapshotOfReport(t *testing.T) {
	r := testRequest()
	var groups []scalehist.NodeGroup
	for _, g := range r.NodeGroups {
		groups = append(groups, g.NodeGroup)
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

// TestPrototypeShape: the alias takes the prototype's snapshot and answers in its shape.
func TestPrototypeShape(t *testing.T) {
	s := newTestServer(t, Options{})
	const pod = `{"Name":%q,"Namespace":"default","UID":%q,"CreationTimestamp":"2026-03-01T09:59:00Z","PodPhase":"Pending","Requests":{"cpu":"1","memory":"1Gi"},%s
		"Spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":%q,"memory":"1Gi"}}}]}}`
	body := `{"ID":"x-0","Number":1,"SnapshotTime":"2026-03-01T10:00:00Z","Hash":"abc",
		"AutoscalerConfig":{"Mode":"standalone-mode",
			"NodeTemplates":{"ns.p1-z1":{"Name":"ns.p1-z1","InstanceType":"m5.large","Region":"r","Zone":"z1","Capacity":{"cpu":"2","memory":"8Gi","pods":"110"},"Allocatable":{"cpu":"2","memory":"8Gi","pods":"110"},
				"Labels":{"worker.gardener.cloud/pool":"p1"},"Taints":null}},
			"NodeGroups":{"ns.p1-z1":{"Name":"ns.p1-z1","PoolName":"p1","Zone":"z1","TargetSize":1,"MinSize":1,"MaxSize":4}}},
		"Nodes":[{"Name":"n0","CreationTimestamp":"2026-03-01T09:00:00Z","Labels":{"worker.gardener.cloud/pool":"p1","topology.kubernetes.io/zone":"z1","node.kubernetes.io/instance-type":"m5.large"},
			"Allocatable":{"cpu":"2","memory":"8Gi","pods":"110"},"Capacity":{"cpu":"2","memory":"8Gi","pods":"110"}}],
		"Pods":[` + fmt.Sprintf(pod, "runs", "u0", `"NodeName":"n0",`, "2") + "," + fmt.Sprintf(pod, "a", "u1", "", "1") + "," + fmt.Sprintf(pod, "b", "u2", "", "1") + "," + fmt.Sprintf(pod, "c", "u3", "", "1") + "," + fmt.Sprintf(pod, "huge", "u4", "", "99") + `]}`
	response, answer := post(t, s.URL+PathPrototype, []byte(body))
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", response.Status, answer)
	}
	var got map[string]any
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "runTime")
	want := map[string]any{
		"recommendation": map[string]any{"scaleDown": []any{}, "scaleUp": []any{map[string]any{
			"zone": "z1", "nodePoolName": "p1", "incrementBy": 2.0, "instanceType": "m5.large", "nodeNames": []any{"ns.p1-z1-0", "ns.p1-z1-1"}}}},
		"unscheduledPods": []any{map[string]any{"Namespace": "default", "Name": "huge"}},
		"error":           "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	for _, c := range []struct{ body, want string }{
		{`{`, "unexpected end of JSON input: send a ClusterSnapshot of the prototype as JSON, or ask /v1/recommend"},
		{`{"Pods":[{"Name":5}]}`, "Pods.Name: number where a string is due: send a ClusterSnapshot of the prototype as JSON, or ask /v1/recommend"},
		{`{}`, "SnapshotTime: it is missing: write the instant of the snapshot, such as 2024-05-28T10:00:00Z"},
		{`{"SnapshotTime":"2026-03-01T10:00:00Z"}`, "AutoscalerConfig.NodeGroups: there are none: send the snapshot with its AutoscalerConfig"},
	} {
		response, answer := post(t, s.URL+PathPrototype, []byte(c.body))
		var got prototypeAnswer
		if err := json.Unmarshal(answer, &got); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != http.StatusBadRequest || got.RecommenderError != c.want {
			t.Errorf("%s: got %s %q, want %q", c.body, response.Status, got.RecommenderError, c.want)
		}
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
