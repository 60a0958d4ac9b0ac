package virtual

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
)

// claims are what the ephemeral volume controller and the garbage collector know: the claims there are, and which of them
// go with a pod.
type claims struct {
	// owners are the UIDs of the pods that claims belong to, "" for claims of their own.
	owners map[types.NamespacedName]types.UID
	// ours are claims of StatefulSets that were made here.
	ours map[types.NamespacedName]bool
	// gone are those of StatefulSets that went with them, whose deletion may be recorded still.
	gone map[types.NamespacedName]bool
	// made are the volumes of claims that admitClaim provisioned; kept the names of those that outlived their claim.
	made map[types.NamespacedName]*corev1.PersistentVolume
	kept map[string]bool
	// born are pods with generic ephemeral volumes whose claims have not been looked at; holders those whose have.
	born    []types.NamespacedName
	holders map[types.NamespacedName]holder
}

type holder struct {
	uid    types.UID
	claims []types.NamespacedName
}

func newClaims() claims {
	return claims{
		owners:  map[types.NamespacedName]types.UID{},
		ours:    map[types.NamespacedName]bool{},
		gone:    map[types.NamespacedName]bool{},
		made:    map[types.NamespacedName]*corev1.PersistentVolume{},
		kept:    map[string]bool{},
		holders: map[types.NamespacedName]holder{},
	}
}

// owner is the UID of the pod a claim belongs to, "" if none.
func owner(c *corev1.PersistentVolumeClaim) types.UID {
	if o := metav1.GetControllerOf(c); o != nil && o.Kind == "Pod" {
		return o.UID
	}
	return ""
}

func hasEphemeral(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.Ephemeral != nil })
}

// reconcileClaims does what the ephemeral volume controller and the garbage collector do: a pod gets a claim
// "<pod>-<volume>" of its own for each of its generic ephemeral volumes, and takes it along when it is deleted. A claim of that
// name that is somebody else's stays, and the scheduler refuses the pod, as upstream.
func (c *Cluster) reconcileClaims(now time.Time) []scalehist.Change {
	var gone []types.NamespacedName
	for key, h := range c.claims.holders {
		if p := c.pods[key]; p == nil || p.object.UID != h.uid {
			gone = append(gone, key)
		}
	}
	slices.SortFunc(gone, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	var out []scalehist.Change
	for _, key := range gone {
		for _, name := range c.claims.holders[key].claims {
			if c.claims.owners[name] != c.claims.holders[key].uid {
				continue // it was deleted before its pod
			}
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
			out = append(out, c.admitClaim(scalehist.Change{At: now, Op: scalehist.OpDelete, Object: claim}, claim)...)
		}
		delete(c.claims.holders, key)
	}
	for _, key := range c.claims.born {
		p := c.pods[key]
		if p == nil {
			continue
		}
		h := holder{uid: p.object.UID}
		for i := range p.object.Spec.Volumes {
			v := &p.object.Spec.Volumes[i]
			if v.Ephemeral == nil || v.Ephemeral.VolumeClaimTemplate == nil {
				continue
			}
			claim := ephemeralClaim(p.object, v, now)
			owner, there := c.claims.owners[scalehist.NameOf(claim)]
			if there && owner != h.uid {
				continue
			}
			h.claims = append(h.claims, scalehist.NameOf(claim))
			if !there {
				out = append(out, c.admitClaim(scalehist.Change{At: now, Op: scalehist.OpAdd, Object: claim}, claim)...)
			}
		}
		c.claims.holders[key] = h
	}
	c.claims.born = nil
	return out
}

// ephemeralClaim is the claim of a pod's generic ephemeral volume.
func ephemeralClaim(p *corev1.Pod, v *corev1.Volume, now time.Time) *corev1.PersistentVolumeClaim {
	t := v.Ephemeral.VolumeClaimTemplate.DeepCopy()
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: ephemeral.VolumeClaimName(p, v), CreationTimestamp: metav1.NewTime(now),
			Labels: t.Labels, Annotations: t.Annotations,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID, Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
		},
		Spec: t.Spec,
	}
}

// reclaimed is the volume that goes with a claim, by its reclaim policy; nil if none does.
func (c *Cluster) reclaimed(claim types.NamespacedName) *corev1.PersistentVolume {
	pv := c.claims.made[claim]
	delete(c.claims.made, claim)
	if pv == nil {
		volumes := c.plane.Objects().PersistentVolumes
		i := slices.IndexFunc(volumes, func(v *corev1.PersistentVolume) bool {
			ref := v.Spec.ClaimRef
			return ref != nil && ref.Namespace == claim.Namespace && ref.Name == claim.Name && v.Status.Phase == corev1.VolumeBound
		})
		if i < 0 {
			return nil
		}
		pv = volumes[i]
	}
	if pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		c.claims.kept[pv.Name] = true
		return nil
	}
	return pv
}
