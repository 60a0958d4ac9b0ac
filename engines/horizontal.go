package engines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	hpametrics "k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/recommender/horizontal/hpa"
)

// hpaName is the horizontal pod autoscaler of kube-controller-manager.
const hpaName = "hpa"

// horizontals are the controllers of replicas by name, in the order in which help lists them; that of the harness is nil. A new one enters here.
var horizontals = []struct {
	name string
	new  harness.NewController
}{
	{elastiName, Elasti()},
	{hpaName, HPA(hpa.Defaults())},
	{kedaName, KEDA(hpa.Defaults())},
	{harness.Recorded, nil},
}

// HorizontalNames are the controllers of replicas that Horizontal knows.
func HorizontalNames() []string {
	var names []string
	for _, h := range horizontals {
		names = append(names, h.name)
	}
	return names
}

// Horizontal is the controller of replicas of a name; nil for the one of the harness.
func Horizontal(name string) (harness.NewController, error) {
	for _, h := range horizontals {
		if h.name == name {
			return h.new, nil
		}
	}
	return nil, fmt.Errorf("unknown horizontal autoscaler %q: choose one of %s", name, strings.Join(HorizontalNames(), ", "))
}

// Controls are the options for what settings say about controllers: their names, and the files of objects and of load, which path finds.
func Controls(s *harness.Settings, path func(string) string) ([]harness.Option, error) {
	return ControlsWith(s, path, nil)
}

// ControlsWith is Controls with other values of fields of the objects.
func ControlsWith(s *harness.Settings, path func(string) string, set []FieldValue) ([]harness.Option, error) {
	var out []harness.Option
	if s.Objects == "" && len(set) > 0 {
		return nil, fmt.Errorf("%s: there are no objects to change: give them (objects)", set[0].Field)
	}
	if s.Objects != "" {
		data, err := os.ReadFile(path(s.Objects))
		if err != nil {
			return nil, fmt.Errorf("objects: %w", err)
		}
		objects, err := ParseObjectsWith(data, set)
		if err != nil {
			return nil, fmt.Errorf("objects: %s: %w", s.Objects, err)
		}
		out = append(out, harness.WithObjects(objects...))
	}
	if s.Load != "" {
		data, err := os.ReadFile(path(s.Load))
		if err != nil {
			return nil, fmt.Errorf("load: %w", err)
		}
		source, err := load.Parse(data)
		if err != nil {
			return nil, fmt.Errorf("load: %s: %w", s.Load, err)
		}
		out = append(out, harness.WithLoad(source))
	}
	if s.Vertical != "" {
		sizer, err := Vertical(s.Vertical, s.VerticalFlags...)
		if err != nil {
			return nil, err
		}
		if sizer != nil {
			out = append(out, harness.WithController(sizer))
		}
	}
	if s.Horizontal == "" {
		if s.Vertical == "" && s.Objects != "" {
			return nil, errors.New("objects: there is no controller that would read them: choose one (vertical, horizontal)")
		}
		return out, nil
	}
	horizontal, err := Horizontal(s.Horizontal)
	if err != nil {
		return nil, err
	}
	if horizontal != nil {
		out = append(out, harness.WithController(horizontal))
	}
	return out, nil
}

// HPA is the horizontal pod autoscaler, for every HorizontalPodAutoscaler among the objects.
func HPA(options hpa.Options) harness.NewController {
	return func(env harness.ControllerEnv) (scalehist.Controller, error) {
		c := &hpaController{env: env, taken: map[scalehist.WorkloadRef]bool{}, calm: map[scalehist.WorkloadRef]bool{}, targets: map[string]scalehist.WorkloadRef{}}
		var err error
		if c.Controller, err = hpa.NewController(options, c); err != nil {
			return nil, err
		}
		for _, o := range env.Objects {
			if object, ok := o.(*autoscalingv2.HorizontalPodAutoscaler); ok {
				if err := c.set(env.Start, object); err != nil {
					return nil, err
				}
			}
		}
		if _, ok := c.Next(); !ok {
			return nil, errors.New("hpa: there is no HorizontalPodAutoscaler at the start, neither recorded nor given (objects): nothing would be scaled")
		}
		return c, nil
	}
}

// set takes in an autoscaler that is there from now on, or its new specification.
func (c *hpaController) set(now time.Time, object *autoscalingv2.HorizontalPodAutoscaler) error {
	target, name := targetOf(object), nameOf(object)
	for other, t := range c.targets {
		if t == target && other != name {
			return fmt.Errorf("%s and %s scale the same workload, %s: Kubernetes acts for neither (AmbiguousSelector); keep one", other, name, target)
		}
	}
	known := c.targets[name] == target
	c.targets[name] = target
	if err := c.Set(now, object); err != nil {
		return err
	}
	if known {
		return nil
	}
	if target.Kind == "DaemonSet" {
		c.env.Warn(fmt.Sprintf("%s: its target %s has no scale: it has a pod for each node, and stays so", name, target))
	} else if _, err := c.env.Workloads.Target(target); errors.Is(err, scalehist.ErrNoWorkload) {
		c.env.Warn(fmt.Sprintf("%s: its target %s is not there when it comes; there are %s", name, target, someTargets(c.env.Workloads)))
	}
	return c.take(name, target)
}

