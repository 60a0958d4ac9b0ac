package hpa_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	hpametrics "k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist/recommender/horizontal/hpa"
)

// dice draws everything of a curve from one seed.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 14))} }

// chance is true p times of 100.
func (d dice) chance(p int) bool { return d.IntN(100) < p }

// between is a number from low to high, both included.
func (d dice) between(low, high int) int { return low + d.IntN(high-low+1) }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// options draws flags and gates. Most are the defaults: what is rare in a cluster must not hide what is usual.
func (d dice) options() hpa.Options {
	o := hpa.Defaults()
	if d.chance(40) {
		o.SyncPeriod = pick(d, 5*time.Second, 10*time.Second, 30*time.Second)
		o.DownscaleStabilization = pick(d, 0, time.Minute, 90500*time.Millisecond, 2*time.Minute)
		o.Tolerance = pick(d, 0, 0.05, 0.2, 0.5)
		o.CPUInitializationPeriod = pick(d, 0, time.Minute, 2*time.Minute)
		o.InitialReadinessDelay = pick(d, 0, 10*time.Second, time.Minute)
	}
	o.ScaleToZero = d.chance(40)
	o.ConfigurableTolerance = d.chance(85)
	o.PodLevelResources = d.chance(75)
	return o
}

// object draws an autoscaler for a workload.
func (d dice) object(name, target string) *autoscalingv2.HorizontalPodAutoscaler {
	h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: d.spec(target)}
	if d.chance(25) {
		h.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{
			Type: autoscalingv2.ScaledToZero, Status: pick(d, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse), Reason: "Earlier",
		}}
		h.Status.ObservedGeneration = ptr.To[int64](3)
	}
	return h
}

// spec draws a spec that an API server stores.
func (d dice) spec(target string) autoscalingv2.HorizontalPodAutoscalerSpec {
	s := autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: target},
	}
	if d.chance(2) {
		s.ScaleTargetRef.APIVersion = "apps/v1/beta"
	}
	for range pick(d, 0, 1, 1, 1, 1, 2, 2, 3) {
		s.Metrics = append(s.Metrics, d.metric())
	}
	d.sizes(&s)
	return s
}

// sizes draws what bounds and slows the changes of size, and leaves the metrics alone.
func (d dice) sizes(s *autoscalingv2.HorizontalPodAutoscalerSpec) {
	s.MinReplicas, s.Behavior = nil, nil
	least := 1
	if d.chance(80) {
		least = d.between(1, 4)
		for _, m := range s.Metrics {
			if (m.Object != nil || m.External != nil) && d.chance(50) {
				least = 0
			}
		}
		s.MinReplicas = ptr.To(int32(least))
	}
	s.MaxReplicas = int32(max(least, 1) + pick(d, 0, 1, 3, 8, 20, 60))
	if d.chance(60) {
		s.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{}
		if d.chance(75) {
			s.Behavior.ScaleUp = d.rules()
		}
		if d.chance(75) {
			s.Behavior.ScaleDown = d.rules()
		}
	}
}

func (d dice) rules() *autoscalingv2.HPAScalingRules {
	r := &autoscalingv2.HPAScalingRules{}
	if d.chance(60) {
		r.StabilizationWindowSeconds = ptr.To(int32(pick(d, 0, 15, 30, 47, 60, 120)))
	}
	if d.chance(50) {
		r.SelectPolicy = ptr.To(pick(d, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect, autoscalingv2.MinChangePolicySelect,
			autoscalingv2.DisabledPolicySelect))
	}
	if d.chance(60) {
		for range d.between(1, 3) {
			p := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: int32(d.between(1, 4))}
			if d.chance(50) {
				p.Type, p.Value = autoscalingv2.PercentScalingPolicy, int32(pick(d, 5, 10, 33, 50, 100, 200))
			}
			p.PeriodSeconds = int32(pick(d, 10, 15, 30, 60, 90, 300))
			r.Policies = append(r.Policies, p)
		}
	}
	if d.chance(40) {
		r.Tolerance = ptr.To(resource.MustParse(pick(d, "0", "0.02", "50m", "0.15", "0.3", "1")))
	}
	return r
}

// The metrics that a curve has values of. Names are of one space for all curves.
var (
	usages     = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}
	containers = []string{"app", "proxy", "agent"}
	podMetrics = []string{"queries", "sessions"}
	outside    = []string{"queue", "topic"}
)

