package api

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/internal/restapi/openapitest"
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
	openapitest.Check(t, OpenAPI, name, b)
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
					{"name": restapi.RequestIDHeader, "in": "header", "schema": object{"type": "string"}, "description": "comes back in answers, problems and logs"}},
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
	b, err := restapi.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// schemasOf are the definitions of types and of all they refer to.
func schemasOf(t *testing.T, open bool, types ...any) object {
	t.Helper()
	return openapitest.Schemas(t, openapitest.Options{Root: filepath.Join("..", ".."), Open: open, Dirs: []string{".", "recommender", "recommender/api", "internal/restapi", "prices", "simulator/drain"},
		Name: func(t reflect.Type) string {
			switch t {
			case reflect.TypeFor[drain.Options]():
				return "DrainRules"
			case reflect.TypeFor[scalehist.NodeGroup]():
				return "SnapshotNodeGroup"
			case reflect.TypeFor[prices.Table]():
				return "PriceTable"
			case reflect.TypeFor[prices.ByModel]():
				return "ModelPrices"
			}
			return ""
		},
		Map: func(t reflect.Type) *jsonschema.Schema {
			if t != reflect.TypeFor[Object]() {
				return nil
			}
			s := &jsonschema.Schema{Type: "object", Required: []string{"apiVersion", "kind", "metadata"}, Properties: jsonschema.NewProperties(),
				Description: "a Kubernetes object, a NodeGroup of scalehist.io/v1alpha1, or a List of them: " + kindNames()}
			s.Properties.Set("apiVersion", &jsonschema.Schema{Type: "string"})
			s.Properties.Set("kind", &jsonschema.Schema{Type: "string"})
			s.Properties.Set("metadata", &jsonschema.Schema{Type: "object"})
			return s
		}}, types...)
}
