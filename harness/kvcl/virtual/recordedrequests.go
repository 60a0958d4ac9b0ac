package virtual

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/kubelet"
)

// recordedRequests gives new pods the requests that were recorded of them, by the means by which a vertical autoscaler sets them: their owners make
// them without any, and it changes them on their way in.
type recordedRequests struct {
	last map[types.NamespacedName]*corev1.Pod
}

// made is a pod as its owner makes it: it asks for nothing.
func (r *recordedRequests) made(p *corev1.Pod) *corev1.Pod {
	if containers := p.Spec.Containers; slices.ContainsFunc(containers, func(c corev1.Container) bool { return len(c.Resources.Requests)+len(c.Resources.Limits) > 0 }) {
		r.last[scalehist.NameOf(p)] = p
	}
	return kubelet.WithResourcesOf(p, &corev1.Pod{})
}

// Admit implements scalehist.Admitter.
func (r *recordedRequests) Admit(_ time.Time, p *corev1.Pod) *corev1.Pod {
	last := r.last[scalehist.NameOf(p)]
	if last == nil {
		return p
	}
	return kubelet.WithResourcesOf(p, last)
}
