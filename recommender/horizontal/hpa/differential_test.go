package hpa_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist/recommender/horizontal/hpa"
)

var firstSeed = flag.Uint64("seed", 1, "the first of the random curves")

// curves is how many random curves a run has.
func curves(t *testing.T, usual int) int {
	text, ok := os.LookupEnv("SCALEHIST_HPA_CURVES")
	if !ok {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("SCALEHIST_HPA_CURVES: %v", err)
	}
	return n
}

// TestDecidesLikeUpstream runs the real controller and ours over the same random curves and compares, at every sync, what they asked of
// the target, the status, the events and the error. Between syncs load, pods, metrics, the spec and the size from outside change.
//
//scalehist:unraced
func TestDecidesLikeUpstream(t *testing.T) {
	seen := coverage{}
	for i := range curves(t, 100) {
		seed := *firstSeed + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runCurve(t, seed, seen) })
		if t.Failed() {
			return // the first one is enough to read
		}
	}
	seen.check(t)
}

// runCurve compares both on the curve of a seed.
func runCurve(t *testing.T, seed uint64, seen coverage) {
	d := newDice(seed)
	o := d.options()
	c := newCluster()
	var l *life
	inLockstep(t, o, c, func() *autoscalingv2.HorizontalPodAutoscaler {
		l = d.newLife(c, "web", time.Now())
		return d.object("web", "web")
	}, func(p *pair) {
		for n := range d.between(10, 60) {
			if d.chance(8) {
				spec := d.spec("web")
				if d.chance(60) {
					spec = p.ours.Object().Spec
					d.sizes(&spec)
				}
				p.setSpec(spec)
			}
			seen.add(p.sync(fmt.Sprintf("seed %d, sync %d", seed, n), l.step))
		}
	})
}

// pair is the real controller and ours with one autoscaler.
type pair struct {
	t    *testing.T
	u    *controller
	ours *hpa.Scaler
	o    hpa.Options
}

// inLockstep runs both in a bubble, over a cluster and an object that are made there.
func inLockstep(t *testing.T, o hpa.Options, c *cluster, object func() *autoscalingv2.HorizontalPodAutoscaler, run func(*pair)) {
	setGates(t, o)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		h := object()
		u := startController(ctx, t, c, o)
		defer func() {
			cancel()
			u.objects.Broadcaster.Shutdown()
			synctest.Wait()
		}()
		ours, err := hpa.New(h, o)
		if err != nil {
			t.Fatal(err)
		}
		u.add(h)
		run(&pair{t, u, ours, o})
	})
}

func (p *pair) setSpec(spec autoscalingv2.HorizontalPodAutoscalerSpec) {
	p.t.Helper()
	if err := p.ours.SetSpec(spec); err != nil {
		p.t.Fatal(err)
	}
	p.u.setSpec("web", spec)
}

// sync waits for the next sync, changes the cluster just before it, and compares what both make of it. The test ends where they differ.
func (p *pair) sync(what string, change func(now time.Time)) hpa.Decision {
	p.t.Helper()
	// Ours reads what the real controller is about to read, a nanosecond later.
	time.Sleep(p.o.SyncPeriod - time.Nanosecond)
	synctest.Wait()
	now := time.Now().Add(time.Nanosecond)
	c, u := p.u.cluster, p.u
	u.Lock()
	defer u.Unlock()
	what = fmt.Sprintf("%s at %s", what, now.Format(time.TimeOnly))
	if c.workloads["web"].asked != nil || u.events["web"] != nil || u.errors != nil {
		p.t.Fatalf("%s: upstream did not wait for it", what)
	}
	change(now)
	u.showPods()
	var asked []int32
	target := c.target("web", &asked)
	got := p.ours.Reconcile(now, target, c.read(target.Selector))
	u.Unlock()
	time.Sleep(time.Nanosecond)
	synctest.Wait()
	u.Lock()
	compare(p.t, what, u, got, p.ours.Object(), asked)
	if p.t.Failed() {
		p.t.FailNow()
	}
	return got
}

