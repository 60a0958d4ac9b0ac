package projection

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

// keptAnnotations are the annotations that scheduling or scaling looks at. All others stay out: they may hold
// anything, a whole earlier object included (kubectl.kubernetes.io/last-applied-configuration).
var keptAnnotations = map[string]bool{
	"controller.kubernetes.io/pod-deletion-cost":       true,
	"batch.kubernetes.io/job-completion-index":         true,
	"kubernetes.io/config.mirror":                      true, // a static pod, which the autoscaler does not drain
	"kubernetes.io/config.source":                      true,
	"cluster.k8s.io/machine":                           true,
	"pv.kubernetes.io/bind-completed":                  true,
	"pv.kubernetes.io/bound-by-controller":             true,
	"pv.kubernetes.io/provisioned-by":                  true,
	"pv.kubernetes.io/migrated-to":                     true,
	"volume.kubernetes.io/selected-node":               true,
	"volume.kubernetes.io/storage-provisioner":         true,
	"volume.beta.kubernetes.io/storage-provisioner":    true,
	"volume.beta.kubernetes.io/storage-class":          true,
	"storageclass.kubernetes.io/is-default-class":      true,
	"storageclass.beta.kubernetes.io/is-default-class": true,
	"storage.alpha.kubernetes.io/migrated-plugins":     true, // CSINode: decides which limits count
	"scheduling.k8s.io/group-name":                     true,
	// Gardener: which machine goes first, and that the autoscaler wants it gone.
	"machinepriority.machine.sapcloud.io":              true,
	"node.machine.sapcloud.io/trigger-deletion-by-mcm": true,
}

var keptAnnotationPrefixes = []string{
	v1alpha1.GroupName + "/",
	"cluster-autoscaler.kubernetes.io/",
	"delay-deletion.cluster-autoscaler.kubernetes.io/",
	"capacity.cluster-autoscaler.kubernetes.io/", // Cluster API: the shape of a node for scale from zero
	"autoscaling.x-k8s.io/",
	"autoscaling.keda.sh/",                              // KEDA: paused, and at how many replicas
	"autoscaler.gardener.cloud/",                        // options of one worker pool
	"cluster.k8s.io/cluster-api-autoscaler-node-group-", // Cluster API before cluster.x-k8s.io
	"scheduler.alpha.kubernetes.io/",
	"cluster.x-k8s.io/",
	"karpenter.sh/",
	"node-lifecycle.", // planned maintenance, spot reclaim
}

// droppedLabels are labels that copy whole objects.
var droppedLabels = map[string]bool{
	"node.machine.sapcloud.io/last-applied-anno-labels-taints": true,
}

// projectMeta keeps identity, labels, kept annotations, owners and times. managedFields, finalizers, generation,
// resourceVersion and generateName stay out.
func projectMeta(m metav1.ObjectMeta) metav1.ObjectMeta {
	out := metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID,
		CreationTimestamp: m.CreationTimestamp,
		DeletionTimestamp: Clone(m.DeletionTimestamp),
	}
	for k, v := range m.Labels {
		if droppedLabels[k] {
			continue
		}
		if out.Labels == nil {
			out.Labels = make(map[string]string, len(m.Labels))
		}
		out.Labels[k] = v
	}
	for k, v := range m.Annotations {
		if !keepAnnotation(k) {
			continue
		}
		if out.Annotations == nil {
			out.Annotations = map[string]string{}
		}
		out.Annotations[k] = v
	}
	for _, r := range m.OwnerReferences {
		out.OwnerReferences = append(out.OwnerReferences, metav1.OwnerReference{APIVersion: r.APIVersion, Kind: r.Kind,
			Name: r.Name, UID: r.UID, Controller: Clone(r.Controller)})
	}
	return out
}

// Annotations lists the annotations that a history keeps, in order; one that ends in "/", "-" or "." stands for all that
// begin so.
func Annotations() []string {
	out := append(slices.Collect(maps.Keys(keptAnnotations)), keptAnnotationPrefixes...)
	slices.Sort(out)
	return out
}

func keepAnnotation(k string) bool {
	if keptAnnotations[k] {
		return true
	}
	for _, p := range keptAnnotationPrefixes {
		if strings.HasPrefix(k, p) {
			return true
		}
	}
	return false
}
