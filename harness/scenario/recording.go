package scenario

import (
	"slices"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
)

// Recording says how a replay must compare with its recording: "agrees" or "differs", or either with questions. The questions
// of agrees are asked besides those that always decide; in each of those of differs the replay must differ.
type Recording struct {
	Word      string // agrees, differs, or empty
	Questions []scalehist.Question
}

func (r *Recording) read(d *decoder, n *yaml.Node, path string) {
	if n.Kind != yaml.MappingNode {
		if text, ok := d.scalar(n, path, "agrees, differs, or {agrees: [steps, waits]}"); ok {
			r.Word = text
			oneOfWords(d, n, path, text, []string{agrees, differs})
		}
		return
	}
	d.each(n, path, func(key, value *yaml.Node, path string) {
		if r.Word != "" {
			d.addf(key, "%s: a replay cannot both agree and differ: give one of them", path)
			return
		}
		r.Word = key.Value
		if oneOfWords(d, key, path, key.Value, []string{agrees, differs}) == "" {
			return
		}
		d.list(value, path, func(item *yaml.Node, path string) {
			text, ok := d.scalar(item, path, "a question, such as steps")
			if !ok {
				return
			}
			if q := oneOfWords(d, item, path, text, questionNames()); q != "" {
				r.Questions = append(r.Questions, scalehist.Question(q))
			}
		})
		if value.Kind == yaml.SequenceNode && len(value.Content) == 0 {
			d.addf(value, "%s: no question is given: write 'recording: %s'", path, r.Word)
		}
	})
	if r.Word == "" && len(n.Content) == 0 {
		d.addf(n, "%s: want agrees, differs, or {agrees: [steps, waits]}", path)
	}
}

// oneOfWords is the word if it is among those known; else it is a problem, and empty.
func oneOfWords(d *decoder, n *yaml.Node, path, word string, known []string) string {
	if slices.Contains(known, word) {
		return word
	}
	d.addf(n, "%s: %q: want %s%s", path, word, plural.Or(known), suggest(word, known))
	return ""
}

func questionNames() []string {
	var out []string
	for _, q := range scalehist.Questions {
		out = append(out, string(q))
	}
	return out
}

// recordingSchema is the JSON Schema of a Recording.
func recordingSchema() *jsonschema.Schema {
	list := &jsonschema.Schema{Type: "array", MinItems: new(uint64(1)), Items: &jsonschema.Schema{Type: "string"}}
	for _, q := range questionNames() {
		list.Items.Enum = append(list.Items.Enum, q)
	}
	properties := jsonschema.NewProperties()
	properties.Set(agrees, list)
	properties.Set(differs, list)
	return anyOf(&jsonschema.Schema{Type: "string", Enum: []any{agrees, differs}},
		&jsonschema.Schema{Type: "object", AdditionalProperties: jsonschema.FalseSchema, Properties: properties, MinProperties: new(uint64(1)), MaxProperties: new(uint64(1))})
}
