package vertical

import (
	"fmt"
	"slices"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/routines"
	vpautil "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"

	"github.com/scalehist/scalehist/recommender/vertical/vpa"
)

// Cap is what a recommender may write into the status of a VPA: without containers whose mode is Off and resources that are not
// controlled, within minAllowed and maxAllowed. It is for recommenders other than vpa, which does so itself.
func Cap(v *vpav1.VerticalPodAutoscaler, list []Recommendation) []Recommendation {
	if v == nil || v.Spec.ResourcePolicy == nil {
		return list
	}
	var controlled []Recommendation
	for _, r := range list {
		p := vpautil.GetContainerResourcePolicy(r.Container, v.Spec.ResourcePolicy)
		if p != nil && p.Mode != nil && *p.Mode == vpav1.ContainerScalingModeOff {
			continue
		}
		if p != nil && p.ControlledResources != nil {
			for _, a := range []*Amount{&r.Lower, &r.Target, &r.Upper} {
				if !slices.Contains(*p.ControlledResources, corev1.ResourceCPU) {
					a.CPUMilli = Unset
				}
				if !slices.Contains(*p.ControlledResources, corev1.ResourceMemory) {
					a.MemoryBytes = Unset
				}
			}
		}
		controlled = append(controlled, r)
	}
	return FromStatus(routines.NewCappingRecommendationProcessor(nil).Process(v, Status(controlled)))
}

// Scaler is what is between recommendations and the pods of a workload: upstream's admission controller, and an Updater. It has
// a VPA of its own, with the policies of the workload's.
type Scaler struct {
	objects  vpa.Objects
	admitter *vpa.Admitter
	updater  Updater
	flags    vpa.Flags
	list     []Recommendation
	written  bool // the list is in the status
	owner    metav1.OwnerReference
	// plain: no policy and no limit range changes what is recommended for a pod.
	plain bool
}

// NewScaler returns the scaler of a workload with the updater of that name. Of the flags, those of upstream's updater count.
func NewScaler(flags vpa.Flags, updater string, w Workload, limits []*corev1.LimitRange) (*Scaler, error) {
	v := w.object(flags.RecommenderName)
	v.Name = w.Name
	v.Spec.TargetRef = &autoscalingv1.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: w.Name}
	v.Status = vpav1.VerticalPodAutoscalerStatus{}
	s := &Scaler{flags: flags, owner: metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: w.Name, Controller: new(true)},
		plain: v.Spec.ResourcePolicy == nil && len(limits) == 0,
		objects: vpa.Objects{VPAs: []vpa.VPA{{Object: v, Selector: labels.Everything()}}, LimitRanges: limits,
			Controllers: map[vpa.Controller]vpa.ControllerState{}}}
	var err error
	if s.updater, err = newUpdater(updater, flags); err != nil {
		return nil, err
	}
	s.admitter, err = vpa.NewAdmitter(flags, func() vpa.Objects { return s.objects })
	s.replicas(0)
	return s, err
}

func (s *Scaler) object() *vpav1.VerticalPodAutoscaler { return s.objects.VPAs[0].Object }

func (s *Scaler) replicas(n int) {
	s.objects.Controllers[vpa.Controller{Kind: s.owner.Kind, Namespace: s.object().Namespace, Name: s.owner.Name}] = vpa.ControllerState{Replicas: n}
}

// Set is what is recommended from now on, already capped.
func (s *Scaler) Set(list []Recommendation) {
	if slices.Equal(list, s.list) {
		return
	}
	s.list, s.written = list, false
}

// write puts what is recommended into the status of the VPA, where upstream reads it.
func (s *Scaler) write() {
	if s.written {
		return
	}
	s.written = true
	s.object().Status.Recommendation = Status(s.list)
	if len(s.list) == 0 {
		s.object().Status.Recommendation = nil
	}
}

// Recommended is what was set last.
func (s *Scaler) Recommended() []Recommendation { return s.list }

// of is the recommendation for a container.
func (s *Scaler) of(container string) (Recommendation, bool) {
	for _, r := range s.list {
		if r.Container == container {
			return r, true
		}
	}
	return Recommendation{}, false
}

// Admit returns the pod as it would be created now of that template: requests as recommended and limits in proportion, bound by
// policies and limit ranges.
func (s *Scaler) Admit(now time.Time, template *corev1.Pod) *corev1.Pod {
	s.write()
	p := template.DeepCopy()
	p.Namespace, p.OwnerReferences = s.object().Namespace, []metav1.OwnerReference{s.owner}
	return s.admitter.Admit(now, p)
}

// Update asks the updater; each update is handed to do at once, and counts as done.
func (s *Scaler) Update(now time.Time, pods []Live, do func(Update)) {
	s.updater.Update(now, s, pods, do)
}

// newUpdater makes the updater of that name.
func newUpdater(name string, flags vpa.Flags) (Updater, error) {
	switch name {
	case UpdaterUpstream:
		u, err := vpa.NewUpdater(flags)
		return &upstream{u, flags}, err
	case UpdaterSmartKubeCode:
		return outOfBounds{}, nil
	case UpdaterSmartKubeReadme:
		return withinBounds{}, nil
	case UpdaterNone:
		return nobody{}, nil
	}
	return nil, fmt.Errorf("updater %q is not known: choose %v", name, Updaters)
}
