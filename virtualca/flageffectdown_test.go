package virtualca

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
)

// fast lets unneeded nodes go in a minute.
var fast = []string{"--scale-down-unneeded-time=1m", "--scale-down-unready-time=1m", "--scale-down-delay-after-add=0s"}

func fastAnd(flags ...string) []string { return append(append([]string(nil), fast...), flags...) }

// idle has n nodes of group a, pods on the first of them, and a large node beside the group with room for all.
func idle(n int, pods ...*corev1.Pod) *effectWorld {
	w := &effectWorld{c: &testCluster{objects: scalehist.Objects{Nodes: nodesOf("a", n)}}, groups: []scalehist.NodeGroup{smallGroup("a", n, 9)}, until: 4 * time.Minute}
	for _, p := range pods {
		w.c.objects.Pods = append(w.c.objects.Pods, on("a-0", p))
	}
	w.c.objects.Nodes = append(w.c.objects.Nodes, testNode("room", "", "32", "128Gi"))
	return w
}

func idleWith(do func(*effectWorld), n int, pods ...func() *corev1.Pod) func() *effectWorld {
	return func() *effectWorld {
		var made []*corev1.Pod
		for _, p := range pods {
			made = append(made, p())
		}
		w := idle(n, made...)
		if do != nil {
			do(w)
		}
		return w
	}
}

func web(cpu string) func() *corev1.Pod {
	return func() *corev1.Pod { return testPod("web", "web", cpu, "1Gi") }
}

func webWith(do func(*corev1.Pod)) func() *corev1.Pod {
	return func() *corev1.Pod {
		p := testPod("web", "web", "1", "1Gi")
		do(p)
		return p
	}
}

func daemon(cpu string) func() *corev1.Pod {
	return func() *corev1.Pod {
		p := testPod("agent", "agent", cpu, "1Gi")
		p.OwnerReferences[0].Kind = "DaemonSet"
		return p
	}
}

func systemPod(p *corev1.Pod) {
	p.Namespace = metav1.NamespaceSystem
	p.CreationTimestamp = metav1.NewTime(testStart.Add(-5 * time.Minute))
}

// grown has an idle node of group a, and a pod for which group b grows at once.
func grown(w *effectWorld) {
	big := smallGroup("b", 0, 3)
	big.Template = testNode("", "", "64", "256Gi")
	w.groups = append(w.groups, big)
	w.c.objects.Pods = append(w.c.objects.Pods, testPod("large", "large", "40", "1Gi"))
}

func scaleDownEffects() map[string]effect {
	dark := func(w *effectWorld) { notReady(w.c.objects.Nodes[0]) }
	return map[string]effect{
		"--scale-down-enabled=false":                   {fast, idleWith(nil, 1)},
		"--scale-down-unready-enabled=false":           {fast, idleWith(dark, 1)},
		"--scale-down-unneeded-time=3m":                {fast, idleWith(nil, 1)},
		"--scale-down-unready-time=3m":                 {fast, idleWith(dark, 1)},
		"--scale-down-delay-after-add=1h":              {fast, idleWith(grown, 1)},
		"--scale-down-delay-after-delete=10m":          {fastAnd("--max-scale-down-parallelism=1"), idleWith(nil, 3)},
		"--scale-down-delay-after-failure=1s":          {fast, idleWith(func(w *effectWorld) { w.c.failTaint = map[string]bool{"a-0": true} }, 2)},
		"--scale-down-delay-type-local":                {fastAnd("--scale-down-delay-after-add=1h"), idleWith(grown, 1)},
		"--scale-down-utilization-threshold=0.9":       {fast, idleWith(nil, 1, web("3"))},
		"--ignore-daemonsets-utilization":              {fast, idleWith(nil, 1, daemon("3"))},
		"--ignore-mirror-pods-utilization":             {fast, idleWith(nil, 1, func() *corev1.Pod { return mirror(testPod("proxy", "", "3", "1Gi")) })},
		"--scale-down-simulation-timeout=0s":           {fast, idleWith(nil, 1)},
		"--skip-nodes-with-system-pods=false":          {fast, idleWith(nil, 1, webWith(systemPod))},
		"--blocking-system-pod-distruption-timeout=4m": {fast, idleWith(nil, 1, webWith(systemPod))},
		"--skip-nodes-with-local-storage=false": {fast, idleWith(nil, 1, webWith(func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		}))},
		"--skip-nodes-with-custom-controller-pods=false": {fast, idleWith(nil, 1, webWith(func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "CloneSet" }))},
		"--min-replica-count=2": {fast, idleWith(func(w *effectWorld) {
			one := int32(1)
			w.c.objects.ReplicaSets = []*appsv1.ReplicaSet{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web"}, Spec: appsv1.ReplicaSetSpec{Replicas: &one}}}
		}, 1, web("1"))},
		"--scale-down-gpu-utilization-threshold=0.9": {fast, idleWith(func(w *effectWorld) {
			for _, n := range w.c.objects.Nodes {
				capacity(n, gpuResource, "4")
			}
		}, 1, webWith(func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests[gpuResource] = resource.MustParse("3") }))},
		"--unremovable-node-recheck-timeout=30s": {fast, idleWith(func(w *effectWorld) {
			w.mid = map[time.Duration]func(*replay){time.Minute: func(r *replay) { r.c.objects.Pods = nil }}
		}, 1, webWith(func(p *corev1.Pod) { p.OwnerReferences = nil }))},
	}
}

// removalEffects are about how nodes are removed.
func removalEffects() map[string]effect {
	stubborn := func(w *effectWorld) { w.c.stubborn = map[string]bool{"web": true}; w.until = 20 * time.Minute }
	occupied := func(w *effectWorld) {
		for i, p := range []*corev1.Pod{testPod("web-0", "web", "1", "1Gi"), testPod("web-1", "web", "1", "1Gi"), testPod("web-2", "web", "1", "1Gi")} {
			w.c.objects.Pods = append(w.c.objects.Pods, on(w.c.objects.Nodes[i].Name, p))
		}
	}
	delayed := func(w *effectWorld) { w.c.objects.Nodes[0].Annotations[delayDeletionPrefix+"disks"] = "detaching" }
	long := webWith(func(p *corev1.Pod) { seconds := int64(500); p.Spec.TerminationGracePeriodSeconds = &seconds })
	return map[string]effect{
		"--max-scale-down-parallelism=1":                {fast, idleWith(nil, 3)},
		"--max-drain-parallelism=3":                     {fast, idleWith(occupied, 3)},
		"--max-graceful-termination-sec=5":              {fast, idleWith(stubborn, 1, long)},
		"--max-pod-eviction-time=10s":                   {fast, idleWith(func(w *effectWorld) { w.c.refuse = map[string]bool{"web": true} }, 1, web("1"))},
		"--drain-priority-config=0:5":                   {fast, idleWith(stubborn, 1, long)},
		"--daemonset-eviction-for-occupied-nodes=false": {fast, idleWith(nil, 1, web("1"), daemon("100m"))},
		"--daemonset-eviction-for-empty-nodes":          {fast, idleWith(nil, 1, daemon("100m"))},
		"--cordon-node-before-terminating=false":        {fastAnd("--node-delete-delay-after-taint=1m"), idleWith(nil, 1)},
		"--node-delete-delay-after-taint=1m":            {fast, idleWith(nil, 1)},
		"--node-deletion-delay-timeout=10s":             {fast, idleWith(delayed, 1)},
		"--node-deletion-batcher-interval=1m":           {fast, idleWith(nil, 2)},
		"--max-bulk-soft-taint-count=1":                 {fast, idleWith(nil, 3)},
	}
}
