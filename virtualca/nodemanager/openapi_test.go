package nodemanager

import (
	"flag"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/goldentest"
	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/internal/restapi/openapitest"
)

var update = flag.Bool("update", false, "write openapi.json and docs/nodemanager.openapi.json again")

func operations() (out []openapitest.Operation) {
	id := [2]string{"id", "the node group"}
	count := [2]string{"count", "a positive number of nodes"}
	for _, o := range []openapitest.Operation{
		{Method: "GET", Path: "/nodegroup", ID: "groups", Summary: "The node groups", Response: "NodeGroup", Array: true},
		{Method: "GET POST", Path: "/nodegroup/ownership", ID: "ownership", Summary: "The group of a node; its id is empty where it is of none", Request: "Node", Response: "NodeGroup",
			Query: [][2]string{{"id", "the name of the node"}, {"providerId*", "its spec.providerID"}}},
		{Method: "GET", Path: "/nodegroup/current-size", ID: "size", Summary: "The size of a group", Query: [][2]string{id}, Response: "Size"},
		{Method: "GET", Path: "/nodegroup/nodes", ID: "nodes", Summary: "The machines of a group, those that are being created too", Query: [][2]string{id}, Response: "Instance", Array: true},
		{Method: "GET", Path: "/nodegroup/template", ID: "template", Summary: "What a new node of a group looks like", Query: [][2]string{id}, Response: "Template"},
		{Method: "POST", Path: "/nodegroup/options", ID: "options", Summary: "The autoscaling options of a group, given the autoscaler's own", Query: [][2]string{id}, Request: "Options", Response: "GroupOptions"},
		{Method: "GET POST", Path: "/nodegroup/nodeprice", ID: "nodeprice", Summary: "The price of a node over a period", Request: "NodePrice", Response: "Price",
			Query: [][2]string{{"id", "the name of the node"}, {"providerId*", "its spec.providerID"}, {"from", "an instant"}, {"to", "an instant"}}},
		{Method: "POST", Path: "/nodegroup/podprice", ID: "podprice", Summary: "What the requests of a pod are worth over a period", Request: "PodPrice", Response: "Price"},
		{Method: "GET", Path: "/gpu/label", ID: "gpulabel", Summary: "The label of nodes with GPUs", Response: "GPULabel"},
		{Method: "GET", Path: "/gpu/types", ID: "gputypes", Summary: "The values of that label", Response: "strings"},
		{Method: "POST GET", Path: "/nodegroup/scaleup", ID: "scaleup", Summary: "Ask for nodes more; the target size shows it with the answer", Query: [][2]string{id, count}, Response: "Done"},
		{Method: "POST GET", Path: "/nodegroup/scaledown", ID: "scaledown", Summary: "Delete nodes of a group, all of them or none", Request: "Nodes", Response: "Done",
			Query: [][2]string{{"nodegroupid", "the node group"}, {"id*", "the spec.providerID of a node, in place of a body"}}},
		{Method: "POST GET", Path: "/nodegroup/decrease", ID: "decrease", Summary: "Take requests for nodes back that are not there yet", Query: [][2]string{id, count}, Response: "Done"},
		{Method: "POST", Path: "/nodegroup/create", ID: "create", Summary: "Add a node group like another one", Request: "NewGroup", Response: "Done"},
		{Method: "POST GET", Path: "/nodegroup/destroy", ID: "destroy", Summary: "Take a node group away that has no nodes", Query: [][2]string{id}, Response: "Done"},
		{Method: "POST GET", Path: "/refresh", ID: "refresh", Summary: "A loop of the autoscaler begins", Response: "Done"},
		{Method: "POST GET", Path: "/cleanup", ID: "cleanup", Summary: "The autoscaler ends", Response: "Done"},
	} {
		o.Problems = map[string]string{"400": "the request makes no sense", "401": "the token is missing or wrong", "403": "a client certificate is needed", "404": "no such group, node or path",
			"409": "a bound or the capacity is reached (exhausted), or not in this state (precondition)", "501": "the back-end has no answer to this", "503": "the back-end does not answer now"}
		for i, method := range strings.Fields(o.Method) {
			one := o
			one.Method = method
			if i > 0 {
				one.ID += strings.ToLower(method)
			}
			if method == "GET" {
				one.Request = ""
			} else if o.Request != "" && o.Path != "/nodegroup/options" && o.Path != "/nodegroup/scaledown" {
				one.Query = nil
			}
			out = append(out, one)
		}
	}
	return out
}

// TestOpenAPI holds the published document, and the one that is served, against types and routes.
func TestOpenAPI(t *testing.T) {
	schemas := openapitest.Schemas(t, openapitest.Options{Root: filepath.Join("..", ".."), Open: true, Dirs: []string{"virtualca/nodemanager", "internal/restapi"},
		Map: func(t reflect.Type) *jsonschema.Schema {
			if t == reflect.TypeFor[scalehist.Duration]() {
				return &jsonschema.Schema{Type: "string", Description: "a Go duration, such as 1m30s"}
			}
			return nil
		}}, &NodeGroup{}, &NewGroup{}, &Size{}, &Instance{}, &Node{}, &Nodes{}, &Template{}, &NodePrice{}, &PodPrice{}, &Price{}, &GPULabel{}, &Options{}, &GroupOptions{}, &Done{}, &restapi.Problem{})
	schemas["strings"] = map[string]any{"type": "array", "items": map[string]any{"type": "string"}}
	want := openapitest.Document(t, "scalehist node manager", "Node groups behind an external gRPC provider of a cluster-autoscaler.", schemas, operations())
	for _, path := range []string{filepath.Join("..", "..", "docs", "nodemanager.openapi.json"), "openapi.json"} {
		goldentest.Text(t, path, string(want), *update)
	}
	var described, served []string
	for _, o := range operations() {
		described = append(described, o.Method+" "+o.Path)
	}
	for _, r := range (&Server{}).routes() {
		for method := range strings.SplitSeq(r.methods, " ") {
			served = append(served, method+" "+r.path)
		}
	}
	if diff := cmp.Diff(described, served); diff != "" {
		t.Errorf("routes that are described and routes that are served (-described +served):\n%s", diff)
	}
}
