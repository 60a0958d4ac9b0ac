package vpa

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/priority"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/utils"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/annotations"
	vpautil "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"
)

// ActionKind is what the updater does to a pod.
type ActionKind string

// What the updater does to a pod.
const (
	Evict  ActionKind = "evict"
	Resize ActionKind = "resize in place"
)

// Reason is why a pod is updated.
type Reason string

// Why a pod is updated: the first that is true.
const (
	// OutsideRange: a request is below the lower or above the upper bound, or there is none.
	OutsideRange Reason = "outside the recommended range"
	// QuickOOM: a container ran out of memory soon after its start, not long ago, and the resources would change.
	QuickOOM Reason = "quick OOM"
	// LongLived: the pod has lived for the lifetime threshold, and the resources would change enough.
	LongLived Reason = "long-lived, and the target differs enough"
)

// Action is an eviction or a resize.
type Action struct {
	VPA    types.NamespacedName
	Pod    *corev1.Pod // as it was handed in
	Kind   ActionKind
	Reason Reason
	// Fallback is true of an eviction because a resize failed.
	Fallback bool
	// ResourceDiff is the sum over resources of |request-target|/request, by which pods are ordered after those that grow.
	ResourceDiff float64
	// ScaleUp is true where a container wants more.
	ScaleUp bool
	// Resources of a resize are what the containers of the spec get, in their order.
	Resources []corev1.ResourceRequirements
	// Ended are the annotations of start-up boosts that a resize ends.
	Ended []string
	// Err is what doing it returned, or why the end of a boost could not be asked for.
	Err error
}

// Resized is the pod after a resize: with its resources and upstream's annotation, and without those of boosts that end.
func (a Action) Resized() *corev1.Pod {
	p := a.Pod.DeepCopy()
	for i, r := range a.Resources {
		p.Spec.Containers[i].Resources = *r.DeepCopy()
	}
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[annotations.VpaInPlaceUpdatedLabel] = annotations.GetVpaInPlaceUpdatedValue()
	for _, key := range a.Ended {
		delete(p.Annotations, key)
	}
	return p
}

// Updater is upstream's updater over objects. It has no locks.
type Updater struct {
	flags         Flags
	resizingSince map[types.NamespacedName]time.Time
	infeasible    map[types.UID]*vpav1.RecommendedPodResources
}

// NewUpdater returns an updater. The error says which flags have values that upstream would compute nonsense with.
func NewUpdater(flags Flags) (*Updater, error) {
	if err := flags.check(); err != nil {
		return nil, err
	}
	return &Updater{flags: flags, resizingSince: map[types.NamespacedName]time.Time{}, infeasible: map[types.UID]*vpav1.RecommendedPodResources{}}, nil
}

// Update is one turn of the updater (updater/logic/updater.go, RunOnce), to be asked for each updater interval. It hands each action
// to do as soon as it is decided: an error says that the API server refused it, so that an eviction counts for nothing and a resize
// becomes an eviction where the mode is InPlaceOrRecreate. A nil do refuses nothing. It returns what was done, in order of VPAs;
// of a VPA boosts end first, then come resizes, and within them those that grow, then the larger difference.
func (u *Updater) Update(now time.Time, o Objects, do func(Action) error) []Action {
	vpas := o.selected(u.flags, u.updates)
	if len(vpas) == 0 {
		return nil
	}
	controlled, alive := map[*vpav1.VerticalPodAutoscaler][]*corev1.Pod{}, map[types.UID]bool{}
	for _, p := range slices.SortedFunc(slices.Values(o.Pods), func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}) {
		if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed || p.DeletionTimestamp != nil {
			continue
		}
		alive[p.UID] = true
		if v := o.controlling(p, vpas); v != nil {
			controlled[v] = append(controlled[v], p)
		}
	}
	maps.DeleteFunc(u.infeasible, func(uid types.UID, _ *vpav1.RecommendedPodResources) bool { return !alive[uid] })
	admission := priority.NewScalingDirectionPodEvictionAdmission()
	admission.LoopInit(nil, controlled)
	limits := newLimits(o.LimitRanges)
	var all []Action
	for _, v := range vpas {
		mode := vpautil.GetUpdateMode(v.Vpa)
		if len(controlled[v.Vpa]) == 0 {
			continue
		}
		t := &turn{updater: u, vpa: v.Vpa, mode: mode, now: now, limits: limits, admission: admission,
			restriction: u.restrict(now, v.Vpa, controlled[v.Vpa], o.Controllers), do: do}
		others := t.unboost(controlled[v.Vpa])
		if mode != vpav1.UpdateModeOff && mode != vpav1.UpdateModeInitial && (mode != vpav1.UpdateModeInPlace || u.flags.InPlace) {
			t.run(others)
		}
		all = append(all, t.done...)
	}
	return all
}

