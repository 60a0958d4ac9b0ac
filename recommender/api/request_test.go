package api

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/recommender"
	"github.com/scalehist/scalehist/simulator/drain"
)

// TestRequestBytes: the types that the recommender computes with are the wire's, so a change of them must not change it. Options of
// a group and Parallelism are not sent: servers refuse keys that they do not know.
func TestRequestBytes(t *testing.T) {
	group := recommender.GroupOf(scalehist.NodeGroup{Name: "g", MinSize: 1, MaxSize: 3, TargetSize: 2, GuessedMax: true, Zone: "z", MachineType: "m",
		Options: &scalehist.NodeGroupOptions{}})
	group.Upcoming = []string{"g-1"}
	cutoff := int32(-10)
	r := &recommender.Request{Now: testNow, Objects: &scalehist.Objects{}, Parallelism: 7, Terms: recommender.Terms{
		NodeGroups: []recommender.NodeGroup{group}, NodeGroupOf: map[string]string{"n": "g"},
		Constraints: recommender.Constraints{Backoff: map[string]string{"g": "failed"}, MaxNodesTotal: 9, Cores: &recommender.Range{Min: 1, Max: 8}, MemoryGiB: &recommender.Range{Max: 32},
			ExpendablePriorityCutoff: &cutoff, IgnoreMinSize: true, ScaleDown: &recommender.ScaleDownConstraints{UtilizationThreshold: 0.5, IgnoreDaemonSets: true, MaxNodes: 2,
				Rules: drain.Options{SkipSystemPods: true, SkipLocalStorage: true, SkipCustomControllers: true, MinReplicaCount: 1, SystemPodTimeout: scalehist.Duration(time.Hour)}}},
		Prices:   &prices.Table{Currency: "EUR", MachineTypes: map[string]float64{"m": 0.1}},
		Strategy: recommender.Greedy, Scoring: recommender.Weighted, Weights: recommender.Weights{"cpu": 6}}}
	got, err := json.Marshal(FromRequest(r))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion":"recommender.scalehist.io/v1","now":"2026-03-01T10:00:00Z",` +
		`"nodeGroups":[{"name":"g","minSize":1,"maxSize":3,"guessedMax":true,"targetSize":2,"zone":"z","machineType":"m","upcoming":["g-1"]}],` +
		`"nodeGroupOf":{"n":"g"},"constraints":{"backoff":{"g":"failed"},"maxNodesTotal":9,"cores":{"min":1,"max":8},"memoryGiB":{"max":32},` +
		`"expendablePriorityCutoff":-10,"ignoreMinSize":true,"scaleDown":{"utilizationThreshold":0.5,"ignoreDaemonSets":true,"maxNodes":2,` +
		`"rules":{"skipSystemPods":true,"skipLocalStorage":true,"skipCustomControllers":true,"minReplicaCount":1,"systemPodTimeout":"1h0m0s"}}},` +
		`"prices":{"currency":"EUR","machineTypes":{"m":0.1},"pods":{}},"strategy":"greedy","scoring":"weighted","weights":{"cpu":6}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("the request on the wire (-want +got):\n%s", diff)
	}
	q, err := DecodeRequest(got, DecodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	back, _ := q.Recommender()
	back.Parallelism = r.Parallelism
	if diff := cmp.Diff(r, back); diff != "" {
		t.Errorf("the request read again (-want +got):\n%s", diff)
	}
}
