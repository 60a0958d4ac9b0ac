package engines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/features"
	vpautil "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/internal/spec"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/vpa"
)

// vpaName is the Vertical Pod Autoscaler.
const vpaName = "vpa"

// VerticalNames are the controllers of requests that Vertical knows, and the one that the harness has itself.
func VerticalNames() []string { return append(vertical.Names(), harness.Recorded) }

// Vertical is the controller of requests of a name, with its own flags; nil for the one of the harness. It is the Vertical Pod Autoscaler, with its
// recommender or, by the name of another with options ("max-usage:margin=0.3"), with that one.
func Vertical(name string, flags ...string) (harness.NewController, error) {
	switch {
	case name == harness.Recorded && len(flags) > 0:
		return nil, fmt.Errorf("%s has no flags", name)
	case name == harness.Recorded:
		return nil, nil
	}
	chosen, settings := spec.Parse(name)
	if !slices.Contains(VerticalNames(), chosen) {
		return nil, fmt.Errorf("unknown vertical autoscaler %q: choose one of %s", chosen, strings.Join(VerticalNames(), ", "))
	}
	one, err := vertical.With(chosen, settings)
	if err != nil {
		return nil, err
	}
	if chosen == vpaName {
		for _, s := range settings {
			flags = append(flags, "--"+s.Name+"="+s.Value)
		}
	}
	f, err := vpa.ParseFlags(flags)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", chosen, err)
	}
	if chosen == vpaName {
		return VPA(f), nil
	}
	return byVPA(chosen, f, func(warn func(string)) (requestsRecommender, error) { return newByObject(one, warn), nil }), nil
}

// VPA is the Vertical Pod Autoscaler, for every VerticalPodAutoscaler among the objects: its recommender and its updater, each at its interval, the
// recommender first, and its webhook. VerticalPodAutoscalerCheckpoints and LimitRanges among the objects are read, too.
func VPA(flags vpa.Flags) harness.NewController {
	return byVPA(vpaName, flags, func(func(string)) (requestsRecommender, error) {
		r, err := vpa.NewRecommender(flags)
		return upstreams{r}, err
	})
}

// byVPA is the Vertical Pod Autoscaler with a recommender, by whose name it is called.
func byVPA(name string, flags vpa.Flags, recommender func(warn func(string)) (requestsRecommender, error)) harness.NewController {
	return func(env harness.ControllerEnv) (scalehist.Controller, error) {
		c := &vpaController{
			name: name, env: env, flags: flags, vpas: map[types.NamespacedName]*verticalObject{}, pods: map[types.NamespacedName]*observed{},
			limits: map[types.NamespacedName]*corev1.LimitRange{}, refused: map[string]string{},
			nextRecommender: env.Start.Add(flags.RecommenderInterval), nextUpdater: env.Start.Add(flags.UpdaterInterval),
		}
		var errs [3]error
		c.recommender, errs[0] = recommender(env.Warn)
		c.updater, errs[1] = vpa.NewUpdater(flags)
		c.admitter, errs[2] = vpa.NewAdmitter(flags, func() vpa.Objects { return c.admission })
		if err := errors.Join(errs[:]...); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, checkpoints := range []bool{false, true} { // behind what they are of
			for _, o := range env.Objects {
				if _, is := o.(*vpav1.VerticalPodAutoscalerCheckpoint); is != checkpoints {
					continue
				}
				if err := c.Configure(scalehist.Change{At: env.Start, Op: scalehist.OpAdd, Object: o}); err != nil {
					return nil, err
				}
			}
		}
		if len(c.vpas) == 0 {
			return nil, fmt.Errorf("%s: there is no VerticalPodAutoscaler at the start, neither recorded nor given (objects): nothing would be recommended", name)
		}
		c.warnOfHorizontal()
		return c, nil
	}
}

