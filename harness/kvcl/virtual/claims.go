package virtual

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/crank"
)

const defaultStorageClass = "storageclass.kubernetes.io/is-default-class"

func (c *Cluster) admitStorageClass(ch scalehist.Change, s *storagev1.StorageClass) {
	if ch.Op == scalehist.OpDelete {
		delete(c.classes, s.Name)
		return
	}
	c.classes[s.Name] = s
}

// admitClaim binds a claim of an Immediate storage class as a volume controller and a provisioner would: to a volume
// of its own that every node can reach. Claims that wait for their first consumer are bound by the control plane when
// the scheduler has chosen a node, and a claim recorded as bound stays bound to its volume. A claim that goes takes a volume
// along whose reclaim policy is Delete.
func (c *Cluster) admitClaim(ch scalehist.Change, claim *corev1.PersistentVolumeClaim) []scalehist.Change {
	key := scalehist.NameOf(claim)
	switch ch.Op {
	case scalehist.OpDelete:
		delete(c.claims.owners, key)
		delete(c.claims.ours, key)
		out := []scalehist.Change{ch}
		if volume := c.reclaimed(key); volume != nil {
			out = append(out, scalehist.Change{At: ch.At, Op: scalehist.OpDelete, Object: volume})
		}
		return out
	case scalehist.OpAdd:
		if c.claims.ours[key] {
			return nil // its StatefulSet made it earlier here
		}
		c.claims.owners[key] = owner(claim)
		delete(c.claims.gone, key)
	}
	class := c.immediate(claim)
	if ch.Op != scalehist.OpAdd || claim.Spec.VolumeName != "" || class == nil {
		return []scalehist.Change{ch}
	}
	volume, bound := crank.Bound(crank.Provision(claim, class, &corev1.Node{}, c.volumeName(key)), claim)
	volume.CreationTimestamp = claim.CreationTimestamp
	c.claims.made[key] = volume
	return []scalehist.Change{
		{At: ch.At, Op: scalehist.OpAdd, Object: volume},
		{At: ch.At, Op: scalehist.OpAdd, Object: bound},
	}
}

// claimsOf are the claims that a new pod of a StatefulSet gets from the templates of its set; one that is there stays.
func (c *Cluster) claimsOf(w *workload, p *corev1.Pod, now time.Time) (out []scalehist.Change) {
	set, ok := w.object.(*appsv1.StatefulSet)
	if !ok {
		return nil
	}
	for i := range set.Spec.VolumeClaimTemplates {
		t := set.Spec.VolumeClaimTemplates[i].DeepCopy()
		claim := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: p.Namespace, Name: t.Name + "-" + p.Name, CreationTimestamp: metav1.NewTime(now), Annotations: t.Annotations,
				Labels: labels.Merge(t.Labels, set.Spec.Selector.MatchLabels), // stateful_set_utils.go, getPersistentVolumeClaims
			},
			Spec: t.Spec,
		}
		if _, there := c.claims.owners[scalehist.NameOf(claim)]; !there {
			out = append(out, c.admitClaim(scalehist.Change{At: now, Op: scalehist.OpAdd, Object: claim}, claim)...)
			c.claims.ours[scalehist.NameOf(claim)] = true
		}
	}
	return out
}

// defaultClass is the newest of the default storage classes, as upstream's admission picks it; of two made at once the
// first by name.
func (c *Cluster) defaultClass() *storagev1.StorageClass {
	var best *storagev1.StorageClass
	for _, s := range c.classes {
		if s.Annotations[defaultStorageClass] != "true" {
			continue
		}
		if best == nil || best.CreationTimestamp.Before(&s.CreationTimestamp) ||
			best.CreationTimestamp.Equal(&s.CreationTimestamp) && s.Name < best.Name {
			best = s
		}
	}
	return best
}

// volumeName is that of a volume for a claim; a volume that outlived an earlier claim of the name keeps its own.
func (c *Cluster) volumeName(claim types.NamespacedName) string {
	base := "pvc-" + claim.Namespace + "-" + claim.Name
	name := base
	for n := 2; c.claims.kept[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}

// immediate is the claim's storage class, or the default one, if it provisions at once.
func (c *Cluster) immediate(claim *corev1.PersistentVolumeClaim) *storagev1.StorageClass {
	class := c.defaultClass()
	if name := claim.Spec.StorageClassName; name != nil {
		class = c.classes[*name]
	}
	if class != nil && (class.VolumeBindingMode == nil || *class.VolumeBindingMode == storagev1.VolumeBindingImmediate) {
		return class
	}
	return nil
}
