package contract

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/crank"
)

// refusesUnsupportedPods: what no control plane schedules as a real one does is refused, with a reason, not placed in
// silence; a pod that has ended wants nothing any more.
func refusesUnsupportedPods(s *suite) {
	claims := func(p *corev1.Pod) {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To("gpu")}}
	}
	group := func(p *corev1.Pod) {
		p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: ptr.To("gang")}
	}
	ended := func(p *corev1.Pod) { claims(p); running("n-0")(p); p.Status.Phase = corev1.PodSucceeded }
	s.add(node("n-0", 4))
	for _, c := range []struct {
		name    string
		feature string
		edits   []func(*corev1.Pod)
	}{
		{"waiting", crank.DynamicResources, []func(*corev1.Pod){claims}},
		{"standing", crank.DynamicResources, []func(*corev1.Pod){claims, running("n-0")}},
		{"grouped", crank.PodGroups, []func(*corev1.Pod){group}},
	} {
		err := s.try(scalehist.OpAdd, pod(c.name, 1, c.edits...), pod("after-"+c.name, 1))
		s.wantError(err, "default/"+c.name, c.feature)
		var unsupported *crank.UnsupportedError
		if !errors.As(err, &unsupported) || unsupported.Pod != id(c.name) || unsupported.Feature != c.feature {
			s.t.Errorf("%s: error %v, want an UnsupportedError", c.name, err)
		}
	}
	s.add(pod("ended", 1, ended), pod("plain", 1))
	s.wantSettled(bound(binding("plain", "n-0")))
	s.equal("placements", []string{"ended n-0", "plain n-0"}, s.placements())
	s.wantError(s.try(scalehist.OpUpdate, pod("plain", 1, group)), "default/plain", crank.PodGroups)
	// Without DeviceClasses an extended resource is one that a node has or has not.
	s.add(pod("extended", 1, func(p *corev1.Pod) {
		list := corev1.ResourceList{"example.com/gpu": resource.MustParse("1")}
		p.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("1")
		p.Spec.Containers[0].Resources.Limits = list
	}))
	s.wantSettled(kvcl.Settled{Unschedulable: []kvcl.Unschedulable{{Pod: id("extended"), Message: noFit(1, "1 Insufficient example.com/gpu")}}})
}
