package virtualca

import (
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/config"
)

func TestUtilization(t *testing.T) {
	pod := func(cpu, memory string, change ...func(*corev1.Pod)) *corev1.Pod {
		p := on("a-0", testPod("p"+cpu+memory, "web", cpu, memory))
		for _, c := range change {
			c(p)
		}
		return p
	}
	gpus := func(n string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests[gpuResource] = resource.MustParse(n)
		}
	}
	daemon := func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "DaemonSet" }
	mirror := func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }
	deleted := func(d time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: testStart.Add(-d)} }
	}
	initContainer := func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "i", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}}}}
	}
	overhead := func(p *corev1.Pod) {
		p.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	}
	gpuNode := func(allocatable string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Labels["gpu"] = "t4"
			if allocatable != "" {
				n.Status.Allocatable[gpuResource] = resource.MustParse(allocatable)
			}
		}
	}
	for name, tc := range map[string]struct {
		node           func(*corev1.Node)
		pods           []*corev1.Pod
		noDaemon, noM  bool
		ignore         bool
		want           float64
		wantOfResource corev1.ResourceName
	}{
		"empty":                    {want: 0, wantOfResource: corev1.ResourceMemory},
		"cpu":                      {pods: []*corev1.Pod{pod("1", "1Gi"), pod("500m", "1Gi")}, want: 0.375, wantOfResource: corev1.ResourceCPU},
		"memory":                   {pods: []*corev1.Pod{pod("1", "8Gi")}, want: 0.5, wantOfResource: corev1.ResourceMemory},
		"init container":           {pods: []*corev1.Pod{pod("1", "1Gi", initContainer)}, want: 0.75, wantOfResource: corev1.ResourceCPU},
		"overhead":                 {pods: []*corev1.Pod{pod("1", "1Gi", overhead)}, want: 0.5, wantOfResource: corev1.ResourceCPU},
		"DaemonSet counts":         {pods: []*corev1.Pod{pod("2", "1Gi"), pod("1", "1Gi", daemon)}, want: 0.75, wantOfResource: corev1.ResourceCPU},
		"DaemonSet ignored":        {pods: []*corev1.Pod{pod("2", "1Gi"), pod("1", "1Gi", daemon)}, noDaemon: true, want: 2. / 3, wantOfResource: corev1.ResourceCPU},
		"mirror ignored":           {pods: []*corev1.Pod{pod("2", "1Gi"), pod("1", "1Gi", mirror)}, noM: true, want: 2. / 3, wantOfResource: corev1.ResourceCPU},
		"terminating":              {pods: []*corev1.Pod{pod("2", "1Gi"), pod("1", "1Gi", deleted(time.Minute))}, want: 0.75, wantOfResource: corev1.ResourceCPU},
		"terminating for too long": {pods: []*corev1.Pod{pod("2", "1Gi"), pod("1", "1Gi", deleted(61*time.Second))}, want: 0.5, wantOfResource: corev1.ResourceCPU},
		"gpu alone counts":         {node: gpuNode("4"), pods: []*corev1.Pod{pod("4", "1Gi", gpus("1"))}, want: 0.25, wantOfResource: gpuResource},
		"gpu the provider ignores": {node: gpuNode("4"), pods: []*corev1.Pod{pod("3", "1Gi", gpus("1"))}, ignore: true, want: 0.75, wantOfResource: corev1.ResourceCPU},
		"gpu not there yet":        {node: gpuNode(""), pods: []*corev1.Pod{pod("4", "1Gi")}, want: 0, wantOfResource: gpuResource},
	} {
		t.Run(name, func(t *testing.T) {
			n := nodesOf("a", 1)
			if tc.node != nil {
				tc.node(n[0])
			}
			l := newLoop(t, &testCluster{objects: scalehist.Objects{Nodes: n, Pods: tc.pods}}, []scalehist.NodeGroup{smallGroup("a", 1, 5)}, config.DefaultSettings(),
				cloudprovider.Options{GPULabel: "gpu", IgnoreGPUs: tc.ignore})
			got, err := l.utilizationOf(l.a.checker.Snapshot().NodeInfo(0), tc.noDaemon, tc.noM)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got.value-tc.want) > 1e-12 || got.resource != tc.wantOfResource {
				t.Errorf("got %v of %s, want %v of %s", got.value, got.resource, tc.want, tc.wantOfResource)
			}
		})
	}
}