// TestRulesChangeLikeUpstream: what a controller remembers of the changes of size was remembered for other rules than those it is read for.
func TestRulesChangeLikeUpstream(t *testing.T) {
	up := func(pods, seconds int32) autoscalingv2.HorizontalPodAutoscalerSpec {
		spec := web().Spec
		spec.MaxReplicas = 100
		spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: "queue"},
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: ptr.To(resource.MustParse("1"))},
		}}}
		spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleUp:   &autoscalingv2.HPAScalingRules{Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: pods, PeriodSeconds: seconds}}},
			ScaleDown: &autoscalingv2.HPAScalingRules{SelectPolicy: ptr.To(autoscalingv2.DisabledPolicySelect)},
		}
		return spec
	}
	// A stage is a number of syncs with some rules and some length of a queue, and the sizes at their ends.
	type stage struct {
		spec  autoscalingv2.HorizontalPodAutoscalerSpec
		queue int64
		want  []int32
	}
	for name, stages := range map[string][]stage{
		// 12 were added in 300 s, and none may be: nor are any removed for that.
		"a slower policy counts what a faster one added": {{up(4, 15), 50, []int32{5, 9, 13}}, {up(1, 300), 50, []int32{13, 13}}},
		// At 1m45s the first two changes are older than 15 s, and the second gives way to the third. The first counts again.
		"an outdated change counts again": {{up(1, 15), 50, []int32{2, 3}}, {up(1, 15), 0, []int32{3, 3, 3, 3}}, {up(1, 15), 50, []int32{4}}, {up(3, 300), 50, []int32{5}}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			c.workloads["web"] = &workload{name: "web", selector: "app=web", wanted: 1, observed: 1}
			inLockstep(t, hpa.Defaults(), c, func() *autoscalingv2.HorizontalPodAutoscaler {
				h := web()
				h.Spec = stages[0].spec
				return h
			}, func(p *pair) {
				for i, s := range stages {
					p.setSpec(s.spec)
					for n, want := range s.want {
						d := p.sync(fmt.Sprintf("stage %d, sync %d", i, n), func(time.Time) {
							c.workloads["web"].observed = c.workloads["web"].wanted
							c.externals["queue"] = answer{values: []int64{s.queue * 1000}}
						})
						if d.To != want {
							t.Errorf("stage %d, sync %d: %d replicas, want %d: %v", i, n, d.To, want, d.Why())
						}
					}
				}
			})
		})
	}
}

// setGates gives upstream the feature gates of some options for the rest of a test.
func setGates(t *testing.T, o hpa.Options) {
	featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, featuregatetesting.FeatureOverrides{
		features.HPAScaleToZero: o.ScaleToZero, features.HPAConfigurableTolerance: o.ConfigurableTolerance, features.PodLevelResources: o.PodLevelResources,
	})
}

var (
	podName = regexp.MustCompile(`(in|of) Pod \S+`)
	rivals  = regexp.MustCompile(`multiple HPAs: \[(.*)\]`)
)

// settled is a text without what upstream takes from a map: which of several pods it reports, and the order of autoscalers.
func settled(text string) string {
	text = podName.ReplaceAllString(text, "of a Pod")
	if m := rivals.FindStringSubmatchIndex(text); m != nil {
		names := strings.Fields(text[m[2]:m[3]])
		slices.Sort(names)
		text = text[:m[2]] + strings.Join(names, " ") + text[m[3]:]
	}
	return text
}

