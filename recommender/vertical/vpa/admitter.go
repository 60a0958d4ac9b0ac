package vpa

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/annotations"
	resourcehelpers "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/resources"
	vpautil "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"
)

// Admitter is upstream's admission controller: what its webhook would do to new pods.
type Admitter struct {
	flags Flags
	read  func() Objects
}

// NewAdmitter returns the admission controller of a cluster. It calls read at each pod, and looks at all of it but the pods. The error
// says which flags have values that upstream would compute nonsense with.
func NewAdmitter(flags Flags, read func() Objects) (*Admitter, error) {
	if err := flags.check(); err != nil {
		return nil, err
	}
	return &Admitter{flags, read}, nil
}

// updatesAnnotation is upstream's (admission-controller/resource/pod/patch/resource_updates.go, a package that links testing).
const updatesAnnotation = "vpaUpdates"

// Admit returns a copy of a new pod: with the requests that its VPA recommends and its start-up boost, limits in proportion to them or as
// they were, and upstream's annotations, which say what was changed. Init containers, those that keep running among them, are left as they are, as
// upstream. Resources are named in order in annotations. The instant changes nothing.
func (a *Admitter) Admit(_ time.Time, object *corev1.Pod) *corev1.Pod {
	p := object.DeepCopy()
	o := a.read()
	vpa := o.controlling(p, o.selected(a.flags, func(v *vpav1.VerticalPodAutoscaler) bool {
		return vpautil.GetUpdateMode(v) != vpav1.UpdateModeOff || vpautil.HasStartupBoost(v)
	}))
	if vpa == nil {
		return p
	}
	resources, why, err := newLimits(o.LimitRanges).provider().GetContainersResourcesForPod(p, vpa)
	if err != nil {
		return p // the webhook lets pods pass that it fails on
	}
	off := vpautil.GetUpdateMode(vpa) == vpav1.UpdateModeOff // only a start-up boost is applied
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	var changes []string
	for i, r := range resources {
		c := &p.Spec.Containers[i]
		if off {
			r, why = vpautil.ContainerResources{}, nil
		}
		if a.flags.CPUStartupBoost {
			if policy := vpautil.GetContainerResourcePolicy(c.Name, vpa.Spec.ResourcePolicy); policy != nil && policy.Mode != nil && *policy.Mode == vpav1.ContainerScalingModeOff {
				continue
			}
			if err := a.flags.boost(p, c, vpa, &r); err != nil {
				return object.DeepCopy()
			}
		}
		requests, limits := resourcehelpers.ContainerRequestsAndLimits(c.Name, p)
		if requests == nil && limits == nil || len(r.Requests)+len(r.Limits) > 0 {
			changes = append(changes, change(i, why[c.Name], r))
		}
		c.Resources = with(c.Resources, vpautil.ContainerResources{Requests: requests, Limits: limits}, r)
	}
	if len(changes) > 0 {
		p.Annotations[updatesAnnotation] = fmt.Sprintf("Pod resources updated by %s: %s", vpa.Name, strings.Join(changes, "; "))
	}
	p.Annotations[annotations.VpaObservedContainersLabel] = annotations.GetVpaObservedContainersValue(p)
	return p
}

// change says what was changed of a container and why, in upstream's words (admission-controller/resource/pod/patch/resource_updates.go)
// and in order, where upstream follows a map.
func change(i int, why []string, r vpautil.ContainerResources) string {
	parts := slices.Sorted(slices.Values(why))
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		parts = append(parts, string(name)+" request")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
		parts = append(parts, string(name)+" limit")
	}
	return fmt.Sprintf("container %d: %s", i, strings.Join(parts, ", "))
}
