package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// envelope is a request that is right but for what is put into it.
func envelope(inner string) string {
	return `{"apiVersion":"recommender.scalehist.io/v1","now":"2026-03-01T10:00:00Z",` + inner + `}`
}

func TestMalformedRequests(t *testing.T) {
	pod := func(spec string) string {
		return envelope(`"objects":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}},{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":` + spec + `}]`)
	}
	for _, c := range []struct{ name, body, want string }{
		{"empty", "", "it is empty: send JSON"},
		{"no JSON", "{\n\"apiVersion\": nonsense}", "it is not JSON, in line 2"},
		{"two values", envelope(`"strategy":""`) + "{}", "it is not JSON"},
		{"array", "[]", "array where an object is due"},
		{"no version", `{"now":"2026-03-01T10:00:00Z"}`, `apiVersion: it is missing: write "recommender.scalehist.io/v1"`},
		{"other version", `{"apiVersion":"v7"}`, `apiVersion: "v7" is not known`},
		{"no instant", `{"apiVersion":"recommender.scalehist.io/v1"}`, "now: it is missing"},
		{"instant", `{"apiVersion":"recommender.scalehist.io/v1","now":"noon"}`, `now: parsing time "noon"`},
		{"unknown key", envelope(`"nodegroups":[]`), "nodegroups: the key is not known: remove it, or look for the right name in /openapi.json"},
		{"unknown key inside", envelope(`"nodeGroups":[{"name":"a"},{"name":"b","minSzie":1}]`), "nodeGroups[1].minSzie: the key is not known"},
		{"twice", envelope(`"strategy":"a","strategy":"b"`), "strategy: the key is given twice: leave one out"},
		{"type", envelope(`"nodeGroups":[{"name":"a","maxSize":"three"}]`), "nodeGroups[0].maxSize: string where a whole number is due: correct the value"},
		{"fraction", envelope(`"constraints":{"maxNodesTotal":1.5}`), "constraints.maxNodesTotal: number 1.5 where a whole number is due"},
		{"duration", envelope(`"constraints":{"scaleDown":{"utilizationThreshold":1,"rules":{"systemPodTimeout":60}}}`), "constraints.scaleDown.rules.systemPodTimeout: number where a string is due"},
		{"map value", envelope(`"prices":{"currency":"EUR","machineTypes":{"m":"cheap"}}`), "prices.machineTypes.m: string where a number is due"},
		{"negative price", envelope(`"prices":{"currency":"EUR","machineTypes":{"m":-1}}`), "prices.machineTypes.m: -1 is no price"},
		{"currency", envelope(`"prices":{"machineTypes":{"m":1}}`), "prices.currency: it is missing"},
		{"bounds", envelope(`"nodeGroups":[{"name":"a","minSize":3,"maxSize":1,"targetSize":0}]`), "nodeGroups[0]: minSize 3, maxSize 1, targetSize 0: want 0 <= minSize <= maxSize and 0 <= targetSize"},
		{"huge bounds", envelope(`"nodeGroups":[{"name":"a","minSize":0,"maxSize":1,"targetSize":9000000000000000000}]`), "nodeGroups[0]: minSize 0, maxSize 1, targetSize 9000000000000000000: want"},
		{"huge snapshot", envelope(`"snapshot":{"at":"2026-03-01T10:00:00Z","nodeGroups":[{"name":"a","targetSize":90000},{"name":"b","targetSize":90000}]}`), "snapshot.nodeGroups[1]: the node groups up to this one ask for 180000 nodes and more"},
		{"huge sum", envelope(`"nodeGroups":[{"name":"a","maxSize":90000,"minSize":60000},{"name":"b","maxSize":90000,"targetSize":60000}]`), "nodeGroups[1]: the node groups up to this one ask for 120000 nodes and more: want at most 100000"},
		{"huge sum of objects", envelope(`"nodeGroups":[{"name":"a","maxSize":90000,"minSize":60000}],"objects":[{"apiVersion":"scalehist.io/v1alpha1","kind":"NodeGroup","metadata":{"name":"g"},"spec":{"maxSize":90000,"targetSize":60000}}]`), "objects: NodeGroup g: the node groups up to this one ask for 120000 nodes"},
		{"group object bounds", envelope(`"objects":[{"apiVersion":"scalehist.io/v1alpha1","kind":"NodeGroup","metadata":{"name":"g"},"spec":{"minSize":2}}]`), "objects: NodeGroup g: minSize 2, maxSize 0"},
		{"no group name", envelope(`"nodeGroups":[{"maxSize":1}]`), "nodeGroups[0].name: it is missing"},
		{"template key", envelope(`"nodeGroups":[{"name":"a","template":{"spec":{"taint":[]}}}]`), "nodeGroups[0].template.spec.taint: the key is not known: remove it, or ask with fieldValidation=Ignore"},
		{"template pod", envelope(`"nodeGroups":[{"name":"a","templatePods":[{}]}]`), "nodeGroups[0].templatePods[0]: the pod has no metadata.name"},
		{"null template pod", envelope(`"nodeGroups":[{"name":"a","templatePods":[null]}]`), "nodeGroups[0].templatePods[0]: the pod has no metadata.name"},
		{"string for an object", envelope(`"objects":["x"]`), "objects[0]: it is no object with apiVersion and kind"},
		{"null object", envelope(`"objects":[null]`), "objects[0]: it is no object with apiVersion and kind"},
		{"no kind", envelope(`"objects":[{"metadata":{"name":"x"}}]`), "objects[0]: apiVersion or kind is missing"},
		{"other kind", envelope(`"objects":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}]`), "objects[0]: a recommendation reads no v1 Secret: leave it out; read are v1 Namespace"},
		{"no name", envelope(`"objects":[{"apiVersion":"v1","kind":"Pod"}]`), "objects[0].metadata.name: it is missing"},
		{"object key", pod(`{"containers":[{"name":"c"},{"name":"d","recources":{}}]}`), "objects[1].spec.containers[1].recources: the key is not known: remove it, or ask with fieldValidation=Ignore"},
		{"object type", pod(`{"nodeName":["x"]}`), "objects[1].spec.nodeName: array where a string is due"},
		{"quantity", pod(`{"containers":[{"name":"c","resources":{"requests":{"cpu":"much"}}}]}`), "objects[1].spec.containers[0].resources.requests.cpu: quantities must match"},
		{"object twice", envelope(`"objects":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}},{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}]}]`),
			"objects[1].items[0]: Node n is given twice, first as objects[0]: leave one out"},
		{"list in a list", envelope(`"objects":[{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"List","items":[]}]}]`), "objects[0].items[0]: a recommendation reads no v1 List"},
		{"group object key", envelope(`"objects":[{"apiVersion":"scalehist.io/v1alpha1","kind":"NodeGroup","metadata":{"name":"g"},"spec":{"minSzie":1}}]`), "objects[0].spec.minSzie: the key is not known: remove it, or look"},
		{"deep nesting", envelope(`"objects":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)), "it is nested deeper than 100 levels (seen by byte"},
		{"not a number", envelope(`"prices":{"currency":"EUR","machineTypes":{"m":NaN}}`), "it is not JSON, in line 1"},
		{"infinite", envelope(`"prices":{"currency":"EUR","machineTypes":{"m":1e999}}`), "prices.machineTypes.m: number 1e999 where a number is due"},
		{"negative limit", envelope(`"constraints":{"maxNodesTotal":-1}`), "constraints.maxNodesTotal: -1"},
		{"negative cores", envelope(`"constraints":{"cores":{"max":-1}}`), "constraints.cores.max: -1 is below zero: write 0 or more"},
		{"threshold", envelope(`"constraints":{"scaleDown":{"utilizationThreshold":7}}`), "constraints.scaleDown.utilizationThreshold: 7"},
		{"negative count", envelope(`"constraints":{"scaleDown":{"utilizationThreshold":1,"maxNodes":-1}}`), "constraints.scaleDown.maxNodes: -1"},
		{"negative request", pod(`{"containers":[{"name":"c","resources":{"requests":{"cpu":"-1"}}}]}`), "objects: container c of Pod default/p asks for -1 of cpu: requests are 0 or more"},
		{"group twice", envelope(`"nodeGroups":[{"name":"a","maxSize":1},{"name":"a","maxSize":1}]`), "nodeGroups[1].name: a is given twice"},
		{"snapshot pod", envelope(`"snapshot":{"at":"2026-03-01T10:00:00Z","unscheduledPods":[{"namespace":"a","name":"b"}]}`), "snapshot.unscheduledPods[0].pod: it is missing: the snapshot is a summary"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := DecodeRequest([]byte(c.body), DecodeOptions{})
			var located *RequestError
			if !errors.As(err, &located) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// TestIgnoreUnknown: keys of a newer Kubernetes are left out on request, the request's own are not.
func TestIgnoreUnknown(t *testing.T) {
	o := DecodeOptions{IgnoreUnknown: true}
	for body, want := range map[string]string{
		envelope(`"objects":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"fromTheFuture":1}}]`):                          "",
		envelope(`"nodeGroups":[{"name":"a","template":{"spec":{"fromTheFuture":[]}}}]`):                                                     "",
		envelope(`"nodeGroups":[{"name":"a","fromTheFuture":1}]`):                                                                            "nodeGroups[0].fromTheFuture: the key is not known",
		envelope(`"objects":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"nodeName":"a","nodeName":"b"}}]`):              "objects[0].spec.nodeName: the key is given twice",
		envelope(`"objects":[{"apiVersion":"scalehist.io/v1alpha1","kind":"NodeGroup","metadata":{"name":"g"},"spec":{"fromTheFuture":1}}]`): "objects[0].spec.fromTheFuture: the key is not known",
	} {
		_, err := DecodeRequest([]byte(body), o)
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %v, want %q", body, err, want)
		}
	}
}

// FuzzDecodeRequest: whatever comes in, a request or an error that is located comes out; and what is read can be written
// and read again to the same.
func FuzzDecodeRequest(f *testing.F) {
	whole, err := json.Marshal(FromRequest(testRequest()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	for _, inner := range []string{`"objects":[null]`, `"objects":[{"apiVersion":"v1","kind":"List","items":[{}]}]`, `"nodeGroups":[{"name":"a","templatePods":[null]}]`,
		`"snapshot":{"at":"2026-03-01T10:00:00Z","nodes":[{"name":"a","node":{"metadata":{"name":"a"}}}]}`, `"constraints":{"scaleDown":{}}`, `"prices":{"currency":"x","models":{"a":{}}}`} {
		f.Add([]byte(envelope(inner)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		q, err := DecodeRequest(data, DecodeOptions{})
		if err != nil {
			var located *RequestError
			if !errors.As(err, &located) || located.Problem == "" {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		r, _ := q.Recommender()
		first, err := json.Marshal(FromRequest(r))
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		q, err = DecodeRequest(first, DecodeOptions{})
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, first)
		}
		r, _ = q.Recommender()
		second, err := json.Marshal(FromRequest(r))
		if err != nil {
			t.Fatal(err)
		}
		if string(first) != string(second) {
			t.Fatalf("not the same again:\n%s\n%s", first, second)
		}
	})
}