// Configure takes in a recorded change of an autoscaler.
func (c *hpaController) Configure(ch scalehist.Change) error {
	object, ok := ch.Object.(*autoscalingv2.HorizontalPodAutoscaler)
	switch {
	case !ok:
		return nil
	case ch.Op == scalehist.OpDelete:
		delete(c.targets, nameOf(object))
		c.Remove(scalehist.NameOf(object))
		return nil
	}
	return c.set(ch.At, object)
}

// someTargets lists the workloads there are, the first five of them.
func someTargets(w scalehist.Workloads) string {
	const most = 5
	var out []string
	for i, t := range w.Targets() {
		if i == most {
			out = append(out, "and others")
			break
		}
		out = append(out, t.WorkloadRef.String())
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// hpaController runs the autoscalers of a replay.
type hpaController struct {
	asker
	*hpa.Controller
	env harness.ControllerEnv
	// targets are those of the autoscalers, by their names; taken those whose replicas are theirs.
	targets map[string]scalehist.WorkloadRef
	taken   map[scalehist.WorkloadRef]bool
	// calm are the targets about which the last sync had nothing to say.
	calm map[scalehist.WorkloadRef]bool
	// read are the autoscalers of one run, in the order of their syncs.
	read []*autoscalingv2.HorizontalPodAutoscaler
	ctx  context.Context // of the run
	now  time.Time
}

func targetOf(o *autoscalingv2.HorizontalPodAutoscaler) scalehist.WorkloadRef {
	ref := o.Spec.ScaleTargetRef
	return scalehist.WorkloadRef{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: o.Namespace, Name: ref.Name}
}

func nameOf(o *autoscalingv2.HorizontalPodAutoscaler) string {
	return "HorizontalPodAutoscaler/" + o.Namespace + "/" + o.Name
}

// Name implements scalehist.Controller.
func (c *hpaController) Name() string { return hpaName }

// take makes the replicas of a target the autoscaler's, if the target is there.
func (c *hpaController) take(name string, target scalehist.WorkloadRef) error {
	if c.taken[target] {
		return nil
	}
	err := c.env.Workloads.TakeOver(hpaName, target)
	switch {
	case errors.Is(err, scalehist.ErrNoWorkload):
		return nil // it may come
	case err != nil:
		return err
	}
	c.taken[target] = true
	if !c.env.Meter.Has(target) {
		c.env.Warn(fmt.Sprintf("%s: there is no load of %s, neither recorded usage nor a given one: resource metrics of it cannot be read, and its replicas stay as they are", name, target))
	}
	return nil
}

// Read implements hpa.Cluster.
func (c *hpaController) Read(object *autoscalingv2.HorizontalPodAutoscaler) (hpa.Target, hpa.Metrics) {
	c.read = append(c.read, object)
	target := targetOf(object)
	err := c.take(nameOf(object), target)
	w, missing := c.env.Workloads.Target(target)
	if missing == nil && err == nil && !c.taken[target] {
		missing = fmt.Errorf("%s has no scale: %w", target, scalehist.ErrNoWorkload)
	}
	return hpa.Target{
		SpecReplicas: w.Replicas, StatusReplicas: w.Current, Selector: selectorOf(w), Pods: w.Pods, Err: cmp.Or(err, missing),
		Update: func(replicas int32) error { return c.env.Workloads.Scale(c.ctx, target, replicas) },
	}, &hpaMetrics{&c.asker, c.env.Meter, c.now, w}
}

// Run implements scalehist.Controller.
func (c *hpaController) Run(ctx context.Context, now time.Time) (scalehist.WorkloadDecision, error) {
	c.ctx, c.now, c.read = ctx, now, nil
	out := scalehist.WorkloadDecision{At: now.UTC(), Controller: hpaName}
	decisions := c.Controller.Run(now)
	for i := range decisions {
		d, target := &decisions[i], targetOf(c.read[i])
		calm := d.Calm()
		if calm && c.calm[target] {
			continue // a report would leave it out
		}
		c.calm[target] = calm
		out.Scales = append(out.Scales, scaled(c.read[i], d))
	}
	return out, nil
}

// Kept are the autoscalers with their status. What the controller remembers beside it, a restart of it forgets.
func (c *hpaController) Kept(time.Time) (out []scalehist.Object, _ error) {
	for _, o := range c.Objects() {
		o.SetGroupVersionKind(autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"))
		out = append(out, o)
	}
	return out, nil
}

// selectorOf is the selector of a workload's scale. Where its object was not recorded, the labels of its pods stand for it.
func selectorOf(w scalehist.Workload) string {
	if w.Selector != nil {
		return w.Selector.String()
	}
	if len(w.Pods) == 0 {
		return ""
	}
	own := labels.Set{}
	for k, v := range w.Pods[0].Labels {
		if k != "pod-template-hash" && k != corev1.LabelTopologyZone && k != corev1.LabelTopologyRegion {
			own[k] = v
		}
	}
	return own.String()
}

// scaled puts a sync into the words of reports.
func scaled(o *autoscalingv2.HorizontalPodAutoscaler, d *hpa.Decision) scalehist.WorkloadScale {
	out := scalehist.WorkloadScale{Workload: targetOf(o), By: nameOf(o), From: d.From, To: d.From, Reason: d.Reason}
	if d.Rescaled {
		out.To = d.To
	}
	if out.Reason == "" && d.Error != "" {
		out.Reason = d.Error
	}
	for _, l := range d.Limits {
		text := fmt.Sprintf("%s: %d -> %d", l.By, l.From, l.To)
		if l.Detail != "" {
			text += " (" + l.Detail + ")"
		}
		out.Limited = append(out.Limited, text)
	}
	for i := range d.Metrics {
		out.Metrics = append(out.Metrics, reading(&d.Metrics[i]))
	}
	return out
}

// reading is a metric as a report shows it.
func reading(m *hpa.Metric) scalehist.MetricReading {
	out := scalehist.MetricReading{Metric: m.Name, Proposal: m.Proposal, Error: m.Error}
	current, target := m.Current(), m.Target()
	out.Target = shown(target.AverageUtilization, target.AverageValue, target.Value)
	out.Value = shown(current.AverageUtilization, current.AverageValue, current.Value)
	return out
}

// shown is the one of three forms that a metric is in; empty where it is in none.
func shown(utilization *int32, average, value *resource.Quantity) string {
	if utilization != nil {
		return fmt.Sprintf("%d%%", *utilization)
	}
	if q := cmp.Or(average, value); q != nil {
		return q.String()
	}
	return ""
}

// hpaMetrics are the metrics APIs of a replay, for the pods of one workload.
type hpaMetrics struct {
	asker *asker
	meter *load.Meter
	now   time.Time
	w     scalehist.Workload
}

// Resource implements hpa.Metrics.
func (m *hpaMetrics) Resource(name corev1.ResourceName, container string) (hpametrics.PodMetricsInfo, error) {
	out := m.perPod(container, string(name))
	if err := m.failure(string(name)); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, errors.New("no metrics returned from resource metrics API")
	}
	return out, nil
}

// Pods implements hpa.Metrics.
func (m *hpaMetrics) Pods(metric autoscalingv2.MetricIdentifier) (hpametrics.PodMetricsInfo, error) {
	out := m.perPod("", metric.Name)
	if err := m.failure(metric.Name); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, errors.New("no metrics returned from custom metrics API")
	}
	return out, nil
}

func (m *hpaMetrics) perPod(container, metric string) hpametrics.PodMetricsInfo {
	out := hpametrics.PodMetricsInfo{}
	for _, p := range m.w.Pods {
		if v, at, ok := m.meter.Usage(m.now, m.w.WorkloadRef, p, container, metric); ok {
			out[p.Name] = hpametrics.PodMetric{Timestamp: at, Window: load.Resolution, Value: milli(v)}
		}
	}
	return out
}

// Object implements hpa.Metrics: a load names metrics by namespace, not by the object that they describe.
func (m *hpaMetrics) Object(_ autoscalingv2.CrossVersionObjectReference, metric autoscalingv2.MetricIdentifier) (int64, error) {
	values, err := m.External(metric)
	switch {
	case err != nil:
		return 0, err
	case len(values) > 1:
		return 0, fmt.Errorf("the load has metric %s of several workloads of namespace %s", metric.Name, m.w.Namespace)
	}
	return values[0], nil
}

// External implements hpa.Metrics.
func (m *hpaMetrics) External(metric autoscalingv2.MetricIdentifier) ([]int64, error) {
	if err := m.failure(metric.Name); err != nil {
		return nil, err
	}
	values, err := m.asker.ask(m.meter, []string{m.w.Namespace}, metric.Name, m.now)
	if err != nil {
		return nil, err
	}
	var out []int64
	for _, v := range values {
		out = append(out, milli(v))
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the load has no metric %s in namespace %s now", metric.Name, m.w.Namespace)
	}
	return out, nil
}

// milli is a value in thousandths, rounded up as quantities are. They have no NaN: adapters of Prometheus make 0 of it
// (https://github.com/kubernetes-sigs/prometheus-adapter, pkg/custom-provider).
func milli(v float64) int64 {
	if math.IsNaN(v) {
		return 0
	}
	return int64(math.Ceil(v*1000 - 1e-6))
}
