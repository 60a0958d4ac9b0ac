package objectlog

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

// groupProblem says what is wrong with a node group: its bounds decide what a replay does, and a misspelt one would be
// 0 without a word. "" is nothing. Kubernetes' own objects are not judged: a newer cluster has more keys than we know.
func groupProblem(raw json.RawMessage, g *v1alpha1.NodeGroup) string {
	var keys struct {
		Spec map[string]json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal(raw, &keys); err != nil {
		return jsonProblem(err)
	}
	if p := unknownKey("spec", keys.Spec, reflect.TypeFor[v1alpha1.NodeGroupSpec]()); p != "" {
		return p
	}
	if template := keys.Spec["template"]; len(template) > 0 {
		var inner map[string]json.RawMessage
		if err := json.Unmarshal(template, &inner); err != nil {
			return jsonProblem(err)
		}
		if p := unknownKey("spec.template", inner, reflect.TypeFor[v1alpha1.NodeTemplate]()); p != "" {
			return p
		}
	}
	return ""
}

// unknownKey names the first key, in name order, that a type does not have. Case counts.
func unknownKey(path string, keys map[string]json.RawMessage, t reflect.Type) string {
	var known []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		known = append(known, name)
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(known, key) {
			return fmt.Sprintf("key %q is not known: choose from %s", path+"."+key, strings.Join(known, ", "))
		}
	}
	return ""
}