// vpaController runs the three parts of the Vertical Pod Autoscaler in a replay.
type vpaController struct {
	name        string
	env         harness.ControllerEnv
	flags       vpa.Flags
	recommender requestsRecommender
	updater     *vpa.Updater
	admitter    *vpa.Admitter

	vpas   map[types.NamespacedName]*verticalObject
	limits map[types.NamespacedName]*corev1.LimitRange
	// pods are those that the recommender tracks.
	pods map[types.NamespacedName]*observed
	// admission is what the webhook sees of the pod that it is asked about.
	admission vpa.Objects
	// refused is why something could not be done to a pod the last time.
	refused                      map[string]string
	nextRecommender, nextUpdater time.Time
}

// verticalObject is a VerticalPodAutoscaler with the status that the recommender wrote.
type verticalObject struct {
	object   *vpav1.VerticalPodAutoscaler
	target   scalehist.WorkloadRef
	selector labels.Selector
	// set: the recommender has it with this selector.
	set   bool
	taken bool
}

// observed is a pod as the recommender saw it last.
type observed struct {
	object   *corev1.Pod
	measured map[string]time.Time // the last sample, by container and resource
	restarts map[string]int32     // by container
}

// Name implements scalehist.Controller.
func (c *vpaController) Name() string { return c.name }

// Close implements io.Closer.
func (c *vpaController) Close() error { return c.recommender.Close() }

// Next implements scalehist.Controller.
func (c *vpaController) Next() (time.Time, bool) {
	if c.nextUpdater.Before(c.nextRecommender) {
		return c.nextUpdater, true
	}
	return c.nextRecommender, true
}

// Configure takes in objects, at the start and when they were recorded to change.
func (c *vpaController) Configure(ch scalehist.Change) error {
	gone := ch.Op == scalehist.OpDelete
	switch o := ch.Object.(type) {
	case *corev1.LimitRange:
		if c.limits[scalehist.NameOf(o)] = o; gone {
			delete(c.limits, scalehist.NameOf(o))
		}
	case *vpav1.VerticalPodAutoscalerCheckpoint:
		if c.vpas[types.NamespacedName{Namespace: o.Namespace, Name: o.Spec.VPAObjectName}] == nil || !ch.At.Equal(c.env.Start) {
			return nil // of an autoscaler that is gone, or what the recorded recommender kept of its own later
		}
		return c.recommender.LoadCheckpoint(o)
	case *vpav1.VerticalPodAutoscaler:
		if gone {
			delete(c.vpas, scalehist.NameOf(o))
			c.recommender.RemoveVPA(scalehist.NameOf(o))
			return nil
		}
		return c.set(o)
	}
	return nil
}

// set takes in an autoscaler that is there from now on, or its new specification.
func (c *vpaController) set(o *vpav1.VerticalPodAutoscaler) error {
	name := scalehist.NameOf(o)
	ref := o.Spec.TargetRef
	if ref == nil {
		return fmt.Errorf("%s has no targetRef", verticalName(o))
	}
	next := &verticalObject{object: o.DeepCopy(), target: scalehist.WorkloadRef{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: o.Namespace, Name: ref.Name}}
	if known := c.vpas[name]; known != nil {
		next.object.Status = known.object.Status // ours, not the recorded one
		if known.target == next.target {
			next.selector, next.taken = known.selector, known.taken
		}
	} else {
		next.object.Status = vpav1.VerticalPodAutoscalerStatus{}
	}
	c.vpas[name] = next
	for _, other := range c.inOrder() {
		if other.target == next.target && scalehist.NameOf(other.object) != name {
			c.env.Warn(fmt.Sprintf("%s and %s are about the same workload, %s: the older one acts", verticalName(other.object), verticalName(o), next.target))
		}
	}
	w, err := c.env.Workloads.Target(next.target)
	if errors.Is(err, scalehist.ErrNoWorkload) {
		c.env.Warn(fmt.Sprintf("%s: its target %s is not there when it comes; there are %s", verticalName(o), next.target, someTargets(c.env.Workloads)))
	}
	if vpautil.HasStartupBoost(o) && !c.flags.CPUStartupBoost {
		c.env.Warn(fmt.Sprintf("%s has a startupBoost, which does nothing: the feature gate is off (feature-gates=%s=true)", verticalName(o), features.CPUStartupBoost))
	}
	if !c.env.Meter.Has(next.target) {
		c.env.Warn(fmt.Sprintf("%s: there is no load of %s, neither recorded usage nor a given one: nothing can be recommended", verticalName(o), next.target))
	}
	return c.meet(next, w, err == nil)
}

