package scenario

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/report/metrics"
)

// SchemaID names the published JSON Schema of scenario files, docs/scenario.schema.json.
const SchemaID = "https://github.com/scalehist/scalehist/blob/main/docs/scenario.schema.json"

// schemaURL is where editors load it from.
const schemaURL = "https://raw.githubusercontent.com/scalehist/scalehist/main/docs/scenario.schema.json"

const (
	spanPattern   = `^([0-9.]+(h|m|s|ms|us|µs|ns))+$|^0$`
	momentPattern = `^[+-]?([0-9.]+(h|m|s|ms|us|µs|ns))+$|^[0-9]{4}-[0-9]{2}-[0-9]{2}T`
	offsetPattern = `^\+?([0-9.]+(h|m|s|ms|us|µs|ns))+(\.\.\+?([0-9.]+(h|m|s|ms|us|µs|ns))+)?$`
	countPattern  = `^(any|(>=|<=|>|<)\s*[0-9]+|[0-9]+\s*\.\.\s*[0-9]+|[0-9]+)$`
	amountPattern = `^(any|(>=|<=)\s*[0-9][^ ]*|[0-9][^ ]*\s*\.\.\s*[0-9][^ ]*|[0-9][^ ]*)$`
	limitPattern  = `^(<=|>=)\s*[0-9][^ ]*( or (<=|>=)\s*[0-9][^ ]*)*$`
)

func text(pattern, description string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: pattern, Description: description}
}

func anyOf(schemas ...*jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: schemas}
}

func count() *jsonschema.Schema {
	return anyOf(&jsonschema.Schema{Type: "integer", Minimum: "0"}, text(countPattern, "A count, or a range: >= 2, <= 4, 2..4, any."))
}

func names() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string", MinLength: new(uint64(1))}}
}

// Schema is the JSON Schema (2020-12) of a scenario file, made from the Go types: one scenario, or a list of them. It holds for each
// document of a file with several.
func Schema() ([]byte, error) {
	var reflector *jsonschema.Reflector
	object := func(of any) *jsonschema.Schema {
		s := reflector.ReflectFromType(reflect.TypeOf(of))
		s.Version, s.ID = "", ""
		return s
	}
	reflector = &jsonschema.Reflector{
		Anonymous: true, DoNotReference: true, FieldNameTag: "yaml", RequiredFromJSONSchemaTags: true,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			switch t {
			case reflect.TypeFor[time.Duration]():
				return text(spanPattern, "")
			case reflect.TypeFor[harness.Moment]():
				return text(momentPattern, "")
			case reflect.TypeFor[Offset]():
				return text(offsetPattern, "")
			case reflect.TypeFor[Count]():
				return count()
			case reflect.TypeFor[Amount]():
				return anyOf(&jsonschema.Schema{Type: "number", Minimum: "0"}, text(amountPattern, ""))
			case reflect.TypeFor[Percent]():
				return text(limitPattern, "")
			case reflect.TypeFor[Metric]():
				return text(limitPattern, "")
			case reflect.TypeFor[map[string]Metric]():
				return limits()
			case reflect.TypeFor[Recording]():
				return recordingSchema()
			case reflect.TypeFor[Unschedulable]():
				return anyOf(&jsonschema.Schema{Const: "none"}, count(), names())
			case reflect.TypeFor[KeepNodes]():
				return anyOf(names(), &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "string"}})
			case reflect.TypeFor[trace.Fault]():
				fields := object(faultFields{})
				if kind, ok := fields.Properties.Get("kind"); ok {
					for _, k := range trace.FaultKinds {
						kind.Enum = append(kind.Enum, string(k))
					}
				}
				return anyOf(&jsonschema.Schema{Type: "string", MinLength: new(uint64(1))}, fields)
			case reflect.TypeFor[harness.Prices]():
				type fields harness.Prices // the mapper does not know it
				return anyOf(&jsonschema.Schema{Type: "string", MinLength: new(uint64(1))}, object(fields{}))
			}
			return nil
		},
	}
	one := object(Scenario{})
	all := &jsonschema.Schema{
		Version: jsonschema.Version, ID: SchemaID, Title: "scalehist scenario file",
		AnyOf:       []*jsonschema.Schema{{Ref: "#/$defs/Scenario"}, {Type: "array", MinItems: new(uint64(1)), Items: &jsonschema.Schema{Ref: "#/$defs/Scenario"}}},
		Definitions: jsonschema.Definitions{"Scenario": one},
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// limits has a property for each metric.
func limits() *jsonschema.Schema {
	properties := jsonschema.NewProperties()
	for _, m := range append(metrics.All(), metrics.Workloads()...) {
		properties.Set(m.Name, text(limitPattern, m.Definition))
	}
	return &jsonschema.Schema{Type: "object", AdditionalProperties: jsonschema.FalseSchema, Properties: properties}
}
