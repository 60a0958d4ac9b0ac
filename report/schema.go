package report

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/scalehist/scalehist"
)

// SchemaID names the published JSON Schema of the report, docs/report.schema.json.
const SchemaID = "https://github.com/scalehist/scalehist/blob/main/docs/report.schema.json"

// addedLater is a key that the first reports of version 1 lack: what is added to a version is never required.
const addedLater = "steps"

// Schema is the JSON Schema (2020-12) of a ReplayReport, made from the Go types.
func Schema() ([]byte, error) {
	reflector := jsonschema.Reflector{
		ExpandedStruct: true,
		// Unknown keys are allowed: a report of a later minor version still validates.
		AllowAdditionalProperties: true,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			switch t {
			case reflect.TypeFor[scalehist.Duration]():
				return &jsonschema.Schema{Type: "string", Description: "a Go duration, such as 1m30s", Pattern: `^-?([0-9.]+(h|m|s|ms|us|µs|ns))+$`}
			case reflect.TypeFor[time.Time]():
				return &jsonschema.Schema{Type: "string", Format: "date-time"}
			}
			// Whole Kubernetes objects follow Kubernetes' own schema.
			if strings.HasPrefix(t.PkgPath(), "k8s.io/api/") || strings.HasPrefix(t.PkgPath(), "k8s.io/apimachinery/") {
				return &jsonschema.Schema{Type: "object"}
			}
			return nil
		},
	}
	s := reflector.Reflect(&scalehist.ReplayReport{})
	s.Required = slices.DeleteFunc(s.Required, func(key string) bool { return key == addedLater })
	s.ID = SchemaID
	s.Title = "scalehist replay report"
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}