// warnOfHorizontal warns of workloads whose replicas follow a resource that an autoscaler sets the requests of.
func (c *vpaController) warnOfHorizontal() {
	for _, o := range c.env.Objects {
		h, ok := o.(*autoscalingv2.HorizontalPodAutoscaler)
		if !ok {
			continue
		}
		for _, v := range c.inOrder() {
			if v.target.Key() != targetOf(h).Key() {
				continue
			}
			for i := range h.Spec.Metrics {
				if m := &h.Spec.Metrics[i]; m.Resource != nil && m.Resource.Target.AverageUtilization != nil && c.sets(v, m.Resource.Name) {
					c.env.Warn(fmt.Sprintf("%s sets the %s that pods of %s request, and %s scales by the share they use of it: each undoes what the other does",
						verticalName(v.object), m.Resource.Name, v.target, nameOf(h)))
				}
			}
		}
	}
}

// acts says whether new pods get what is recommended, or a start-up boost.
func (c *vpaController) acts(v *verticalObject) bool { return v.applies() || c.flags.Boosts(v.object) }

// applies says whether new pods get what is recommended.
func (v *verticalObject) applies() bool {
	return vpautil.GetUpdateMode(v.object) != vpav1.UpdateModeOff
}

// sets says whether requests of a resource become what is recommended, or are boosted.
func (c *vpaController) sets(v *verticalObject, name corev1.ResourceName) bool {
	return v.applies() && v.controls(name) || name == corev1.ResourceCPU && c.flags.Boosts(v.object)
}

// controls says whether a resource of any container is recommended.
func (v *verticalObject) controls(name corev1.ResourceName) bool {
	if v.object.Spec.ResourcePolicy == nil || len(v.object.Spec.ResourcePolicy.ContainerPolicies) == 0 {
		return true
	}
	return slices.ContainsFunc(v.object.Spec.ResourcePolicy.ContainerPolicies, func(p vpav1.ContainerResourcePolicy) bool {
		return (p.Mode == nil || *p.Mode != vpav1.ContainerScalingModeOff) && (p.ControlledResources == nil || slices.Contains(*p.ControlledResources, name))
	})
}

func verticalName(o *vpav1.VerticalPodAutoscaler) string {
	return "VerticalPodAutoscaler/" + o.Namespace + "/" + o.Name
}

// inOrder are the autoscalers by namespace and name.
func (c *vpaController) inOrder() []*verticalObject {
	out := slices.Collect(maps.Values(c.vpas))
	slices.SortFunc(out, func(a, b *verticalObject) int {
		return cmp.Or(cmp.Compare(a.object.Namespace, b.object.Namespace), cmp.Compare(a.object.Name, b.object.Name))
	})
	return out
}

// meet hands an autoscaler to the recommender, with the selector of its target, and takes the requests of its pods.
func (c *vpaController) meet(v *verticalObject, w scalehist.Workload, there bool) error {
	if there && c.acts(v) && !v.taken {
		if err := c.env.Workloads.TakeRequests(c.name, v.target); err != nil {
			return err
		}
		v.taken = true
	}
	selector := v.selector
	if there {
		parsed, err := v.selectorIn(w)
		if err != nil {
			return err
		}
		if parsed != nil {
			selector = parsed
		}
	}
	same := selector == nil && v.selector == nil || selector != nil && v.selector != nil && selector.String() == v.selector.String()
	if v.set && same {
		return nil
	}
	v.selector, v.set = selector, true
	return c.recommender.SetVPA(v.object, selector)
}

