package cluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

var start = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// drawn is a cluster of up to 40 pods of up to three workloads, in the order in which they come.
func drawn(t *rapid.T) Cluster {
	c := Cluster{Name: "made", From: start, To: start.Add(time.Hour), Finish: rapid.Bool().Draw(t, "finish")}
	come := rapid.SliceOfN(rapid.IntRange(0, 59), 1, 40).Draw(t, "minutes")
	slices.Sort(come)
	for i, minute := range come {
		p := Pod{Namespace: rapid.SampledFrom([]string{"made", "shop"}).Draw(t, "namespace"), Workload: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "workload"),
			Name: fmt.Sprintf("pod-%d", i), From: start.Add(time.Duration(minute) * time.Minute), To: c.To}
		if rapid.Bool().Draw(t, "ends") {
			p.To = p.From.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "lasts")) * time.Minute)
		}
		amount := rapid.SampledFrom([]int64{0, 1, 900, 7_000, 20_000})
		for j := range rapid.IntRange(1, 2).Draw(t, "containers") {
			asked := [2]int64{amount.Draw(t, "CPU"), amount.Draw(t, "MiB") << 20}
			p.Containers = append(p.Containers, Container{Name: fmt.Sprintf("c%d", j), Request: asked, Limit: [2]int64{2 * asked[0], 0}})
		}
		c.Pods = append(c.Pods, p)
	}
	return c
}

// asked adds up requests: millicores and bytes.
func asked(p *corev1.Pod) (out [2]int64) {
	for i := range p.Spec.Containers {
		r := p.Spec.Containers[i].Resources.Requests
		out[0], out[1] = out[0]+r.Cpu().MilliValue(), out[1]+r.Memory().Value()
	}
	return out
}

// state is what there is after the lines up to an instant.
type state struct {
	pods      map[string]*corev1.Pod
	nodes     map[string]*corev1.Node
	workloads map[types.UID]int32
	target    int32
}

// TestLines: at every instant no node has more pods, or more requested, than it has room for; workloads have as many replicas as there are pods of them;
// the group is as large as it has nodes; owners are there.
func TestLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawn(t)
		lines := c.Lines()
		if !slices.IsSortedFunc(lines, func(a, b objectlog.Line) int { return a.At.Compare(b.At) }) {
			t.Fatal("lines are not in order of time")
		}
		s := state{pods: map[string]*corev1.Pod{}, nodes: map[string]*corev1.Node{}, workloads: map[types.UID]int32{}}
		for i, l := range lines {
			s.take(t, l)
			if i+1 == len(lines) || lines[i+1].At.After(l.At) {
				s.check(t, c.Finish)
			}
		}
	})
}

func (s *state) take(t *rapid.T, l objectlog.Line) {
	switch o := l.Object.(type) {
	case *corev1.Pod:
		if _, there := s.pods[o.Name]; there != (l.Op != scalehist.OpAdd) {
			t.Fatalf("%s of pod %s at %s", l.Op, o.Name, l.At)
		}
		if s.pods[o.Name] = o; l.Op == scalehist.OpDelete {
			delete(s.pods, o.Name)
		}
	case *corev1.Node:
		s.nodes[o.Name] = o
	case *appsv1.Deployment:
		s.workloads[o.UID] = *o.Spec.Replicas
	case *appsv1.ReplicaSet:
		if _, there := s.workloads[o.OwnerReferences[0].UID]; !there {
			t.Fatalf("ReplicaSet %s has no Deployment", o.Name)
		}
		s.workloads[o.UID] = *o.Spec.Replicas
	case *batchv1.Job:
		s.workloads[o.UID] = 0
	case *v1alpha1.NodeGroup:
		s.target = o.Spec.TargetSize
	}
}

