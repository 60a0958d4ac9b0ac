package virtualca

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/config"
)

// effectWorld is a small cluster in which a flag can show that it matters.
type effectWorld struct {
	c       *testCluster
	groups  []scalehist.NodeGroup
	options cloudprovider.Options
	// until is how long it plays, in loops 30 s apart; mid happens before the loop at an offset.
	until time.Duration
	mid   map[time.Duration]func(*replay)
	begin func(*replay)
}

// effect is a flag, with others that it needs, and a world in which it matters.
type effect struct {
	with  []string
	world func() *effectWorld
}

// TestEveryModelledFlagDecides: each flag that the table calls modelled changes what an autoscaler does in some world.
func TestEveryModelledFlagDecides(t *testing.T) {
	effects := map[string]effect{}
	for _, part := range []map[string]effect{scaleUpEffects(), stateEffects(), scaleDownEffects(), removalEffects()} {
		for flag, e := range part {
			effects[flag] = e
		}
	}
	seen := map[string]bool{}
	for flag, e := range effects {
		name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		seen[name] = true
		t.Run(name, func(t *testing.T) {
			without, with := trace(t, e.world(), e.with), trace(t, e.world(), append(slices.Clone(e.with), flag))
			if without == with {
				t.Errorf("%s beside %q changes nothing:\n%s", flag, e.with, with)
			}
		})
	}
	for _, f := range config.Flags() {
		if f.Effect == config.Modelled && !seen[f.Name] {
			t.Errorf("--%s is called modelled: want a world here in which it decides", f.Name)
		}
	}
}