// selectorIn is the selector of the target; nil where it is not known.
func (v *verticalObject) selectorIn(w scalehist.Workload) (labels.Selector, error) {
	text := selectorOf(w)
	if text == "" {
		return nil, nil
	}
	parsed, err := labels.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: the selector of %s: %w", verticalName(v.object), v.target, err)
	}
	return parsed, nil
}

// Run implements scalehist.Controller.
func (c *vpaController) Run(ctx context.Context, now time.Time) (scalehist.WorkloadDecision, error) {
	out := scalehist.WorkloadDecision{At: now.UTC(), Controller: c.name}
	targets := c.env.Workloads.Targets()
	if !now.Before(c.nextRecommender) {
		c.nextRecommender = now.Add(c.flags.RecommenderInterval)
		changed, err := c.recommend(ctx, now, targets)
		if err != nil {
			return out, err
		}
		out.Resizes = append(out.Resizes, changed...)
	}
	if !now.Before(c.nextUpdater) {
		c.nextUpdater = now.Add(c.flags.UpdaterInterval)
		out.Resizes = append(out.Resizes, c.update(ctx, now, targets)...)
	}
	return out, context.Cause(ctx)
}

// recommend is one turn of the recommender: it reads pods and usage, and writes the status of the autoscalers. It returns what is recommended otherwise
// than before.
func (c *vpaController) recommend(ctx context.Context, now time.Time, targets []scalehist.Workload) ([]scalehist.WorkloadResize, error) {
	for _, v := range c.inOrder() {
		w, err := c.env.Workloads.Target(v.target)
		if err := c.meet(v, w, err == nil); err != nil {
			return nil, err
		}
	}
	seen := map[types.NamespacedName]bool{}
	for i := range targets {
		w := &targets[i]
		for _, p := range w.Pods {
			seen[scalehist.NameOf(p)] = true
			if err := c.observe(now, w, p); err != nil {
				return nil, err
			}
		}
	}
	for name := range c.pods {
		if !seen[name] {
			delete(c.pods, name)
			c.recommender.RemovePod(name)
		}
	}
	var out []scalehist.WorkloadResize
	list, err := c.recommender.Recommend(ctx, now)
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		v := c.vpas[r.VPA]
		if changed := recommended(v, &r.Status); changed != nil {
			out = append(out, *changed)
		}
		v.object.Status = r.Status
	}
	c.recommender.GarbageCollect(now, func(o *vpav1.VerticalPodAutoscaler) bool {
		_, err := c.env.Workloads.Target(c.vpas[scalehist.NameOf(o)].target)
		return err == nil
	})
	return out, nil
}

// observe hands a pod, what it used since the last turn, and what it lived through, to the recommender.
func (c *vpaController) observe(now time.Time, w *scalehist.Workload, p *corev1.Pod) error {
	name := scalehist.NameOf(p)
	known := c.pods[name]
	if known == nil || known.object.UID != p.UID {
		known = &observed{measured: map[string]time.Time{}, restarts: map[string]int32{}}
		c.pods[name] = known
	}
	if known.object != p {
		c.recommender.SetPod(p, now)
		known.object = p
	}
	if p.Status.Phase == corev1.PodPending {
		return nil // it is not tracked
	}
	for i := range p.Spec.Containers {
		container := p.Spec.Containers[i].Name
		for _, metric := range []string{load.CPU, load.Memory} {
			value, at, ok := c.env.Meter.Usage(now, w.WorkloadRef, p, container, metric)
			if key := container + "/" + metric; ok && at.After(known.measured[key]) {
				known.measured[key] = at
				if err := c.recommender.Observe(name, container, at, usage(metric, value)); err != nil {
					return err
				}
			}
		}
	}
	for i := range p.Status.ContainerStatuses {
		s := &p.Status.ContainerStatuses[i]
		if end := s.LastTerminationState.Terminated; s.RestartCount > known.restarts[s.Name] && end != nil && end.Reason == "OOMKilled" {
			if err := c.recommender.OOM(name, s.Name, end.FinishedAt.Time, p.Spec.Containers[i].Resources.Requests[corev1.ResourceMemory]); err != nil {
				// One that is noticed after the memory interval that it fell into is not counted: upstream logs a warning, and goes on.
				c.env.Warn(fmt.Sprintf("%s: %s", vpaName, err))
			}
		}
		known.restarts[s.Name] = s.RestartCount
	}
	return nil
}

