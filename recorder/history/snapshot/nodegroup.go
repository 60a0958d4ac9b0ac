package snapshot

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// NodeGroup turns the recorded object into the domain's. The template becomes a Node without a name.
func NodeGroup(g *v1alpha1.NodeGroup) scalehist.NodeGroup {
	out := scalehist.NodeGroup{Name: g.Name, MinSize: int(g.Spec.MinSize), MaxSize: int(g.Spec.MaxSize),
		TargetSize: int(g.Spec.TargetSize), GuessedMax: g.GuessedMax(), Zone: g.Spec.Zone, MachineType: g.Spec.MachineType, Options: optionsOf(g.Spec.Options)}
	if t := g.Spec.Template.DeepCopy(); t != nil {
		out.Template = &corev1.Node{ObjectMeta: t.ObjectMeta, Spec: t.Spec, Status: t.Status}
	}
	return out
}

// NodeGroupObject is the inverse of NodeGroup: the object that a history stores.
func NodeGroupObject(g scalehist.NodeGroup) *v1alpha1.NodeGroup {
	out := &v1alpha1.NodeGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeGroup"},
		ObjectMeta: metav1.ObjectMeta{Name: g.Name},
		Spec: v1alpha1.NodeGroupSpec{MinSize: int32(g.MinSize), MaxSize: int32(g.MaxSize), TargetSize: int32(g.TargetSize),
			Zone: g.Zone, MachineType: g.MachineType, Options: optionsObject(g.Options)},
	}
	if g.GuessedMax {
		out.Annotations = map[string]string{v1alpha1.BoundsFromAnnotation: v1alpha1.BoundsFromNodes}
	}
	if t := g.Template.DeepCopy(); t != nil {
		out.Spec.Template = &v1alpha1.NodeTemplate{ObjectMeta: t.ObjectMeta, Spec: t.Spec, Status: t.Status}
	}
	return out
}