func (d dice) metric() autoscalingv2.MetricSpec {
	average := func(typ autoscalingv2.MetricTargetType) autoscalingv2.MetricTarget {
		return autoscalingv2.MetricTarget{Type: typ, AverageValue: ptr.To(resource.MustParse(pick(d, "100m", "333m", "1", "2500m", "10")))}
	}
	value := autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: ptr.To(resource.MustParse(pick(d, "1", "7500m", "40")))}
	name := func(of []string) autoscalingv2.MetricIdentifier {
		id := autoscalingv2.MetricIdentifier{Name: pick(d, of...)}
		if d.chance(30) {
			id.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"shard": "a", "zone": "b"}}
		}
		if d.chance(2) {
			id.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "shard", Operator: "Near"}}}
		}
		return id
	}
	usage := func() autoscalingv2.MetricTarget {
		if d.chance(40) {
			return average(autoscalingv2.AverageValueMetricType)
		}
		return autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To(int32(pick(d, 30, 50, 80, 150)))}
	}
	switch pick(d, 0, 0, 0, 1, 2, 3, 4) {
	case 0:
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{Name: pick(d, corev1.ResourceCPU, corev1.ResourceCPU, corev1.ResourceMemory), Target: usage()}}
	case 1:
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ContainerResourceMetricSourceType, ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
			Name: pick(d, usages...), Container: pick(d, containers...), Target: usage()}}
	case 2:
		return autoscalingv2.MetricSpec{Type: autoscalingv2.PodsMetricSourceType,
			Pods: &autoscalingv2.PodsMetricSource{Metric: name(podMetrics), Target: average(autoscalingv2.AverageValueMetricType)}}
	case 3:
		o := &autoscalingv2.ObjectMetricSource{Metric: name(outside), Target: value,
			DescribedObject: autoscalingv2.CrossVersionObjectReference{APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Name: "front"}}
		switch {
		case d.chance(50):
			o.Target = average(autoscalingv2.AverageValueMetricType)
		case d.chance(4): // an API server stores it, and no controller can read it
			o.Target.Type = autoscalingv2.AverageValueMetricType
		}
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ObjectMetricSourceType, Object: o}
	default:
		e := &autoscalingv2.ExternalMetricSource{Metric: name(outside), Target: value}
		if d.chance(50) {
			e.Target = average(autoscalingv2.AverageValueMetricType)
		}
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: e}
	}
}

// life moves a workload and the load on it from one sync to the next.
type life struct {
	dice
	c    *cluster
	w    *workload
	load float64 // of all pods, in targets of one
	made int     // pods made so far
	// broken is how pods of this curve are made wrong, one way a curve: which of several is reported depends on the order of pods upstream.
	broken string
}

// newLife makes a workload with running pods.
func (d dice) newLife(c *cluster, name string, now time.Time) *life {
	l := &life{dice: d, c: c, w: &workload{name: name, selector: "app=" + name}, load: float64(d.between(1, 10)) / 2}
	if d.chance(15) {
		l.broken = pick(d, "request", "container", "pod request")
	}
	c.workloads[name] = l.w
	l.w.wanted = int32(pick(d, 0, 0, 1, 2, 3, 5, 8))
	for range l.w.wanted {
		p := l.pod(now.Add(-time.Duration(d.between(0, 600)) * time.Second))
		l.ready(p, p.Status.StartTime.Add(time.Duration(d.between(0, 60))*time.Second))
		l.w.pods = append(l.w.pods, p)
	}
	l.w.observed = l.w.wanted
	return l
}

// step changes what a sync sees.
func (l *life) step(now time.Time) {
	switch {
	case l.load == 0 && l.chance(80): // nothing to do takes a while, or nobody would scale to zero
	case l.chance(6):
		l.load = 0
	case l.load == 0, l.chance(10):
		l.load = float64(l.between(0, 40)) / 2
	case l.chance(50):
		l.load *= 0.7 + l.Float64()*0.6
	}
	if l.chance(3) { // somebody scales by hand
		l.w.wanted = int32(pick(l.dice, 0, 1, 2, 6, 15, 40))
	}
	l.movePods(now)
	l.w.observed = int32(len(l.w.pods))
	if l.chance(5) {
		l.w.observed = int32(pick(l.dice, 0, 1, len(l.w.pods)+2))
	}
	l.w.selector, l.w.scaleErr, l.w.updateErr = "app="+l.w.name, nil, nil
	if l.chance(2) {
		l.w.selector = pick(l.dice, "", "app in (", "tier=front", "tier=front")
	}
	if l.chance(2) {
		l.w.scaleErr = errors.New("the scale is away")
	}
	if l.chance(4) {
		l.w.updateErr = errors.New("the scale is fixed")
	}
	l.measure(now)
}

