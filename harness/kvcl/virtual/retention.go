package virtual

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
)

// What a StatefulSet that was taken over does with its claims, by its persistentVolumeClaimRetentionPolicy: with Delete, those of a pod above the
// replicas that are wanted belong to the pod, and those of the set to the set (stateful_set_utils.go, updateClaimOwnerRefForSetAndPod).

// setOf is the StatefulSet of a workload that was taken over, with its policy; nil where there is none.
func (w *workload) setOf() (*appsv1.StatefulSet, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy) {
	set, ok := w.object.(*appsv1.StatefulSet)
	if !ok || w.run == nil {
		return nil, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{}
	}
	return set, ptr.Deref(set.Spec.PersistentVolumeClaimRetentionPolicy, appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
}

// releaseClaims gives the claims of a pod that its controller deletes to the pod, if the pod is above the replicas that are wanted and the set
// wants that: they go with it.
func (c *Cluster) releaseClaims(p *corev1.Pod) {
	w := c.taken(p)
	if w == nil {
		return
	}
	set, policy := w.setOf()
	if set == nil || policy.WhenScaled != appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
		return
	}
	first := 0
	if set.Spec.Ordinals != nil {
		first = int(set.Spec.Ordinals.Start)
	}
	if n, ok := ordinalOf(set.Name, p.Name); !ok || n >= first && n < first+int(w.wanted) {
		return // it comes again, and finds them
	}
	key := scalehist.NameOf(p)
	h := holder{uid: p.UID, claims: c.claims.holders[key].claims}
	for i := range set.Spec.VolumeClaimTemplates {
		claim := types.NamespacedName{Namespace: p.Namespace, Name: set.Spec.VolumeClaimTemplates[i].Name + "-" + p.Name}
		if _, there := c.claims.owners[claim]; there {
			c.claims.owners[claim] = p.UID
			h.claims = append(h.claims, claim)
		}
	}
	c.claims.holders[key] = h
}

// deleteClaims are the deletions of all claims of a set that is deleted and wants that.
func (c *Cluster) deleteClaims(w *workload, at time.Time) (out []scalehist.Change) {
	set, policy := w.setOf()
	if set == nil || policy.WhenDeleted != appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
		return nil
	}
	var names []types.NamespacedName
	for name := range c.claims.owners {
		if claimOf(set, name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b types.NamespacedName) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range names {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
		out = append(out, c.admitClaim(scalehist.Change{At: at, Op: scalehist.OpDelete, Object: claim}, claim)...)
		c.claims.gone[name] = true
	}
	return out
}

// claimOf says whether a claim is of a template of the set.
func claimOf(set *appsv1.StatefulSet, claim types.NamespacedName) bool {
	return claim.Namespace == set.Namespace && slices.ContainsFunc(set.Spec.VolumeClaimTemplates, func(t corev1.PersistentVolumeClaim) bool {
		pod, ok := strings.CutPrefix(claim.Name, t.Name+"-")
		_, of := ordinalOf(set.Name, pod)
		return ok && of
	})
}

// retained says whether the recorded deletion of a claim is an effect: of a policy of a set whose pods come and go otherwise here, or of what this
// replay has done already. The recorded claim that comes after it is none either.
func (c *Cluster) retained(claim *corev1.PersistentVolumeClaim) bool {
	name := scalehist.NameOf(claim)
	effect := slices.ContainsFunc(c.controllers.taken, func(w *workload) bool {
		set, policy := w.setOf()
		return set != nil && policy.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType && claimOf(set, name)
	})
	if _, there := c.claims.owners[name]; effect && there {
		c.claims.ours[name] = true
	}
	return effect || c.claims.gone[name]
}
