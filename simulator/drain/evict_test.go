package drain

import (
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestEvict: a pod that is gone leaves, and one refusal does not keep the others.
func TestEvict(t *testing.T) {
	answers := map[string]error{"b": errors.New("first"), "c": apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "c"), "d": errors.New("budget")}
	leaving, refused, last := Evict([]string{"a", "b", "c", "d", "e"}, func(name string) error { return answers[name] })
	if !slices.Equal(leaving, []string{"a", "c", "e"}) || !slices.Equal(refused, []string{"b", "d"}) || !errors.Is(last, answers["d"]) {
		t.Errorf("leaving %q, refused %q, last: %v", leaving, refused, last)
	}
}
