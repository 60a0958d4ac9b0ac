// Package openapitest makes OpenAPI documents out of Go types, for tests that hold a published document against them.
package openapitest

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
)

const module = "github.com/scalehist/scalehist"

// Options of Schemas.
type Options struct {
	// Root is the directory of the module; Dirs are the packages whose comments describe types.
	Root string
	Dirs []string
	// Open: keys that are not known are allowed.
	Open bool
	// Name names types that would be called alike, "" leaves one as it is. Map describes types that are not what Go says.
	Name func(reflect.Type) string
	Map  func(reflect.Type) *jsonschema.Schema
}

// Schemas are the definitions of types and of all they refer to, without their package's name.
func Schemas(t *testing.T, o Options, types ...any) map[string]any {
	t.Helper()
	r := jsonschema.Reflector{AllowAdditionalProperties: o.Open, Anonymous: true,
		Namer: func(t reflect.Type) string {
			if o.Name != nil && o.Name(t) != "" {
				return o.Name(t)
			}
			return t.Name()
		},
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			switch {
			case t.PkgPath() == module && t.Name() == "Duration":
				return &jsonschema.Schema{Type: "string", Description: "a Go duration, such as 1m30s", Pattern: `^-?([0-9.]+(h|m|s|ms|us|µs|ns))+$`}
			case t == reflect.TypeFor[time.Time]():
				return &jsonschema.Schema{Type: "string", Format: "date-time"}
			}
			if o.Map != nil {
				if s := o.Map(t); s != nil {
					return s
				}
			}
			// Whole Kubernetes objects follow Kubernetes' own schema.
			if t.PkgPath() == "k8s.io/api/core/v1" {
				return &jsonschema.Schema{Type: "object", Description: "a Kubernetes v1 " + t.Name()}
			}
			return nil
		},
	}
	for _, dir := range o.Dirs {
		comments(t, &r, o.Root, dir)
	}
	out := map[string]any{}
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
func comments(t *testing.T, r *jsonschema.Reflector, root, dir string) {
	t.Helper()
	path := strings.TrimSuffix(module+"/"+dir, "/.")
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
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

// Check: a value is valid by a schema of a document.
func Check(t *testing.T, document []byte, name string, value []byte) {
	t.Helper()
	doc, err := validator.UnmarshalJSON(bytes.NewReader(document))
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
	v, err := validator.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// Operation is a path of an API. Request and Response name schemas; "" is none, a Response of "text" plain text.
type Operation struct {
	Method, Path, ID, Summary string
	// Query are parameters and what they are; those that end in "*" may be left out.
	Query             [][2]string
	Request, Response string
	// Array: the answer is a list of Response.
	Array bool
	// Status of success; "" is 200. Problems are the statuses of problems, and what they mean.
	Status   string
	Problems map[string]string
}

// Document is an OpenAPI 3.1 document.
func Document(t *testing.T, title, description string, schemas map[string]any, operations []Operation) []byte {
	t.Helper()
	type object = map[string]any
	ref := func(name string, array bool) object {
		if array {
			return object{"type": "array", "items": object{"$ref": "#/components/schemas/" + name}}
		}
		return object{"$ref": "#/components/schemas/" + name}
	}
	paths := object{}
	for _, o := range operations {
		responses := object{}
		for code, what := range o.Problems {
			responses[code] = object{"description": what, "content": object{"application/problem+json": object{"schema": ref("Problem", false)}}}
		}
		ok := object{"description": "done"}
		switch o.Response {
		case "":
		case "text":
			ok["content"] = object{"text/plain": object{"schema": object{"type": "string"}}}
		case "object":
			ok["content"] = object{"application/json": object{"schema": object{"type": "object"}}}
		default:
			ok["content"] = object{"application/json": object{"schema": ref(o.Response, o.Array)}}
		}
		status := o.Status
		if status == "" {
			status = "200"
		}
		responses[status] = ok
		op := object{"operationId": o.ID, "summary": o.Summary, "responses": responses}
		var parameters []object
		for part := range strings.SplitSeq(o.Path, "/") {
			if name, is := strings.CutPrefix(part, "{"); is {
				parameters = append(parameters, object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": object{"type": "string"}})
			}
		}
		for _, q := range o.Query {
			name, optional := strings.CutSuffix(q[0], "*")
			parameters = append(parameters, object{"name": name, "in": "query", "required": !optional, "description": q[1], "schema": object{"type": "string"}})
		}
		if parameters != nil {
			op["parameters"] = parameters
		}
		if o.Request != "" {
			op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": ref(o.Request, false)}}}
		}
		if paths[o.Path] == nil {
			paths[o.Path] = object{}
		}
		paths[o.Path].(object)[strings.ToLower(o.Method)] = op //nolint:forcetypeassert // it was made here
	}
	b, err := json.MarshalIndent(object{
		"openapi": "3.1.0", "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"info":       object{"title": title, "version": "v1", "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"}, "description": description},
		"paths":      paths,
		"components": object{"schemas": schemas, "securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}}},
		"security":   []object{{}, {"token": []string{}}},
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}