// usage is a sample as the metrics API has it.
func usage(metric string, value float64) corev1.ResourceList {
	if metric == load.CPU {
		return corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(milli(value), resource.DecimalSI)}
	}
	return corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(int64(value), resource.BinarySI)}
}

// recommended says what a new recommendation changes of the targets; nil for nothing.
func recommended(v *verticalObject, status *vpav1.VerticalPodAutoscalerStatus) *scalehist.WorkloadResize {
	out := scalehist.WorkloadResize{Workload: v.target, By: verticalName(v.object), Action: scalehist.Recommended}
	for _, r := range status.Recommendation.ContainerRecommendations {
		var was corev1.ResourceList
		if old := vpautil.GetRecommendationForContainer(r.ContainerName, v.object.Status.Recommendation); old != nil {
			was = old.Target
		}
		if differ(was, r.Target) {
			out.Containers = append(out.Containers, scalehist.ContainerResize{Name: r.ContainerName, From: was, To: r.Target, Lower: r.LowerBound, Upper: r.UpperBound})
		}
	}
	if len(out.Containers) == 0 {
		return nil
	}
	return &out
}

func differ(a, b corev1.ResourceList) bool {
	for name, q := range b {
		if was, ok := a[name]; !ok || was.Cmp(q) != 0 {
			return true
		}
	}
	return len(a) != len(b)
}

// update is one turn of the updater.
func (c *vpaController) update(ctx context.Context, now time.Time, targets []scalehist.Workload) []scalehist.WorkloadResize {
	objects := c.objects()
	objects.Controllers = map[vpa.Controller]vpa.ControllerState{}
	of := map[types.NamespacedName]scalehist.WorkloadRef{}
	for i := range targets {
		w := &targets[i]
		for _, p := range w.Pods {
			of[scalehist.NameOf(p)] = w.WorkloadRef
			addControllers(objects.Controllers, w, p)
		}
		objects.Pods = append(objects.Pods, w.Pods...)
	}
	var out []scalehist.WorkloadResize
	for _, a := range c.updater.Update(now, objects, func(a vpa.Action) error {
		if a.Kind == vpa.Resize {
			return c.env.Workloads.Resize(ctx, a.Resized())
		}
		return c.env.Workloads.Evict(ctx, a.Pod.Namespace, a.Pod.Name)
	}) {
		r := c.acted(&a)
		r.Workload = of[scalehist.NameOf(a.Pod)]
		if id := string(a.Pod.UID) + string(a.Kind); r.Error == "" {
			delete(c.refused, id)
		} else if c.refused[id] == r.Error {
			continue // as in the last turn
		} else {
			c.refused[id] = r.Error
		}
		out = append(out, r)
	}
	return out
}

