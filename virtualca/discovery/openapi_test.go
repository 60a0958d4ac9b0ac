package discovery

import (
	"flag"
	"maps"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist/internal/goldentest"
	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/internal/restapi/openapitest"
)

var update = flag.Bool("update", false, "write openapi.json and docs/discovery.openapi.json again")

func operations() []openapitest.Operation {
	problems := func(more map[string]string) map[string]string {
		all := map[string]string{"401": "the token is missing or wrong", "403": "a client certificate is needed"}
		maps.Copy(all, more)
		return all
	}
	unknown := map[string]string{"404": "no such cluster"}
	return []openapitest.Operation{
		{Method: "GET", Path: PathClusters, ID: "list", Summary: "The clusters that share capacity, by name; with watch=true an Event a line, first the list, then changes", Response: "ClusterList",
			Query: [][2]string{{"watch*", "true: events, one a line, until the asker goes"}}, Problems: problems(nil)},
		{Method: "GET", Path: PathClusters + "/{name}", ID: "get", Summary: "One cluster", Response: "Cluster", Problems: problems(unknown)},
		{Method: "PUT", Path: PathClusters + "/{name}", ID: "put", Summary: "Register a cluster (201) or update it (200); a sign of life", Request: "Registration", Response: "Cluster",
			Problems: problems(map[string]string{"400": "the request cannot be read", "413": "the request is too large", "422": "no cluster is like that"})},
		{Method: "DELETE", Path: PathClusters + "/{name}", ID: "remove", Summary: "Take a cluster out of the list", Status: "204", Problems: problems(unknown)},
		{Method: "POST", Path: PathClusters + "/{name}/heartbeat", ID: "heartbeat", Summary: "A sign of life", Response: "Cluster", Problems: problems(unknown)},
		{Method: "GET", Path: PathClusters + "/{name}/kubeconfig", ID: "kubeconfig", Summary: "How a cluster is reached, for readers", Response: "Kubeconfig", Problems: problems(unknown)},
		{Method: "GET", Path: PathList, ID: "original", Summary: "The list as the original system has it; kubeconfigs are in it for readers alone", Response: "Registration", Array: true, Problems: problems(nil)},
		{Method: "GET", Path: PathOpenAPI, ID: "openapi", Summary: "This document", Response: "object"},
		{Method: "GET", Path: "/healthz", ID: "healthz", Summary: "Whether the process is alive", Response: "text"},
		{Method: "GET", Path: "/readyz", ID: "readyz", Summary: "Whether it takes requests", Response: "text"},
	}
}

// TestOpenAPI holds the published document, and the one that is served, against types and routes.
func TestOpenAPI(t *testing.T) {
	schemas := openapitest.Schemas(t, openapitest.Options{Root: filepath.Join("..", ".."), Open: true, Dirs: []string{"virtualca/discovery", "internal/restapi", "prices"},
		Map: func(t reflect.Type) *jsonschema.Schema {
			if t == reflect.TypeFor[resource.Quantity]() {
				return &jsonschema.Schema{Type: "string", Description: "a Kubernetes quantity, such as 500m or 4Gi"}
			}
			return nil
		}}, &ClusterList{}, &Registration{}, &Kubeconfig{}, &Event{}, &restapi.Problem{})
	want := openapitest.Document(t, "scalehist discovery", "A registry of clusters that share capacity.", schemas, operations())
	for _, path := range []string{filepath.Join("..", "..", "docs", "discovery.openapi.json"), "openapi.json"} {
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
