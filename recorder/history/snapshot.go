package history

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// SnapshotAt is the cluster as it was seen at t: every object whose version holds at t, decoded, the node groups and
// the autoscaler's settings of that instant. Nothing recorded later is in it. Before the first recording it is empty.
func (db *DB) SnapshotAt(ctx context.Context, t time.Time) (*scalehist.ClusterSnapshot, error) {
	return db.snapshotOf(ctx, t, nil)
}

// snapshotOf is SnapshotAt of some kinds; nil is all.
func (db *DB) snapshotOf(ctx context.Context, t time.Time, kinds []string) (*scalehist.ClusterSnapshot, error) {
	objects := &scalehist.Objects{}
	var groups []*v1alpha1.NodeGroup
	err := db.read(ctx, "snapshot at "+t.UTC().Format(time.RFC3339Nano), func(q queryer) error {
		return objectsAt(ctx, q, newLoader(q), t, kinds, func(o scalehist.Object, _ *versionRow) error {
			addTo(objects, &groups, o)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	s := scalehist.NewSnapshot(t.UTC(), objects, nodeGroups(groups), settingsOf(objects))
	s.WorkerPools, s.MachineDeployments = providerObjects(groups, objects.Custom)
	return &s, nil
}

// nodeGroups turns the recorded objects into the domain's, in name order.
func nodeGroups(groups []*v1alpha1.NodeGroup) []scalehist.NodeGroup {
	out := make([]scalehist.NodeGroup, 0, len(groups))
	for _, g := range groups {
		out = append(out, NodeGroup(g))
	}
	slices.SortStableFunc(out, func(a, b scalehist.NodeGroup) int { return strings.Compare(a.Name, b.Name) })
	return out
}

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
