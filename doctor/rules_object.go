package doctor

import (
	"context"
	"fmt"
	"strings"

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
	{Code: "SH210", Title: "object that is invalid", Severity: Error, run: invalidObjects,
		Doc: "The API server's validation refuses the object, or a change of it: a field has a value that it may not have, or one that may not change " +
			"has another value. The log was made or changed by hand, or is damaged. A replay writes the object to a virtual cluster, which refuses it, and ends. " +
			"What is asked is the API server's own code, with all objects that a replay would write, in order; at most a hundred objects are named. " +
			"A node group is named (warning) where the nodes that a scale-up brings would be refused: a replay ends when the group grows.",
		Advice: "correct the object log and import it again, or choose a window (--from, --to) without the object"},
}

// mostWhy is how many fields of an object are named, and mostText how much is said of each, in bytes: messages quote values.
const (
	mostWhy  = 3
	mostText = 300
)

// invalidObjects reports what an API server said of the window, but of objects whose names or labels are refused already.
func invalidObjects(_ context.Context, in *Input) ([]Finding, error) {
	var out []Finding
	for _, r := range in.Refused {
		f := Finding{At: r.At, Object: ref{kind: "NodeGroup", name: r.Group}.String(), Severity: Warning, Message: "its nodes are refused"}
		if r.Object != nil {
			of := refOf(r.Object)
			if refusal(r.Object, of) != "" {
				continue // SH209
			}
			f = Finding{At: r.At, Object: of.String(), Message: "it is refused"}
		}
		for i, why := range r.Why {
			if i == mostWhy {
				f.Message += fmt.Sprintf("; and %d more", len(r.Why)-i)
				break
			}
			if len(why) > mostText {
				why = strings.ToValidUTF8(why[:mostText], "") + "..."
			}
			f.Message += []string{": ", "; "}[min(i, 1)] + why
		}
		out = append(out, f)
	}
	return out, nil
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
