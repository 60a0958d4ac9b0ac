package service

import (
	"encoding/json"
	"reflect"

	"github.com/invopop/jsonschema"
)

// SchemaID names the published JSON Schema of the configuration, docs/serve.schema.json.
const SchemaID = "https://github.com/scalehist/scalehist/blob/main/docs/serve.schema.json"

// Schema is the JSON Schema (2020-12) of the configuration, made from the Go types.
func Schema() ([]byte, error) {
	reflector := jsonschema.Reflector{
		ExpandedStruct:             true,
		FieldNameTag:               "yaml",
		RequiredFromJSONSchemaTags: true,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t == reflect.TypeFor[Duration]() {
				return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+[dw]|([0-9.]+(h|m|s|ms|us|µs|ns))+)$`}
			}
			return nil
		},
	}
	s := reflector.Reflect(&Config{})
	s.ID = SchemaID
	s.Title = "Configuration of scalehist serve"
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}
