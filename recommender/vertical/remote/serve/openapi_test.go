package serve

import (
	"encoding/json"
	"flag"
	"maps"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
	"k8s.io/apimachinery/pkg/api/resource"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/scalehist/scalehist/internal/goldentest"
	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/internal/restapi/openapitest"
	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/remote"
)

var update = flag.Bool("update", false, "write openapi.json and docs/vertical.openapi.json again")

func operations() []openapitest.Operation {
	problems := func(more map[string]string) map[string]string {
		all := map[string]string{"401": "the token is missing or wrong", "403": "a client certificate is needed"}
		maps.Copy(all, more)
		return all
	}
	body := map[string]string{"400": "the request cannot be read", "413": "the request is too large", "404": "no such workload"}
	unknown := map[string]string{"404": "no such workload"}
	one := remote.PathWorkloads + "/{id}"
	return []openapitest.Operation{
		{Method: "POST", Path: remote.PathWorkloads, ID: "make", Summary: "Keep a workload from now on", Request: "Workload", Response: "Made", Status: "201",
			Problems: problems(map[string]string{"400": "the request cannot be read", "413": "the request is too large", "503": "there are too many"})},
		{Method: "PUT", Path: one, ID: "follow", Summary: "Change the policies of a workload; what was observed is kept", Request: "Workload", Status: "204", Problems: problems(body)},
		{Method: "DELETE", Path: one, ID: "remove", Summary: "Forget a workload", Status: "204", Problems: problems(unknown)},
		{Method: "POST", Path: one + "/observe", ID: "observe", Summary: "Add observations, in the order of time, at most 2000 at once", Request: "Observed", Response: "Taken", Problems: problems(body)},
		{Method: "POST", Path: one + "/recommend", ID: "recommend", Summary: "Add observations, and say what is recommended at an instant", Request: "Question", Response: "Answer", Problems: problems(body)},
		{Method: "POST", Path: one + "/reset", ID: "reset", Summary: "Forget all that was observed", Status: "204", Problems: problems(unknown)},
		{Method: "GET", Path: one + "/state", ID: "save", Summary: "What was learned by an instant", Query: [][2]string{{"now", "the instant, as 2026-01-05T00:00:00Z"}}, Response: "State", Problems: problems(unknown)},
		{Method: "PUT", Path: one + "/state", ID: "load", Summary: "Replace what was learned by what was saved", Request: "State", Status: "204",
			Problems: problems(map[string]string{"400": "the request cannot be read", "404": "no such workload", "413": "the request is too large", "422": "no recommender of this name and options saved this"})},
		{Method: "GET", Path: remote.PathOpenAPI, ID: "openapi", Summary: "This document", Response: "object"},
		{Method: "GET", Path: "/healthz", ID: "healthz", Summary: "Whether the process is alive", Response: "text"},
		{Method: "GET", Path: "/readyz", ID: "readyz", Summary: "Whether it takes requests", Response: "text"},
	}
}

// TestOpenAPI holds the published document, and the one that is served, against types and routes.
func TestOpenAPI(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	schemas := openapitest.Schemas(t, openapitest.Options{Root: root, Open: true, Dirs: []string{"recommender/vertical/remote", "internal/restapi"},
		Map: func(t reflect.Type) *jsonschema.Schema {
			if t == reflect.TypeFor[vpav1.VerticalPodAutoscaler]() {
				return &jsonschema.Schema{Type: "object", Description: "an autoscaling.k8s.io/v1 VerticalPodAutoscaler"}
			}
			return nil
		}}, &remote.Workload{}, &remote.Made{}, &remote.Observed{}, &remote.Taken{}, &remote.Question{}, &remote.Answer{}, &remote.State{}, &restapi.Problem{})
	want := openapitest.Document(t, "scalehist vertical recommender", "Recommends what containers should request, from what they used.", schemas, operations())
	for _, path := range []string{filepath.Join(root, "docs", "vertical.openapi.json"), filepath.Join("..", "openapi.json")} {
		goldentest.Text(t, path, string(want), *update)
	}
	var described, served [][2]string
	for _, o := range operations() {
		described = append(described, [2]string{o.Method, o.Path})
	}
	for _, r := range (&Server{}).routes() {
		served = append(served, [2]string{r.method, r.path})
	}
	if diff := cmp.Diff(described, served); diff != "" {
		t.Errorf("routes that are described and routes that are served (-described +served):\n%s", diff)
	}
}

// TestExamplesFollowOpenAPI: what goes over the wire is valid by the document.
func TestExamplesFollowOpenAPI(t *testing.T) {
	five := int64(5)
	seen := []remote.Observation{{At: start, Pod: "web-0", Container: "app", Amount: remote.Amount{CPUMilli: &five}}, {At: start, Pod: "web-0", Ended: true}}
	for name, v := range map[string]any{
		"Workload": remote.Workload{Namespace: "shop", Name: "web", Containers: []string{"app"}, VPA: policies("2")}, "Made": remote.Made{ID: "1"}, "State": remote.State{State: []byte("x")},
		"Question": remote.Question{Observed: seen, Now: start}, "Observed": remote.Observed{Observed: seen},
		"Answer": remote.Answer{Recommendations: vertical.Wire([]vertical.Recommendation{{Container: "app", Lower: vertical.None, Target: vertical.Amount{CPUMilli: 5, MemoryBytes: 6}, Upper: vertical.None}}), Refused: &remote.Refused{Number: 1, First: "x"}},
	} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		openapitest.Check(t, remote.OpenAPI, name, b)
	}
}

func amount(text string) resource.Quantity { return resource.MustParse(text) }