// updates says whether a VPA takes part. One with a startup boost does even where its mode is Off, and where the feature gate is: it keeps
// pods from younger VPAs.
func (u *Updater) updates(v *vpav1.VerticalPodAutoscaler) bool {
	switch vpautil.GetUpdateMode(v) {
	case vpav1.UpdateModeRecreate, vpav1.UpdateModeAuto, vpav1.UpdateModeInPlaceOrRecreate, vpav1.UpdateModeInPlace: //nolint:staticcheck // Auto is deprecated, and in use
		return true
	}
	return vpautil.HasStartupBoost(v)
}

// turn is what one turn does for one VPA.
type turn struct {
	updater     *Updater
	vpa         *vpav1.VerticalPodAutoscaler
	mode        vpav1.UpdateMode
	now         time.Time
	limits      limits
	admission   priority.PodEvictionAdmission
	restriction *restrictions
	do          func(Action) error
	done        []Action
}

func (t *turn) run(pods []*corev1.Pod) {
	var evictable []*corev1.Pod
	fallback := map[*corev1.Pod]bool{}
	if t.mode == vpav1.UpdateModeInPlaceOrRecreate || t.mode == vpav1.UpdateModeInPlace {
		for _, p := range t.inOrder(slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return !t.resizable(p) })) {
			if t.resize(p) {
				evictable = append(evictable, p)
				fallback[p] = true
			}
		}
	} else {
		evictable = t.inOrder(slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return !t.restriction.mayEvict(p) }))
	}
	for _, p := range evictable {
		if !t.restriction.mayEvict(p) {
			continue
		}
		a := t.action(p, Evict)
		a.Fallback = fallback[p]
		if t.act(a) && p.Status.Phase != corev1.PodPending {
			t.restriction.group(p).evicted++
		}
	}
}

// resizable says whether the pod is put in order for a resize (filterNonInPlaceUpdatablePods).
func (t *turn) resizable(p *corev1.Pod) bool {
	switch t.restriction.inPlace(p, t.vpa.Status.Recommendation) {
	case utils.InPlaceApproved:
		return true
	case utils.InPlaceInfeasible, utils.InPlaceDeferred:
		return t.mode == vpav1.UpdateModeInPlace
	case utils.InPlaceEvict:
		return t.mode == vpav1.UpdateModeInPlaceOrRecreate
	}
	return false
}

// resize resizes the pod, or says that it is to be evicted instead.
func (t *turn) resize(p *corev1.Pod) (evict bool) {
	switch t.restriction.inPlace(p, t.vpa.Status.Recommendation) {
	case utils.InPlaceApproved:
	case utils.InPlaceInfeasible:
		t.updater.infeasible[p.UID] = t.vpa.Status.Recommendation.DeepCopy()
	case utils.InPlaceDeferred:
		if t.mode == vpav1.UpdateModeInPlaceOrRecreate {
			return false
		}
	case utils.InPlaceEvict:
		return true
	default:
		return false
	}
	group := t.restriction.group(p)
	if group == nil { // InPlace does not ask for one before
		return false
	}
	a := t.action(p, Resize)
	var err error
	if a.Resources, a.Ended, err = t.target(p); err == nil && t.act(a) {
		group.resized++
		return false
	}
	return t.mode == vpav1.UpdateModeInPlaceOrRecreate
}

// errNothing is upstream's answer to a resize without a recommendation for any container.
var errNothing = errors.New("no resources to change")

