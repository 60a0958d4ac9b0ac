package scenarios

import (
	"context"
	"fmt"
	"maps"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	. "github.com/scalehist/scalehist/harness/expect"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/recommender/horizontal/hpa"
)

// rolledOut is the morning of a Deployment of four pods: at twelve minutes, while its load grows, somebody rolls out pods that ask for a core
// instead of half of one, a quarter more of them at a time and none less, each taken for available when it was Ready for half a minute.
func rolledOut() Source {
	const replicas = 4
	workers := std4(1, 10)
	workers.Delay = 3 * time.Minute
	script := workload.Script{Name: "rollout", Duration: 50 * time.Minute, Groups: []workload.Group{workers}}
	return Source{script.Name, "", func(ctx context.Context, opts ...harness.Option) (*harness.Replayer, error) {
		in, err := script.Input()
		if err != nil {
			return nil, err
		}
		rollOut(in, replicas, 12*time.Minute)
		return harness.NewInputReplayer(ctx, in, opts...)
	}}
}

// rollOut puts the Deployment web and its pods, on the first node, into what is played, and the change of its template at an offset.
func rollOut(in *trace.Input, replicas int32, at time.Duration) {
	labels := map[string]string{"app": "web"}
	surge, none := intstr.FromString("25%"), intstr.FromInt32(0)
	template := func(cpu string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "web", Image: "web", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}}}
	}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "deployment-web", CreationTimestamp: metav1.NewTime(in.Start)},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(replicas), MinReadySeconds: 30, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template("500m"),
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &none}},
		},
	}
	own := maps.Clone(labels)
	own[appsv1.DefaultDeploymentUniqueLabelKey] = "1"
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-1", UID: "replicaset-web-1", Labels: own, CreationTimestamp: metav1.NewTime(in.Start),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}},
		Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To(replicas), MinReadySeconds: 30, Selector: &metav1.LabelSelector{MatchLabels: own}, Template: template("500m")},
	}
	set.Spec.Template.Labels = own
	put := func(o scalehist.Object) {
		in.Initial = append(in.Initial, scalehist.Change{At: in.Start, Op: scalehist.OpAdd, Object: o})
	}
	put(d)
	put(set)
	for i := range replicas {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("web-1-%d", i), Labels: own, CreationTimestamp: metav1.NewTime(in.Start),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
		}, Spec: *set.Spec.Template.Spec.DeepCopy()}
		p.Spec.NodeName = "workers-0"
		put(p)
	}
	next := d.DeepCopy()
	next.Spec.Template = template("1")
	in.Changes = append(in.Changes, scalehist.Change{At: in.Start.Add(at), Op: scalehist.OpUpdate, Object: next})
}

var _ = Describe("A rollout", func() {
	It("with surge waits for nodes while the horizontal pod autoscaler scales", func(ctx SpecContext) {
		report := Replay(ctx, rolledOut(), ClusterAutoscaler(), harness.WithController(engines.HPA(hpa.Defaults())),
			objectsOf(`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {
			scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 4, maxReplicas: 12,
			metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]}}`),
			loadOf("series: [{workload: Deployment/default/web, metric: cpu, points: [{at: 0s, value: 1}, {at: 10m, value: 4, over: 10m}]}]"))

		web := webOf(report)
		Expect(web.Final).To(BeEquivalentTo(6), "four cores over six pods of one are 66 %, a tenth more than the target, which is tolerated")
		Expect(web.Replicas).NotTo(ContainElement(HaveField("Ready", BeNumerically("<", 4))), "fewer were ready than the rollout may leave")
		Expect(last(web.Replicas).Ready).To(BeEquivalentTo(6), "the rollout is over")
		Expect(report.ScaledUpNodeGroups).To(HaveKey("workers"))
		Expect(report).To(LeaveUnschedulable())
		Expect(report).To(MatchGolden("testdata/rollout-hpa.txt"))
	}, SpecTimeout(2*time.Minute))
})
