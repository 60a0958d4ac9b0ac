package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/simulator/drain"
)

var update = flag.Bool("update", false, "write openapi.json and docs/recommender.openapi.json again")

// TestOpenAPI holds the published document, and the one that is served, against the types.
func TestOpenAPI(t *testing.T) {
	want := openAPI(t)
	published := filepath.Join("..", "..", "docs", "recommender.openapi.json")
	if *update {
		for _, path := range []string{published, "openapi.json"} {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	for _, path := range []string{published, "openapi.json"} {
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is not what the types say; run go test ./recommender/api -run OpenAPI -update (-want +got):\n%s", path, diff)
		}
	}
}

// TestExamplesFollowOpenAPI: what the client sends and the server answers is valid by the document.
func TestExamplesFollowOpenAPI(t *testing.T) {
	s := newTestServer(t, Options{})
	request := FromRequest(testRequest())
	checkSchema(t, "Request", request)
	c := newTestClient(t, s.URL)
	answer, err := c.Ask(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	checkSchema(t, "Response", answer)
	list, err := c.Strategies(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkSchema(t, "StrategyList", list)
	_, body := post(t, s.URL+PathRecommend, []byte(`{"apiVersion":"recommender.scalehist.io/v1","nowhere":1}`))
	checkSchemaJSON(t, "Problem", body)
}

func checkSchema(t *testing.T, name string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	checkSchemaJSON(t, name, b)
}

func checkSchemaJSON(t *testing.T, name string, b []byte) {
	t.Helper()
	doc, err := validator.UnmarshalJSON(bytes.NewReader(OpenAPI))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	c.DefaultDraft(validator.Draft2020)
	if err := c.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("openapi.json#/components/schemas/" + name)
	if err != nil {
		t.Fatal(err)
	}
	v, err := validator.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

type object = map[string]any

// openAPI makes the document out of the Go types and their comments.
func openAPI(t *testing.T) []byte {
	t.Helper()
	schemas := object{}
	// Unknown keys are refused in what is asked, and allowed in what is answered: a later minor version answers more.
	maps.Copy(schemas, schemasOf(t, false, &Request{}))
	maps.Copy(schemas, schemasOf(t, true, &Response{}, &StrategyList{}, &Problem{}))
	ref := func(name string) object { return object{"$ref": "#/components/schemas/" + name} }
	jsonOf := func(description string, schema object) object {
		return object{"description": description, "content": object{"application/json": object{"schema": schema}}}
	}
	problem := func(description string) object {
		return object{"description": description, "content": object{"application/problem+json": object{"schema": ref("Problem")}}}
	}
	retry := func(description string) object {
		p := problem(description)
		p["headers"] = object{"Retry-After": object{"description": "seconds until it may be asked again", "schema": object{"type": "integer"}}}
		return p
	}
	text := func(description string) object {
		return object{"description": description, "content": object{"text/plain": object{"schema": object{"type": "string"}}}}
	}
	problems := func(ok object) object {
		return object{"200": ok, "400": problem("the request cannot be read; path says where"), "401": problem("the token is missing or wrong"),
			"408": problem("the body did not come in time"),
			"413": problem(fmt.Sprintf("the request is too large: in bytes, in values (one for each %d bytes of the largest body), in what decoding it takes (%d bytes for each of them), or nested deeper than %d levels", bytesPerElement, memoryPerByte, maxDepth)), "415": problem("the request is neither JSON nor gzip of it"),
			"421": problem("the server is not reached by this name"),
			"422": problem("the recommender refuses the request: it contradicts itself, or a price is missing"), "429": retry("as many recommendations are being made, or as many bytes received, as may be"),
			"500": problem("the recommender broke down"), "503": retry("the server is shutting down"), "504": problem("the recommendation took too long")}
	}
	doc := object{
		"openapi":           "3.1.0",
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"info": object{"title": "scalehist recommender", "version": "v1", "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "Says which node groups should grow, and which nodes could go, for one snapshot of a cluster. Any service that answers POST /v1/recommend, in any language, can be replayed: scalehist replay --autoscaler URL."},
		"paths": object{
			PathRecommend: object{"post": object{"operationId": "recommend", "summary": "Recommend for a snapshot",
				"parameters": []object{
					{"name": "fieldValidation", "in": "query", "schema": object{"type": "string", "enum": []string{"Strict", "Ignore"}, "default": "Strict"},
						"description": "Ignore leaves out keys of Kubernetes objects that the server does not know, instead of refusing them"},
					{"name": requestIDHeader, "in": "header", "schema": object{"type": "string"}, "description": "comes back in answers, problems and logs"}},
				"requestBody": object{"required": true, "content": object{"application/json": object{"schema": ref("Request")}}},
				"responses":   problems(jsonOf("the recommendation", ref("Response")))}},
			PathStrategies: object{"get": object{"operationId": "strategies", "summary": "What can be asked for; optional for other servers",
				"responses": object{"200": jsonOf("names", ref("StrategyList")), "401": problem("the token is missing or wrong")}}},
			PathOpenAPI: object{"get": object{"operationId": "openapi", "summary": "This document", "responses": object{"200": jsonOf("OpenAPI 3.1", object{"type": "object"})}}},
			"/healthz":  object{"get": object{"operationId": "healthz", "summary": "Is the process alive?", "security": []object{}, "responses": object{"200": text("it is")}}},
			"/readyz": object{"get": object{"operationId": "readyz", "summary": "Does it take requests?", "security": []object{},
				"responses": object{"200": text("it does"), "503": text("it is shutting down")}}},
			"/metrics": object{"get": object{"operationId": "metrics", "summary": "Metrics for Prometheus", "responses": object{"200": text("in the text format")}}},
		},
		"components": object{"schemas": schemas, "securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}}},
		"security":   []object{{}, {"token": []string{}}},
	}
	b, err := marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// schemasOf are the definitions of types and of all they refer to, without their package's name unless two differ.
func schemasOf(t *testing.T, open bool, types ...any) object {
	t.Helper()
	r := jsonschema.Reflector{AllowAdditionalProperties: open, Anonymous: true,
		Namer: func(t reflect.Type) string {
			switch {
			case t == reflect.TypeFor[drain.Options]():
				return "DrainRules"
			case t == reflect.TypeFor[scalehist.NodeGroup]():
				return "SnapshotNodeGroup"
			case t == reflect.TypeFor[prices.Table]():
				return "PriceTable"
			case t == reflect.TypeFor[prices.ByModel]():
				return "ModelPrices"
			}
			return t.Name()
		},
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			switch t {
			case reflect.TypeFor[scalehist.Duration]():
				return &jsonschema.Schema{Type: "string", Description: "a Go duration, such as 1m30s", Pattern: `^-?([0-9.]+(h|m|s|ms|us|µs|ns))+$`}
			case reflect.TypeFor[time.Time]():
				return &jsonschema.Schema{Type: "string", Format: "date-time"}
			case reflect.TypeFor[Object]():
				s := &jsonschema.Schema{Type: "object", Required: []string{"apiVersion", "kind", "metadata"}, Properties: jsonschema.NewProperties(),
					Description: "a Kubernetes object, a NodeGroup of scalehist.io/v1alpha1, or a List of them: " + kindNames()}
				s.Properties.Set("apiVersion", &jsonschema.Schema{Type: "string"})
				s.Properties.Set("kind", &jsonschema.Schema{Type: "string"})
				s.Properties.Set("metadata", &jsonschema.Schema{Type: "object"})
				return s
			}
			// Whole Kubernetes objects follow Kubernetes' own schema.
			if t.PkgPath() == "k8s.io/api/core/v1" {
				return &jsonschema.Schema{Type: "object", Description: "a Kubernetes v1 " + t.Name()}
			}
			return nil
		},
	}
	for _, dir := range []string{".", "recommender", "recommender/api", "prices", "simulator/drain"} {
		comments(t, &r, dir)
	}
	out := object{}
	for _, v := range types {
		b, err := json.Marshal(r.Reflect(v))
		if err != nil {
			t.Fatal(err)
		}
		b = bytes.ReplaceAll(b, []byte(`"#/$defs/`), []byte(`"#/components/schemas/`))
		var s struct {
			Defs map[string]any `json:"$defs"`
		}
		if err := json.Unmarshal(b, &s); err != nil {
			t.Fatal(err)
		}
		maps.Copy(out, s.Defs)
	}
	return out
}

// comments reads the comments of the package in a directory of the module, of no other below it.
func comments(t *testing.T, r *jsonschema.Reflector, dir string) {
	t.Helper()
	const module = "github.com/scalehist/scalehist"
	path := strings.TrimSuffix(module+"/"+dir, "/.")
	files, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir()
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(copied, filepath.Base(f)), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	single := jsonschema.Reflector{}
	if err := single.AddGoComments("", copied, jsonschema.WithFullComment()); err != nil {
		t.Fatal(err)
	}
	if r.CommentMap == nil {
		r.CommentMap = map[string]string{}
	}
	for k, v := range single.CommentMap {
		r.CommentMap[path+strings.TrimPrefix(k, filepath.ToSlash(copied))] = strings.Join(strings.Fields(v), " ")
	}
}