// movePods starts, readies, breaks and ends pods on the way to what is wanted. Pods are made again where they change, as informers do.
func (l *life) movePods(now time.Time) {
	var pods []*corev1.Pod
	alive := 0
	for _, p := range l.w.pods {
		if p.DeletionTimestamp != nil && l.chance(60) {
			continue
		}
		p = p.DeepCopy()
		switch {
		case p.Status.Phase == corev1.PodPending && l.chance(60):
			p.Status.Phase = corev1.PodRunning
			p.Status.StartTime = ptr.To(metav1.NewTime(now.Add(-time.Duration(l.between(0, 10)) * time.Second)))
			l.ready(p, now)
			p.Status.Conditions[0].Status = corev1.ConditionFalse
		case p.Status.Phase == corev1.PodRunning && len(p.Status.Conditions) > 0 && l.chance(20):
			want := corev1.ConditionTrue
			if l.chance(25) {
				want = pick(l.dice, corev1.ConditionFalse, corev1.ConditionUnknown)
			}
			if c := &p.Status.Conditions[0]; c.Status != want {
				c.Status, c.LastTransitionTime = want, metav1.NewTime(now.Add(-time.Duration(l.between(0, 12))*time.Second))
			}
		case l.chance(2):
			p.Status.Phase = pick(l.dice, corev1.PodFailed, corev1.PodSucceeded)
		case l.chance(1):
			p.Status.StartTime = nil
		case l.chance(1):
			p.Status.Conditions = nil
		}
		if p.DeletionTimestamp == nil {
			if alive++; alive > int(l.w.wanted) && l.chance(80) {
				p.DeletionTimestamp = ptr.To(metav1.NewTime(now))
				alive--
			}
		}
		pods = append(pods, p)
	}
	for ; alive < int(l.w.wanted) && len(pods) < 80; alive++ {
		pods = append(pods, l.pod(now))
	}
	l.w.pods = pods
}

// pod makes a pending pod.
func (l *life) pod(now time.Time) *corev1.Pod {
	l.made++
	requests := func(cpu, memory string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}}
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", l.w.name, l.made), Labels: map[string]string{"app": l.w.name, "tier": "front"}},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{
				{Name: "setup", Resources: requests("2", "1")},
				{Name: "agent", Resources: requests("100m", "300m"), RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)},
			},
			Containers: []corev1.Container{{Name: "app", Resources: requests("500m", "2")}, {Name: "proxy", Resources: requests("250m", "500m")}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending, StartTime: ptr.To(metav1.NewTime(now))},
	}
	if l.chance(20) {
		p.Spec.Resources = ptr.To(requests("1500m", "3"))
	}
	if l.chance(5) {
		switch l.broken {
		case "request":
			delete(p.Spec.Containers[1].Resources.Requests, corev1.ResourceCPU)
		case "container":
			p.Spec.Containers = p.Spec.Containers[:1]
		case "pod request":
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("3")}}
			for i := range p.Spec.Containers {
				delete(p.Spec.Containers[i].Resources.Requests, corev1.ResourceCPU)
			}
			delete(p.Spec.InitContainers[0].Resources.Requests, corev1.ResourceCPU)
			delete(p.Spec.InitContainers[1].Resources.Requests, corev1.ResourceCPU)
		}
	}
	return p
}

// ready makes a pod a running one that is ready since.
func (l *life) ready(p *corev1.Pod, since time.Time) {
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)}}
}

// measure writes what the metrics APIs answer until the next step.
func (l *life) measure(now time.Time) {
	gone := func() error {
		if l.chance(4) {
			return errors.New("no metrics returned")
		}
		return nil
	}
	samples := func(target float64) answer {
		if err := gone(); err != nil {
			return answer{err: err}
		}
		a := answer{samples: hpametrics.PodMetricsInfo{}}
		n := max(1, len(l.w.pods))
		missing := pick(l.dice, 0, 0, 0, 20, 60, 100)
		for _, p := range l.w.pods {
			if l.chance(missing) {
				continue
			}
			value := target * l.load / float64(n)
			if l.chance(50) {
				value *= 0.5 + l.Float64()
			}
			a.samples[p.Name] = hpametrics.PodMetric{
				Timestamp: now.Add(-time.Duration(l.between(0, 45)) * time.Second), Window: pick(l.dice, 10*time.Second, 30*time.Second), Value: int64(value),
			}
		}
		if l.chance(5) {
			a.samples["stranger"] = hpametrics.PodMetric{Timestamp: now, Value: 12345}
		}
		return a
	}
	for _, r := range usages {
		for _, container := range append([]string{""}, containers...) {
			l.c.resources[fmt.Sprintf("app=%s %s %s", l.w.name, r, container)] = samples(float64(pick(l.dice, 400, 400, 1000)))
		}
	}
	for _, m := range podMetrics {
		l.c.podValues[fmt.Sprintf("app=%s %s", l.w.name, m)] = samples(1000)
	}
	for _, m := range outside {
		values := func() answer {
			if err := gone(); err != nil {
				return answer{err: err}
			}
			a := answer{values: []int64{int64(l.load * 1000)}}
			for l.chance(30) {
				a.values = append(a.values, int64(l.load*float64(l.between(-300, 500))))
			}
			if l.chance(2) {
				a.values = append(a.values, pick[int64](l.dice, -1e7, 1e13, 1<<62, 1<<62))
				a.values[0] = pick(l.dice, a.values[0], a.values[len(a.values)-1])
			}
			return a
		}
		l.c.objects["front "+m], l.c.externals[m] = values(), values()
	}
}