// compare reports where a sync of upstream differs from a decision of ours, which asked for some sizes and left an object.
func compare(t *testing.T, when string, u *controller, got hpa.Decision, object *autoscalingv2.HorizontalPodAutoscaler, asked []int32) {
	t.Helper()
	name := got.Autoscaler.Name
	want := u.stored[name]
	w := u.cluster.workloads[want.Spec.ScaleTargetRef.Name]
	events, errs := u.look(name)
	if diff := cmp.Diff(w.asked, asked); diff != "" {
		t.Errorf("%s: asked for other sizes (-upstream +ours):\n%s", when, diff)
	}
	w.asked = nil
	compareStatus(t, when, want, object)
	var ourEvents []hpa.Event
	for _, e := range got.Events {
		e.Message = settled(e.Message)
		ourEvents = append(ourEvents, e)
	}
	for i := range events {
		events[i].Message = settled(events[i].Message)
	}
	if diff := cmp.Diff(events, ourEvents); diff != "" {
		t.Errorf("%s: events differ (-upstream +ours):\n%s", when, diff)
	}
	var ourErrs []string
	if got.Error != "" {
		ourErrs = []string{settled(got.Error)}
	}
	for i := range errs {
		errs[i] = settled(errs[i])
	}
	if diff := cmp.Diff(errs, ourErrs); diff != "" {
		t.Errorf("%s: errors differ (-upstream +ours):\n%s", when, diff)
	}
	if got.Rescaled != (len(asked) > 0 && w.updateErr == nil) || got.Rescaled && got.To != w.wanted {
		t.Errorf("%s: the decision says %d to %d, rescaled %v; the target has %d", when, got.From, got.To, got.Rescaled, w.wanted)
	}
	if t.Failed() {
		t.Logf("the decision: %+v", got)
	}
}

// compareStatus reports where the status of two objects differs.
func compareStatus(t *testing.T, when string, upstream, ours *autoscalingv2.HorizontalPodAutoscaler) {
	t.Helper()
	statuses := []autoscalingv2.HorizontalPodAutoscalerStatus{*upstream.Status.DeepCopy(), *ours.Status.DeepCopy()}
	for _, s := range statuses {
		for i := range s.Conditions {
			s.Conditions[i].Message = settled(s.Conditions[i].Message)
		}
	}
	if !equality.Semantic.DeepEqual(statuses[0], statuses[1]) {
		t.Errorf("%s: the status of %s differs (-upstream +ours):\n%s", when, ours.Name, cmp.Diff(statuses[0], statuses[1]))
	}
}

func newCluster() *cluster {
	return &cluster{map[string]*workload{}, map[string]answer{}, map[string]answer{}, map[string]answer{}, map[string]answer{}}
}

// coverage counts what the curves of a run led to.
type coverage map[string]int

func (c coverage) add(d hpa.Decision) {
	c["syncs"]++
	switch {
	case d.Rescaled && d.To > d.From:
		c["scale-up"]++
	case d.Rescaled:
		c["scale-down"]++
	}
	for _, l := range d.Limits {
		c["limit "+l.By]++
	}
	for _, cond := range d.Conditions {
		c[fmt.Sprintf("%s %s", cond.Type, cond.Reason)]++
	}
	for _, m := range d.Metrics {
		c["metric "+string(m.Spec.Type)]++
		if m.Kept != "" {
			c[string(m.Kept)]++
		}
	}
}

// check reports outcomes that no curve led to: a comparison that never saw them proves nothing about them.
func (c coverage) check(t *testing.T) {
	t.Helper()
	for _, want := range []string{
		"scale-up", "scale-down", "within tolerance", "direction unclear",
		"limit ScaleUpStabilized", "limit ScaleDownStabilized", "limit ScaleUpLimit", "limit ScaleDownLimit", "limit TooManyReplicas", "limit TooFewReplicas",
		"metric Resource", "metric ContainerResource", "metric Pods", "metric Object", "metric External",
		"AbleToScale FailedGetScale", "AbleToScale FailedUpdateScale", "AbleToScale SucceededRescale", "AbleToScale ReadyForNewScale",
		"ScalingActive ScalingDisabled", "ScalingActive InvalidSelector", "ScalingActive ValidMetricFound", "ScalingActive FailedGetResourceMetric",
		"ScalingActive FailedGetContainerResourceMetric", "ScalingActive FailedGetPodsMetric", "ScalingActive FailedGetObjectMetric",
		"ScalingActive FailedGetExternalMetric", "ScaledToZero ScaledToZero", "ScaledToZero NotScaledToZero",
	} {
		if c[want] == 0 {
			t.Errorf("no curve of %d syncs led to %s", c["syncs"], want)
		}
	}
	t.Logf("%d syncs, %d scale-ups, %d scale-downs", c["syncs"], c["scale-up"], c["scale-down"])
}
