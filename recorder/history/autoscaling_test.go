package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
	"github.com/scalehist/scalehist/recorder/history/projection"
)

func named(name string, id types.UID) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name, UID: id, CreationTimestamp: metav1.NewTime(start)}
}

// hpa is one that scales web to desired replicas, with what a real one's status has beside that.
func hpa(desired int32, noise time.Duration) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: named("web", uid(70)), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, MinReplicas: new(int32(2)), MaxReplicas: 20,
		Metrics: []autoscalingv2.MetricSpec{
			{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU,
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(70))}}},
			{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
				Metric: autoscalingv2.MetricIdentifier{Name: "queue_length", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"queue": "orders"}}},
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: resource.NewQuantity(30, resource.DecimalSI)}}}},
		Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(60)),
			Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 1, PeriodSeconds: 30}}}}},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{CurrentReplicas: 2, DesiredReplicas: desired, LastScaleTime: new(metav1.NewTime(start.Add(time.Duration(desired) * time.Second))),
			ObservedGeneration: new(int64(noise)),
			CurrentMetrics: []autoscalingv2.MetricStatus{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricStatus{
				Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: new(int32(noise))}}}},
			Conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionTrue, Reason: "ValidMetricFound",
				Message: "secret-message " + noise.String(), LastTransitionTime: metav1.NewTime(start)}}}}
}

func limitRange() *corev1.LimitRange {
	return &corev1.LimitRange{ObjectMeta: named("limits", uid(71)), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
		Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
		DefaultRequest: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")}, MaxLimitRequestRatio: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10")}}}}}
}

func query(text string) *v1alpha1.MetricQuery {
	q := &v1alpha1.MetricQuery{Spec: v1alpha1.MetricQuerySpec{Query: text, StepSeconds: 30}}
	q.Name = "load"
	return q
}

// workloads are of each kind one that sets all that a controller needs to run it.
func workloads() []scalehist.Object {
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: pod("x", "").Spec}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	return []scalehist.Object{
		&appsv1.Deployment{ObjectMeta: named("d", uid(80)), Spec: appsv1.DeploymentSpec{Replicas: new(int32(3)), Selector: selector, Template: template,
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}, MinReadySeconds: 7, ProgressDeadlineSeconds: new(int32(100)), RevisionHistoryLimit: new(int32(3))}},
		&appsv1.ReplicaSet{ObjectMeta: named("rs", uid(81)), Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(3)), Selector: selector, Template: template, MinReadySeconds: 7}},
		&appsv1.StatefulSet{ObjectMeta: named("ss", uid(82)), Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3)), Selector: selector, Template: template, ServiceName: "s",
			PodManagementPolicy: appsv1.ParallelPodManagement, Ordinals: &appsv1.StatefulSetOrdinals{Start: 1}, MinReadySeconds: 7,
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}, RevisionHistoryLimit: new(int32(3)),
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: "Delete", WhenScaled: "Retain"}}},
		&batchv1.Job{ObjectMeta: named("j", uid(83)), Spec: batchv1.JobSpec{Selector: selector, Template: template, Parallelism: new(int32(2)), Completions: new(int32(9)),
			BackoffLimit: new(int32(4)), Suspend: new(true), CompletionMode: new(batchv1.IndexedCompletion), BackoffLimitPerIndex: new(int32(1)),
			MaxFailedIndexes: new(int32(2)), PodReplacementPolicy: new(batchv1.Failed)}},
	}
}

