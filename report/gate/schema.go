package gate

import (
	_ "embed"
	"encoding/json"

	"github.com/scalehist/scalehist/report/metrics"
)

// SchemaID names the published JSON Schema of a policy, docs/gate.schema.json.
const SchemaID = "https://github.com/scalehist/scalehist/blob/main/docs/gate.schema.json"

//go:embed example.yaml
var example string

// Example is a policy with comments, for 'scalehist gate init'.
func Example() string { return example }

// limitPattern is the form of a limit; ParseLimit also knows which units go with a metric.
const limitPattern = `^(off|(\+-|±|\+|-|<=|>=)\s*[0-9][^ ]*( or (\+-|±|\+|-|<=|>=)\s*[0-9][^ ]*)*)$`

// Schema is the JSON Schema (2020-12) of a policy, made from the metrics there are.
func Schema() ([]byte, error) {
	limits := func(only func(metrics.Metric) bool, description string) map[string]any {
		properties := map[string]any{}
		for _, m := range limited() {
			if only(m) {
				properties[m.Name] = map[string]any{
					"description": m.Definition + " In " + unitWord(m) + ", " + string(m.Better) + " is better. Such as " + examples(m) + ", or off.",
					// YAML reads +0 as a number.
					"anyOf": []any{map[string]any{"type": "string", "pattern": limitPattern}, map[string]any{"type": "number"}},
				}
			}
		}
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": false, "properties": properties, "description": description}
	}
	all := func(metrics.Metric) bool { return true }
	globs := func(description string) map[string]any {
		return map[string]any{"description": description, "anyOf": []any{
			map[string]any{"type": "string", "minLength": 1},
			map[string]any{"type": "array", "items": map[string]any{"type": "string", "minLength": 1}},
		}}
	}
	schema := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SchemaID, "title": "scalehist gate policy",
		"type": "object", "additionalProperties": false,
		"properties": map[string]any{
			"limits": limits(all, "Limits that hold in every scenario."),
			"total":  limits(func(m metrics.Metric) bool { return m.Total != metrics.NoTotal }, "Limits on all scenarios together: the sum, or the largest of a maximum."),
			"scenarios": map[string]any{
				"type": "array", "description": "Other limits for some scenarios; the last match of a metric wins.",
				"items": map[string]any{
					"type": "object", "additionalProperties": false, "required": []string{"match"},
					"properties": map[string]any{"match": globs("Patterns of scenario names, such as zonal-*."), "limits": limits(all, "The limits of these scenarios.")},
				},
			},
			"deterministic": map[string]any{"type": "boolean", "description": "The candidate must give the same report every time: 'scalehist gate' then wants --repeat."},
			"allow": map[string]any{
				"type": []string{"object", "null"}, "additionalProperties": false, "description": "Scenarios that may be without a counterpart.",
				"properties": map[string]any{
					"new":        globs("Scenarios that only the candidate has."),
					"gone":       globs("Scenarios that only the baseline has."),
					"rerecorded": globs("Scenarios whose recording or window is another on each side: they are not judged."),
				},
			},
		},
	}
	b, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}