// trace plays a world and writes down all that can be seen of the autoscaler.
func trace(t *testing.T, w *effectWorld, flags []string) string {
	t.Helper()
	s, _, err := config.ParseSettings(scalehist.CASettings{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, w.c, w.groups, s, w.options)
	if w.begin != nil {
		w.begin(r)
	}
	var out strings.Builder
	fmt.Fprintln(&out, "every", r.a.ScanInterval())
	for d := time.Duration(0); d <= w.until; d += 30 * time.Second {
		if f := w.mid[d]; f != nil {
			f(r)
		}
		for _, decision := range r.loops(d, d) {
			b, err := json.Marshal(decision)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%s\n", b)
		}
		for _, n := range w.c.objects.Nodes {
			fmt.Fprintf(&out, "  %s %v %v\n", n.Name, n.Spec.Unschedulable, n.Spec.Taints)
		}
	}
	fmt.Fprintln(&out, w.c.tainted, w.c.evicted, r.p.Resizes())
	if status := r.a.Status(); status != nil {
		fmt.Fprintln(&out, status.Namespace, status.Name)
	}
	return out.String()
}

// pending is a world of groups, and pods without a node.
func pending(pods []*corev1.Pod, groups ...scalehist.NodeGroup) *effectWorld {
	return &effectWorld{c: &testCluster{objects: scalehist.Objects{Pods: pods}}, groups: groups, until: time.Minute}
}

func changed(g scalehist.NodeGroup, do func(*scalehist.NodeGroup, *corev1.Node)) scalehist.NodeGroup {
	do(&g, g.Template)
	return g
}

func capacity(n *corev1.Node, r corev1.ResourceName, q string) {
	n.Status.Capacity[r], n.Status.Allocatable[r] = resource.MustParse(q), resource.MustParse(q)
}

// alike are two groups for five pods of 3 cores, the second changed.
func alike(do func(*scalehist.NodeGroup, *corev1.Node)) func() *effectWorld {
	return func() *effectWorld {
		return pending(cpuPods(5, "3"), smallGroup("a", 0, 9), changed(smallGroup("b", 0, 9), do))
	}
}

func same(*scalehist.NodeGroup, *corev1.Node) {}

func labelled(key string) func() *effectWorld {
	return func() *effectWorld {
		w := alike(func(_ *scalehist.NodeGroup, n *corev1.Node) { n.Labels[key] = "b" })()
		w.groups[0].Template.Labels[key] = "a"
		return w
	}
}

func five() *effectWorld { return pending(cpuPods(5, "3"), smallGroup("a", 0, 9)) }

// example has one node of group a, which has no template, and five pods.
func exampleNode(do func(*corev1.Node)) func() *effectWorld {
	return func() *effectWorld {
		g := smallGroup("a", 1, 9)
		g.Template = nil
		n := testNode("a-0", "a", "4", "16Gi")
		do(n)
		w := pending(cpuPods(5, "3"), g)
		w.c.objects.Nodes = []*corev1.Node{n}
		return w
	}
}

func slow(n *corev1.Node) {
	n.Spec.Taints = []corev1.Taint{{Key: "slow", Effect: corev1.TaintEffectNoSchedule}}
}

func eachPod(w *effectWorld, do func(*corev1.Pod)) *effectWorld {
	for _, p := range w.c.objects.Pods {
		do(p)
	}
	return w
}

func scaleUpEffects() map[string]effect {
	balanced := []string{"--balance-similar-node-groups"}
	lower := int32(-7)
	return map[string]effect{
		"--scan-interval=30s":  {world: five},
		"--expander=most-pods": {world: alike(func(_ *scalehist.NodeGroup, n *corev1.Node) { capacity(n, corev1.ResourceCPU, "16") })},
		"--max-nodes-total=2":  {world: five},
		"--cores-total=0:8":    {world: five},
		"--memory-total=0:32":  {world: five},
		"--gpu-total=t4:0:1": {world: func() *effectWorld {
			g := changed(smallGroup("a", 0, 9), func(_ *scalehist.NodeGroup, n *corev1.Node) {
				n.Labels["gpu"] = "t4"
				capacity(n, gpuResource, "1")
			})
			w := pending(cpuPods(3, "3"), g)
			w.options.GPULabel = "gpu"
			return w
		}},
		"--max-nodes-per-scaleup=1": {world: five},
		"--parallel-scale-up": {balanced, func() *effectWorld {
			w := alike(same)()
			w.options.Faults = []cloudprovider.Fault{{Group: "a", Kind: cloudprovider.FaultRefuse}}
			return w
		}},
		"--enforce-node-group-min-size": {world: func() *effectWorld {
			w := pending(nil, changed(smallGroup("a", 0, 9), func(g *scalehist.NodeGroup, _ *corev1.Node) { g.MinSize = 2 }))
			w.c.objects.Nodes = []*corev1.Node{testNode("room", "", "4", "16Gi")}
			return w
		}},
		"--scale-up-from-zero=false":    {world: five},
		"--balance-similar-node-groups": {world: alike(same)},
		"--balancing-ignore-label=pool": {balanced, labelled("pool")},
		"--cloud-provider=aws":          {balanced, labelled("eks.amazonaws.com/nodegroup")},
		"--balancing-label=pool": {balanced, func() *effectWorld {
			w := labelled("pool")()
			w.groups[0].Template.Labels["pool"] = "b"
			capacity(w.groups[1].Template, corev1.ResourceCPU, "5")
			return w
		}},
		"--memory-difference-ratio=0.05": {balanced, alike(func(_ *scalehist.NodeGroup, n *corev1.Node) {
			n.Status.Capacity[corev1.ResourceMemory] = resource.MustParse("15.6Gi")
		})},
		"--max-allocatable-difference-ratio=0.5": {append(slices.Clone(balanced), "--max-free-difference-ratio=0.5"), alike(func(_ *scalehist.NodeGroup, n *corev1.Node) {
			n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("3600m")
		})},
		"--max-free-difference-ratio=0.5": {balanced, func() *effectWorld {
			w := alike(same)()
			w.options.TemplatePods = map[string][]*corev1.Pod{"b": {mirror(testPod("proxy", "", "500m", "1Gi"))}}
			return w
		}},
		"--expendable-pods-priority-cutoff=-5":         {world: func() *effectWorld { return eachPod(five(), func(p *corev1.Pod) { p.Spec.Priority = &lower }) }},
		"--new-pod-scale-up-delay=2h":                  {world: five},
		"--allowed-scheduler-names=other":              {world: five},
		"--bypassed-scheduler-names=default-scheduler": {world: func() *effectWorld { return eachPod(five(), func(p *corev1.Pod) { p.Status.Conditions = nil }) }},
		"--force-ds": {world: func() *effectWorld {
			w := exampleNode(func(*corev1.Node) {})()
			d := daemonSet("log", "")
			d.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
			w.c.objects.DaemonSets = []*appsv1.DaemonSet{d}
			return w
		}},
		"--scale-from-unschedulable": {world: exampleNode(func(n *corev1.Node) { n.Spec.Unschedulable = true })},
		"--node-info-cache-expire-time=1s": {world: func() *effectWorld {
			w := exampleNode(func(*corev1.Node) {})()
			pods := w.c.objects.Pods
			w.c.objects.Pods = nil
			w.mid = map[time.Duration]func(*replay){30 * time.Second: func(r *replay) {
				r.c.objects.Pods = pods
				if err := r.p.DeleteNodes(r.t.Context(), testStart, "a", []string{"a-0"}); err != nil {
					r.t.Fatal(err)
				}
			}}
			w.options.DeletionDelay = new(time.Duration)
			return w
		}},
		"--startup-taint=slow":      {world: exampleNode(slow)},
		"--startup-taint-prefix=sl": {world: exampleNode(slow)},
		"--ignore-taint=slow":       {world: exampleNode(slow)},
		"--status-taint=slow":       {world: exampleNode(slow)},
	}
}

func mirror(p *corev1.Pod) *corev1.Pod {
	p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	return p
}

// stateEffects are about groups that fail, nodes that are not ready, and what is written.
func stateEffects() map[string]effect {
	unready := func(n int, age time.Duration) func() *effectWorld {
		return func() *effectWorld {
			w := pending(cpuPods(2, "3"), smallGroup("a", n, 9))
			w.c.objects.Nodes = nodesOf("a", n)
			for _, node := range w.c.objects.Nodes {
				notReady(node)
				node.CreationTimestamp = metav1.NewTime(testStart.Add(-age))
			}
			return w
		}
	}
	refused := func(until time.Duration) func() *effectWorld {
		return func() *effectWorld {
			w := five()
			w.until = until
			w.options.Faults = []cloudprovider.Fault{{Kind: cloudprovider.FaultRefuse}}
			return w
		}
	}
	return map[string]effect{
		"--max-node-provision-time=1m": {world: func() *effectWorld {
			w := five()
			w.until = 3 * time.Minute
			w.options.Faults = []cloudprovider.Fault{{Kind: cloudprovider.FaultNeverRegister}}
			return w
		}},
		"--max-node-startup-time=1m":         {[]string{"--ok-total-unready-count=0", "--max-total-unready-percentage=0"}, unready(1, 5*time.Minute)},
		"--ok-total-unready-count=0":         {world: unready(2, time.Hour)},
		"--max-total-unready-percentage=100": {world: unready(5, time.Hour)},
		"--force-delete-unregistered-nodes": {[]string{"--max-node-provision-time=1m"}, func() *effectWorld {
			w := pending(nil, changed(smallGroup("a", 1, 9), func(g *scalehist.NodeGroup, _ *corev1.Node) { g.MinSize = 1 }))
			w.c.objects.Nodes = []*corev1.Node{testNode("room", "", "4", "16Gi")}
			w.until = 5 * time.Minute
			w.options.Faults = []cloudprovider.Fault{{Kind: cloudprovider.FaultNeverRegister}}
			w.begin = func(r *replay) { r.p.Fill(testStart) }
			return w
		}},
		"--initial-node-group-backoff-duration=1m": {world: refused(3 * time.Minute)},
		"--max-node-group-backoff-duration=6m":     {[]string{"--initial-node-group-backoff-duration=4m50s"}, refused(8 * time.Minute)},
		"--node-group-backoff-reset-timeout=1s":    {[]string{"--initial-node-group-backoff-duration=4m50s"}, refused(8 * time.Minute)},
		"--record-duplicated-events":               {world: func() *effectWorld { return pending(cpuPods(5, "3"), smallGroup("a", 0, 0)) }},
		"--namespace=elsewhere":                    {world: five},
		"--status-config-map-name=other":           {world: five},
		"--write-status-configmap=false":           {world: five},
	}
}