// acted puts an action into the words of reports.
func (c *vpaController) acted(a *vpa.Action) scalehist.WorkloadResize {
	v := c.vpas[a.VPA]
	out := scalehist.WorkloadResize{By: verticalName(v.object), Action: scalehist.Evicted, Pod: a.Pod.Name, Reason: string(a.Reason)}
	if a.Kind == vpa.Resize {
		out.Action = scalehist.Resized
	}
	if a.Fallback {
		out.Reason += "; it cannot be resized in place"
	}
	if a.Err != nil {
		out.Error = a.Err.Error()
	}
	for i := range a.Pod.Spec.Containers {
		spec := &a.Pod.Spec.Containers[i]
		r := scalehist.ContainerResize{Name: spec.Name, From: spec.Resources.Requests}
		if a.Kind == vpa.Resize && i < len(a.Resources) {
			r.To = a.Resources[i].Requests
		} else if target := vpautil.GetRecommendationForContainer(spec.Name, v.object.Status.Recommendation); target != nil {
			r.To = target.Target
		}
		if differ(r.From, r.To) {
			out.Containers = append(out.Containers, r)
		}
	}
	return out
}

// objects are what the updater and the webhook see of the cluster, without pods and what owns them.
func (c *vpaController) objects() vpa.Objects {
	var out vpa.Objects
	for _, v := range c.inOrder() {
		out.VPAs = append(out.VPAs, vpa.VPA{Object: v.object, Selector: v.selector})
	}
	for _, l := range c.limits {
		out.LimitRanges = append(out.LimitRanges, l) // in any order: their names decide
	}
	return out
}

// addControllers notes what owns a pod of a workload.
func addControllers(all map[vpa.Controller]vpa.ControllerState, w *scalehist.Workload, p *corev1.Pod) {
	top := vpa.Controller{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}
	all[top] = vpa.ControllerState{Replicas: int(w.Replicas)}
	for i := range p.OwnerReferences {
		o := &p.OwnerReferences[i]
		direct := vpa.Controller{Kind: o.Kind, Namespace: p.Namespace, Name: o.Name}
		if o.Controller != nil && *o.Controller && direct != top {
			all[direct] = vpa.ControllerState{Parent: &top, Replicas: int(w.Replicas)}
		}
	}
}

// Admit implements scalehist.Admitter.
func (c *vpaController) Admit(now time.Time, p *corev1.Pod) *corev1.Pod {
	ref, owned := c.env.Workloads.OwnerOf(p)
	if !owned {
		return p
	}
	w, err := c.env.Workloads.Target(ref)
	if err != nil {
		w = scalehist.Workload{WorkloadRef: ref, Pods: []*corev1.Pod{p}} // its first
	}
	selected := false
	for _, v := range c.inOrder() {
		if v.selector == nil && v.target.Key() == ref.Key() {
			if v.selector, err = v.selectorIn(w); err != nil {
				continue // the next turn of the recommender says so
			}
			v.set = false // that turn hands it over
		}
		selected = selected || v.selector != nil && c.acts(v) && vpautil.PodLabelsMatchVPA(p.Namespace, labels.Set(p.Labels), v.object.Namespace, v.selector)
	}
	if !selected {
		return p
	}
	c.admission = c.objects()
	c.admission.Controllers = map[vpa.Controller]vpa.ControllerState{}
	addControllers(c.admission.Controllers, &w, p)
	return c.admitter.Admit(now, p)
}

// Kept are the autoscalers with their recommendations, and their checkpoints, as the recommender would find them after a restart.
func (c *vpaController) Kept(now time.Time) ([]scalehist.Object, error) {
	var out []scalehist.Object
	for _, v := range c.inOrder() {
		o := v.object.DeepCopy()
		o.SetGroupVersionKind(vpav1.SchemeGroupVersion.WithKind("VerticalPodAutoscaler"))
		out = append(out, o)
	}
	checkpoints, err := c.recommender.Checkpoints(now)
	for _, o := range checkpoints {
		o.SetGroupVersionKind(vpav1.SchemeGroupVersion.WithKind("VerticalPodAutoscalerCheckpoint"))
		out = append(out, o)
	}
	return out, err
}