// TestAutoscalingKinds: what autoscalers and controllers go by is kept, and nothing else of it; it comes back, and through
// an object log the same.
func TestAutoscalingKinds(t *testing.T) {
	all := append(workloads(), hpa(2, 1), limitRange(), query("sum(rate(x[5m]))"))
	var entries []history.Entry
	for _, o := range all {
		entries = append(entries, change(0, scalehist.OpAdd, o), change(time.Second, scalehist.OpUpdate, o))
	}
	entries = append(entries, change(2*time.Second, scalehist.OpUpdate, hpa(5, 1)), change(3*time.Second, scalehist.OpUpdate, hpa(5, 1000)),
		change(4*time.Second, scalehist.OpUpdate, query("sum(x)")))
	db := write(t, entries...)
	s := snapshotAt(t, db, time.Second).Objects
	for i, got := range []scalehist.Object{s.Deployments[0], s.ReplicaSets[0], s.StatefulSets[0], s.Jobs[0], s.HorizontalPodAutoscalers[0], s.LimitRanges[0]} {
		want, _ := projection.Of(all[i])
		got.GetObjectKind().SetGroupVersionKind(want.GetObjectKind().GroupVersionKind())
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%T (-kept +got):\n%s", want, diff)
		}
		text := asJSON(got)
		for _, secret := range []string{"secret-", "revisionHistoryLimit", "currentMetrics\":[", "observedGeneration"} {
			if strings.Contains(text, secret) {
				t.Errorf("%T keeps %s: %s", got, secret, text)
			}
		}
	}
	for what, want := range map[string]any{
		asJSON(s.Deployments[0].Spec.Strategy) + fmt.Sprint(s.Deployments[0].Spec.MinReadySeconds, *s.Deployments[0].Spec.ProgressDeadlineSeconds):                        `{"type":"Recreate"}7 100`,
		asJSON(s.StatefulSets[0].Spec.UpdateStrategy) + asJSON(s.StatefulSets[0].Spec.PersistentVolumeClaimRetentionPolicy):                                               `{"type":"OnDelete"}{"whenDeleted":"Delete","whenScaled":"Retain"}`,
		fmt.Sprint(s.ReplicaSets[0].Spec.MinReadySeconds, s.StatefulSets[0].Spec.MinReadySeconds, s.StatefulSets[0].Spec.Ordinals.Start):                                  "7 7 1",
		fmt.Sprintf("%d %d %s %t", *s.Jobs[0].Spec.BackoffLimitPerIndex, *s.Jobs[0].Spec.MaxFailedIndexes, *s.Jobs[0].Spec.PodReplacementPolicy, *s.Jobs[0].Spec.Suspend): "1 2 Failed true",
	} {
		if what != want {
			t.Errorf("kept %s, want %s", what, want)
		}
	}
	scaled := snapshotAt(t, db, time.Minute).Objects.HorizontalPodAutoscalers[0].Status
	if scaled.DesiredReplicas != 5 || !scaled.LastScaleTime.Time.Equal(at(5*time.Second)) || scaled.Conditions[0].Reason != "ValidMetricFound" {
		t.Errorf("status %s", asJSON(scaled))
	}
	stats, err := db.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, k := range stats.Kinds {
		versions[k.Kind] = fmt.Sprintf("%d of %d", k.Versions, k.Contents)
	}
	// What is measured with every sync of an autoscaler is no version, and a decision shares the content.
	want := map[string]string{"Deployment": "1 of 1", "ReplicaSet": "1 of 1", "StatefulSet": "1 of 1", "Job": "1 of 1", "LimitRange": "1 of 1",
		"HorizontalPodAutoscaler": "2 of 1", "MetricQuery": "2 of 2"}
	if diff := cmp.Diff(want, versions); diff != "" {
		t.Errorf("versions of contents (-want +got):\n%s", diff)
	}
	again := importLog(t, strings.NewReader(exported(t, db)), "log")
	first, err1 := db.Hash(t.Context())
	second, err2 := again.Hash(t.Context())
	if first != second || err1 != nil || err2 != nil {
		t.Errorf("hash %s, after the round trip %s (%v, %v)", first, second, err1, err2)
	}
}

// TestObjectsAndChangesOfKinds: what some kinds were at an instant, and how they changed in a window.
func TestObjectsAndChangesOfKinds(t *testing.T) {
	vpa := custom(t, "apiVersion: autoscaling.k8s.io/v1\nkind: VerticalPodAutoscaler\nmetadata: {name: v, namespace: n, uid: v1}\nspec: {targetRef: {name: web}}")
	db := write(t, change(0, scalehist.OpAdd, pod("a", uid(1))), change(0, scalehist.OpAdd, workloads()[0]), change(time.Second, scalehist.OpAdd, hpa(2, 0)),
		change(2*time.Second, scalehist.OpAdd, vpa), change(3*time.Second, scalehist.OpUpdate, hpa(3, 0)), change(4*time.Second, scalehist.OpUpdate, pod("a", uid(1), running)),
		change(5*time.Second, scalehist.OpAdd, limitRange()), change(6*time.Second, scalehist.OpDelete, hpa(3, 0)))
	of := func(kinds ...string) (out []string) {
		for c, err := range db.ChangesOf(t.Context(), at(time.Second), at(10*time.Second), kinds...) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprint(c.At.Sub(start), " ", c.Op, " ", objectlog.KindOf(c.Object)))
		}
		return out
	}
	autoscaling := []string{"2s add VerticalPodAutoscaler.autoscaling.k8s.io", "3s update HorizontalPodAutoscaler", "5s add LimitRange", "6s delete HorizontalPodAutoscaler"}
	if diff := cmp.Diff(autoscaling, of(objectlog.AutoscalingKinds()...)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"4s update Pod", "5s add LimitRange"}, of("Pod", "LimitRange")); diff != "" {
		t.Errorf("changes with pods (-want +got):\n%s", diff)
	}
	at3 := func(kinds ...string) (out []string) {
		objects, err := db.ObjectsAt(t.Context(), at(3*time.Second), kinds...)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			out = append(out, objectlog.KindOf(o)+"/"+o.GetName())
		}
		return out
	}
	if diff := cmp.Diff([]string{"HorizontalPodAutoscaler/web", "VerticalPodAutoscaler.autoscaling.k8s.io/v"}, at3(objectlog.AutoscalingKinds()...)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Pod/a", "Deployment/d"}, at3("Pod", "Deployment")); diff != "" {
		t.Errorf("objects with pods (-want +got):\n%s", diff)
	}
	for _, err := range db.ChangesOf(t.Context(), time.Time{}, time.Time{}, "Pods") {
		if err == nil || !strings.Contains(err.Error(), `"Pods"`) {
			t.Errorf("a kind that is none: %v", err)
		}
	}
}

// TestQueriesAt: the text of a recorded query is known at each instant, as it was then.
func TestQueriesAt(t *testing.T) {
	db := write(t, change(0, scalehist.OpAdd, query("sum(x)")), change(time.Minute, scalehist.OpUpdate, query("sum(y)")))
	for d, want := range map[time.Duration]string{time.Second: "sum(x)", time.Minute: "sum(y)"} {
		got, err := db.QueriesAt(t.Context(), at(d))
		if err != nil || got["load"].Query != want || got["load"].StepSeconds != 30 {
			t.Errorf("at %s: %v, %v; want %s", d, got, err, want)
		}
	}
}