func (s *state) check(t *rapid.T, jobs bool) {
	used, count, owned := map[string][2]int64{}, map[string]int64{}, map[types.UID]int32{}
	for _, p := range s.pods {
		on := p.Spec.NodeName
		sum, more := used[on], asked(p)
		used[on] = [2]int64{sum[0] + more[0], sum[1] + more[1]}
		count[on]++
		owned[p.OwnerReferences[0].UID]++
	}
	for on, sum := range used {
		n := s.nodes[on]
		if n == nil {
			t.Fatalf("pods are on node %q, which is not there", on)
		}
		if room := n.Status.Allocatable; sum[0] > room.Cpu().MilliValue() || sum[1] > room.Memory().Value() || count[on] > room.Pods().Value() {
			t.Fatalf("node %s has %v in %d pods, and room for %v", on, sum, count[on], room)
		}
	}
	for uid, n := range owned {
		if replicas, there := s.workloads[uid]; !there || !jobs && replicas != n {
			t.Fatalf("%d pods of %s, which has %d replicas (there: %v)", n, uid, replicas, there)
		}
	}
	if int(s.target) != len(s.nodes) {
		t.Fatalf("%d nodes of a group of %d", len(s.nodes), s.target)
	}
}

// TestPodsAsGiven: every pod comes and ends when it was said to, with the requests and limits of its containers, and finishes where it is to; the same pods make
// the same lines.
func TestPodsAsGiven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawn(t)
		lines := c.Lines()
		if diff := cmp.Diff(lines, c.Lines()); diff != "" {
			t.Fatalf("another time:\n%s", diff)
		}
		var want, got []string
		for _, p := range c.Pods {
			want = append(want, fmt.Sprintf("%s add %s %v", p.From, p.Name, p.Containers))
			if p.To.Before(c.To) && c.Finish {
				want = append(want, fmt.Sprintf("%s update %s Succeeded", p.To, p.Name))
			}
			if p.To.Before(c.To) {
				want = append(want, fmt.Sprintf("%s delete %s", p.To, p.Name))
			}
		}
		for _, l := range lines {
			p, ok := l.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			text := fmt.Sprintf("%s %s %s", l.At, l.Op, p.Name)
			switch l.Op {
			case scalehist.OpAdd:
				text += fmt.Sprintf(" %v", given(p))
			case scalehist.OpUpdate:
				text += " " + string(p.Status.Phase)
			}
			got = append(got, text)
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-given +lines):\n%s", diff)
		}
	})
}

// given are the containers of a pod as they were given.
func given(p *corev1.Pod) (out []Container) {
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		amounts := func(l corev1.ResourceList) [2]int64 { return [2]int64{l.Cpu().MilliValue(), l.Memory().Value()} }
		out = append(out, Container{Name: c.Name, Request: amounts(c.Resources.Requests), Limit: amounts(c.Resources.Limits)})
	}
	return out
}

// TestAnotherNode: a node is brought only where no other has room, as large as the largest pod needs, and the room of a pod that ended is used again.
func TestAnotherNode(t *testing.T) {
	pod := func(name string, milli, from, to int) Pod {
		return Pod{Namespace: "made", Workload: "w", Name: name, From: start.Add(time.Duration(from) * time.Minute), To: start.Add(time.Duration(to) * time.Minute),
			Containers: []Container{{Name: "c", Request: [2]int64{int64(milli), 0}}}}
	}
	var many []Pod
	for i := range nodePods + 1 {
		many = append(many, pod(fmt.Sprint(i), 1, 0, 60))
	}
	for name, tt := range map[string]struct {
		pods []Pod
		want []string
	}{
		"by CPU":         {[]Pod{pod("a", 9000, 0, 60), pod("b", 9000, 0, 60), pod("c", 7000, 1, 60)}, []string{"made-16x64 +0s", "made-16x64 +0s"}},
		"used again":     {[]Pod{pod("a", 9000, 0, 5), pod("b", 9000, 5, 60)}, []string{"made-16x64 +0s"}},
		"a minute early": {[]Pod{pod("a", 9000, 0, 5), pod("b", 9000, 4, 60)}, []string{"made-16x64 +0s", "made-16x64 +4m0s"}},
		"larger":         {[]Pod{pod("a", 16_001, 0, 60), pod("b", 15_999, 0, 60)}, []string{"made-32x64 +0s"}},
		"by their count": {many, []string{"made-16x64 +0s", "made-16x64 +0s"}},
	} {
		c := Cluster{Name: "made", From: start, To: start.Add(time.Hour), Pods: tt.pods}
		var got []string
		for _, l := range c.Lines() {
			if n, ok := l.Object.(*corev1.Node); ok {
				got = append(got, fmt.Sprintf("%s +%s", n.Labels[corev1.LabelInstanceTypeStable], l.At.Sub(start)))
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: nodes (-want +got):\n%s", name, diff)
		}
	}
}
