package hpa_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	kubectrlmgrconfig "k8s.io/kube-controller-manager/config/v1alpha1"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/config/v1alpha1"
	hpametrics "k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist/recommender/horizontal/hpa"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// web is an autoscaler of 1 to 12 replicas at half of the requested CPU.
func web() *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MaxReplicas:    12,
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{
					Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](50)}},
			}},
		},
	}
}

// running are ready pods that request half a core, and a reader of their usage: a load in thousandths of a core that they share.
func running(n int32, load int64) (hpa.Target, reader) {
	t := hpa.Target{SpecReplicas: n, StatusReplicas: n, Selector: "app=web"}
	samples := hpametrics.PodMetricsInfo{}
	for i := range n {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("web-", i)},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}}}}},
			Status: corev1.PodStatus{
				Phase:      corev1.PodRunning,
				StartTime:  ptr.To(metav1.NewTime(noon.Add(-time.Hour))),
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour))}},
			},
		}
		t.Pods = append(t.Pods, p)
		samples[p.Name] = hpametrics.PodMetric{Timestamp: noon, Window: 30 * time.Second, Value: load / int64(n)}
	}
	c := newCluster()
	c.resources["app=web cpu "] = answer{samples: samples}
	return t, c.read("app=web")
}

// TestFollowsLoad is a load that the unmodified controller was measured with: 0.2 cores, 3 cores after 5 and until 25 minutes, 0.2 cores again. It
// grows by the limit of a spec without behavior, and shrinks once the downscale stabilization is over.
func TestFollowsLoad(t *testing.T) {
	s, err := hpa.New(web(), hpa.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	replicas := int32(1)
	for at := 15 * time.Second; at <= 35*time.Minute; at += 15 * time.Second {
		load := int64(200)
		if at > 5*time.Minute && at < 25*time.Minute {
			load = 3000
		}
		target, metrics := running(replicas, load)
		d := s.Reconcile(noon.Add(at), target, metrics)
		if d.Rescaled {
			got = append(got, fmt.Sprintf("%s: %d to %d", at, d.From, d.To))
		}
		replicas = d.To
	}
	want := []string{"5m15s: 1 to 4", "5m30s: 4 to 8", "5m45s: 8 to 12", "30m0s: 12 to 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
}

func TestWhy(t *testing.T) {
	rules := func(h *autoscalingv2.HorizontalPodAutoscaler) {
		h.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleUp: &autoscalingv2.HPAScalingRules{Policies: []autoscalingv2.HPAScalingPolicy{
				{Type: autoscalingv2.PodsScalingPolicy, Value: 1, PeriodSeconds: 60}, {Type: autoscalingv2.PercentScalingPolicy, Value: 50, PeriodSeconds: 30}}},
		}
	}
	for name, tt := range map[string]struct {
		change func(*autoscalingv2.HorizontalPodAutoscaler)
		before int64 // load a minute before, 0 if there was no sync
		load   int64
		target func(*hpa.Target, reader)
		want   []string
	}{
		"usage is near the target": {load: 1050, want: []string{
			"metric 1 of 1: cpu resource utilization (percentage of request) is 52% of 50%, ratio 1.04 of 4 ready pods: proposes 4, within tolerance (decides)",
			"stays at 4",
		}},
		"pods without samples": {load: 2600, target: func(t *hpa.Target, r reader) {
			samples := r.resources["app=web cpu "].samples
			delete(samples, "web-1")
			t.Pods[2].Status.Phase = corev1.PodPending
			t.Pods[3].DeletionTimestamp = ptr.To(metav1.NewTime(noon))
		}, want: []string{
			"metric 1 of 1: cpu resource utilization (percentage of request) is 130% of 50%, ratio 0.86 of 1 ready pods, 1 unready, 1 without a sample, 1 ended: proposes 4, direction unclear (decides)",
			"stays at 4",
		}},
		"more than the maximum": {load: 9000, change: func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.MaxReplicas = 7 }, want: []string{
			"metric 1 of 1: cpu resource utilization (percentage of request) is 450% of 50%, ratio 9 of 4 ready pods: proposes 36 (decides)",
			"TooManyReplicas: 36 becomes 7, maxReplicas 7",
			"scaled from 4 to 7: cpu resource utilization (percentage of request) above target",
		}},
		"a policy": {load: 9000, change: rules, want: []string{
			"metric 1 of 1: cpu resource utilization (percentage of request) is 450% of 50%, ratio 9 of 4 ready pods: proposes 36 (decides)",
			"ScaleUpLimit: 36 becomes 6, selectPolicy Max: Percent 50 in 30s, from 4 at the start of the period to 6",
			"scaled from 4 to 6: cpu resource utilization (percentage of request) above target",
		}},
		"a window": {load: 100, before: 1000, want: []string{
			"metric 1 of 1: cpu resource utilization (percentage of request) is 5% of 50%, ratio 0.1 of 4 ready pods: proposes 1 (decides)",
			"ScaleDownStabilized: 1 becomes 4, the highest of the last 5m0s, 4, is 1m0s old",
			"stays at 4",
		}},
		"a metric away": {load: 100, target: func(_ *hpa.Target, r reader) {
			r.resources["app=web cpu "] = answer{err: errors.New("no metrics returned from resource metrics API")}
		}, want: []string{
			"metric 1 of 1: no value: failed to get cpu resource metric value: failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API",
			"metrics without a value might want more replicas: the size is kept",
			"FailedGetResourceMetric: failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API",
			"FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API",
			"stays at 4",
		}},
		"a target that refuses": {load: 4000, target: func(t *hpa.Target, _ reader) {
			t.Update = func(int32) error { return errors.New("scale is fixed") }
		}, want: []string{
			"metric 1 of 1: cpu resource utilization (percentage of request) is 200% of 50%, ratio 4 of 4 ready pods: proposes 16 (decides)",
			"ScaleUpLimit: 16 becomes 8, at most 8, the larger of 4 and twice the size",
			"FailedRescale: New size: 8; reason: cpu resource utilization (percentage of request) above target; error: scale is fixed",
			"wants 8 instead of 4: cpu resource utilization (percentage of request) above target",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			object := web()
			if tt.change != nil {
				tt.change(object)
			}
			s, err := hpa.New(object, hpa.Defaults())
			if err != nil {
				t.Fatal(err)
			}
			if tt.before != 0 {
				target, metrics := running(4, tt.before)
				s.Reconcile(noon.Add(-time.Minute), target, metrics)
			}
			target, metrics := running(4, tt.load)
			if tt.target != nil {
				tt.target(&target, metrics)
			}
			d := s.Reconcile(noon, target, metrics)
			if diff := cmp.Diff(tt.want, d.Why()); diff != "" {
				t.Errorf("why (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRefusesWhatNoClusterStores: words of the API server's validation, and of flags.
func TestRefusesWhatNoClusterStores(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*autoscalingv2.HorizontalPodAutoscaler, *hpa.Options)
		want   string
	}{
		"no maximum": {func(h *autoscalingv2.HorizontalPodAutoscaler, _ *hpa.Options) { h.Spec.MaxReplicas = 0 }, "spec.maxReplicas: Required value"},
		"minimum above maximum": {func(h *autoscalingv2.HorizontalPodAutoscaler, _ *hpa.Options) { h.Spec.MinReplicas = ptr.To[int32](20) },
			"must be greater than or equal to `minReplicas`"},
		"zero without a metric from outside": {func(h *autoscalingv2.HorizontalPodAutoscaler, _ *hpa.Options) { h.Spec.MinReplicas = ptr.To[int32](0) },
			"must specify at least one Object or External metric"},
		"an unknown metric": {func(h *autoscalingv2.HorizontalPodAutoscaler, _ *hpa.Options) { h.Spec.Metrics[0].Type = "Weather" }, `Unsupported value: "Weather"`},
		"rules without policies": {func(h *autoscalingv2.HorizontalPodAutoscaler, _ *hpa.Options) {
			h.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: &autoscalingv2.HPAScalingRules{Policies: []autoscalingv2.HPAScalingPolicy{}}}
		}, "must specify at least one Policy"},
		"no period":         {func(_ *autoscalingv2.HorizontalPodAutoscaler, o *hpa.Options) { o.SyncPeriod = 0 }, "sync period 0s: want more than 0"},
		"negative duration": {func(_ *autoscalingv2.HorizontalPodAutoscaler, o *hpa.Options) { o.InitialReadinessDelay = -1 }, "initial readiness delay -1ns: want 0 or more"},
	} {
		t.Run(name, func(t *testing.T) {
			object, options := web(), hpa.Defaults()
			tt.change(object, &options)
			if _, err := hpa.New(object, options); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New reports %v, want %q", err, tt.want)
			}
			s, err := hpa.New(web(), hpa.Defaults())
			if err != nil {
				t.Fatal(err)
			}
			if err := s.SetSpec(object.Spec); options == hpa.Defaults() && err == nil {
				t.Error("SetSpec takes what New refuses")
			}
		})
	}
}

// TestDefaultsAreThoseOfKubernetes compares the flags with those of kube-controller-manager, and the gates with its own.
func TestDefaultsAreThoseOfKubernetes(t *testing.T) {
	var c kubectrlmgrconfig.HPAControllerConfiguration
	v1alpha1.RecommendedDefaultHPAControllerConfiguration(&c)
	want := hpa.Options{
		SyncPeriod:              c.HorizontalPodAutoscalerSyncPeriod.Duration,
		DownscaleStabilization:  c.HorizontalPodAutoscalerDownscaleStabilizationWindow.Duration,
		Tolerance:               c.HorizontalPodAutoscalerTolerance,
		CPUInitializationPeriod: c.HorizontalPodAutoscalerCPUInitializationPeriod.Duration,
		InitialReadinessDelay:   c.HorizontalPodAutoscalerInitialReadinessDelay.Duration,
		ScaleToZero:             utilfeature.DefaultFeatureGate.Enabled(features.HPAScaleToZero),
		ConfigurableTolerance:   utilfeature.DefaultFeatureGate.Enabled(features.HPAConfigurableTolerance),
		PodLevelResources:       utilfeature.DefaultFeatureGate.Enabled(features.PodLevelResources),
	}
	if diff := cmp.Diff(want, hpa.Defaults()); diff != "" {
		t.Errorf("defaults (-upstream +ours):\n%s", diff)
	}
}

// TestLeavesItsInputAlone: metrics, pods and the object belong to the caller.
func TestLeavesItsInputAlone(t *testing.T) {
	object := web()
	s, err := hpa.New(object, hpa.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	target, metrics := running(4, 4000)
	target.Pods[0].Status.Phase = corev1.PodPending
	samples := metrics.resources["app=web cpu "].samples
	delete(samples, "web-2")
	before, pods := clone(samples), slices.Clone(target.Pods)
	first := s.Reconcile(noon, target, metrics)
	if diff := cmp.Diff(before, samples); diff != "" {
		t.Errorf("samples (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(pods, target.Pods); diff != "" {
		t.Errorf("pods (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(web(), object); diff != "" {
		t.Errorf("object (-before +after):\n%s", diff)
	}
	kept := slices.Clone(first.Conditions)
	s.Reconcile(noon.Add(time.Minute), hpa.Target{Err: errors.New("away")}, nil)
	if diff := cmp.Diff(kept, first.Conditions); diff != "" {
		t.Errorf("a later sync changed an earlier decision (-before +after):\n%s", diff)
	}
}
