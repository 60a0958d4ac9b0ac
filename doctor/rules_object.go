package doctor

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/scalehist/scalehist"
)

var objectRules = []Rule{
	{Code: "SH209", Title: "object that no API server takes", Severity: Error, run: refusedObjects,
		Doc: "The name, the namespace or a label of an object is none that an API server would have let in: the log was made or changed by hand, or is " +
			"damaged. A replay writes the object to a virtual cluster, which refuses it, and ends.",
		Advice: "correct the object log and import it again, or choose a window (--from, --to) without the object"},
}

// refusedObjects reports each object once, the first time that it is wrong.
func refusedObjects(_ context.Context, in *Input) ([]Finding, error) {
	var out []Finding
	reported := map[ref]bool{}
	look := func(o scalehist.Object, f Finding) {
		r := refOf(o)
		if reported[r] {
			return
		}
		if f.Message = refusal(o, r); f.Message != "" {
			reported[r] = true
			f.Object = r.String()
			out = append(out, f)
		}
	}
	for _, o := range in.Initial.Objects.All() {
		look(o, Finding{At: in.From})
	}
	for _, c := range in.Changes {
		if c.Op != scalehist.OpDelete {
			look(c.Object, Finding{At: c.At})
		}
	}
	return out, nil
}

// refusal is what an API server would say of an object's metadata, "" for nothing. Node groups and the kinds of providers are none that a
// replay writes.
func refusal(o scalehist.Object, r ref) string {
	gvk := o.GetObjectKind().GroupVersionKind()
	if r.kind == "NodeGroup" || gvk.Group != "" && r.kind != gvk.Kind {
		return ""
	}
	valid := validation.NameIsDNSSubdomain
	if r.kind == "Namespace" {
		valid = validation.ValidateNamespaceName
	}
	if wrong := valid(r.name, false); len(wrong) > 0 {
		return fmt.Sprintf("its name is refused: %s", wrong[0])
	}
	if wrong := validation.ValidateNamespaceName(r.namespace, false); r.namespace != "" && len(wrong) > 0 {
		return fmt.Sprintf("its namespace is refused: %s", wrong[0])
	}
	if wrong := metav1validation.ValidateLabels(o.GetLabels(), field.NewPath("metadata", "labels")); len(wrong) > 0 {
		return fmt.Sprintf("its labels are refused: %v", wrong[0])
	}
	return ""
}