// target is what the containers of the pod get, and the annotations of boosts that end with that (updater/inplace/resource_updates.go and
// unboost_patch_calculator.go). Containers whose boost goes on keep what they have, as do those without one where the mode is Off.
func (t *turn) target(p *corev1.Pod) (all []corev1.ResourceRequirements, ends []string, err error) {
	off := t.mode == vpav1.UpdateModeOff
	resources := make([]vpautil.ContainerResources, len(p.Spec.Containers))
	if !off {
		if resources, _, err = t.limits.provider().GetContainersResourcesForPod(p, t.vpa); err != nil {
			return nil, nil, err
		}
	}
	all, ends = make([]corev1.ResourceRequirements, len(resources)), ended(t.now, p, t.vpa)
	changes := false
	for i, r := range resources {
		now := p.Spec.Containers[i].Resources
		all[i] = *now.DeepCopy()
		key := annotations.GetStartupCPUBoostAnnotationKey(p.Spec.Containers[i].Name)
		if slices.Contains(ends, key) {
			if r, err = unboosted(p, p.Spec.Containers[i].Name, r); err != nil {
				return nil, nil, err
			}
		} else if _, goesOn := p.Annotations[key]; goesOn || off {
			continue
		}
		changes = changes || now.Requests == nil && now.Limits == nil || len(r.Requests)+len(r.Limits) > 0
		all[i] = with(now, vpautil.ContainerResources{Requests: now.Requests, Limits: now.Limits}, r)
	}
	if !changes {
		return nil, nil, errNothing
	}
	return all, ends, nil
}

// with is what the patches of upstream make of the resources of a container that has, as far as upstream knows, the current ones: new
// requests and limits beside others. A list that is unknown begins empty; where both are, all resources do.
func with(now corev1.ResourceRequirements, current, change vpautil.ContainerResources) corev1.ResourceRequirements {
	if current.Requests == nil && current.Limits == nil {
		now = corev1.ResourceRequirements{}
	}
	now = *now.DeepCopy()
	now.Requests = added(now.Requests, current.Requests, change.Requests)
	now.Limits = added(now.Limits, current.Limits, change.Limits)
	return now
}

func added(list, current, change corev1.ResourceList) corev1.ResourceList {
	if (current == nil || list == nil) && len(change) > 0 {
		list = corev1.ResourceList{}
	}
	for name, q := range change {
		list[name] = q.DeepCopy()
	}
	return list
}

// act hands the action over, notes it, and says whether it was done.
func (t *turn) act(a Action) bool {
	if t.do != nil {
		a.Err = t.do(a)
	}
	t.done = append(t.done, a)
	return a.Err == nil
}

// inOrder are the pods that upstream's calculator accepts, the most urgent first.
func (t *turn) inOrder(pods []*corev1.Pod) []*corev1.Pod {
	if t.vpa.Status.Recommendation == nil && t.vpa.Spec.ResourcePolicy == nil {
		return nil // as upstream, but where the threshold is 0: there it crashes
	}
	c := t.calculator(t.updater.flags.PodLifetime)
	for _, p := range pods {
		c.AddPod(p, t.now, t.updater.infeasible)
	}
	return c.GetSortedPods(t.admission)
}

func (t *turn) calculator(lifetime time.Duration) *priority.UpdatePriorityCalculator {
	f := t.updater.flags
	config := priority.UpdateConfig{MinChangePriority: f.UpdateThreshold, PodLifetimeUpdateThreshold: lifetime, EvictAfterOOMThreshold: f.EvictAfterOOM}
	if p := t.vpa.Spec.UpdatePolicy; f.PerVPAConfig && p != nil && p.EvictAfterOOMSeconds != nil {
		config.EvictAfterOOMThreshold = time.Duration(*p.EvictAfterOOMSeconds) * time.Second
	}
	c := priority.NewUpdatePriorityCalculator(t.vpa, config, t.limits.processor(), priority.NewProcessor())
	return &c
}

func (t *turn) name() types.NamespacedName {
	return types.NamespacedName{Namespace: t.vpa.Namespace, Name: t.vpa.Name}
}

// action describes what is done to a pod that the calculator accepted.
func (t *turn) action(p *corev1.Pod, kind ActionKind) Action {
	a := Action{VPA: t.name(), Pod: p, Kind: kind, Reason: LongLived}
	processed, _, err := t.limits.processor().Apply(t.vpa, p)
	if err != nil {
		return a // the calculator has asked the same, and would not have accepted the pod
	}
	urgency := priority.NewProcessor().GetUpdatePriority(p, t.vpa, processed)
	a.ResourceDiff, a.ScaleUp = urgency.ResourceDiff, urgency.ScaleUp
	never := t.calculator(1 << 62) // no pod is that old: what it accepts is outside its range, or ran out of memory
	never.AddPod(p, t.now, nil)
	switch {
	case urgency.OutsideRecommendedRange:
		a.Reason = OutsideRange
	case len(never.GetSortedPods(priority.NewDefaultPodEvictionAdmission())) > 0:
		a.Reason = QuickOOM
	}
	return a
}
