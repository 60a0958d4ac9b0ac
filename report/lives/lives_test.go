package lives

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
)

var start = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func fed(name string) scalehist.DeployedPod {
	return scalehist.DeployedPod{Namespace: "default", Name: name}
}

func scheduled(p scalehist.DeployedPod, seconds int, node string) scalehist.DeployedPod {
	p.ScheduledAt, p.NodeName = new(at(seconds)), node
	return p
}

func stood(name, node string) scalehist.PodInfo {
	return scalehist.PodInfo{Namespace: "default", Name: name, NodeName: node}
}

// TestPods: what steps may do to a pod, each with the lives and the stays that come of it. The node "short" is gone after 40 seconds.
func TestPods(t *testing.T) {
	for name, c := range map[string]struct {
		start, end []scalehist.PodInfo
		steps      []scalehist.Batch
		want       []string
		unbrought  int
	}{
		"stays":       {start: []scalehist.PodInfo{stood("a", "n")}, end: []scalehist.PodInfo{stood("a", "n")}, want: []string{"a 0..60 there: n 0.."}},
		"of its node": {start: []scalehist.PodInfo{{Namespace: "default", Name: "a", Owner: "DaemonSet/x", NodeName: "n"}}},
		"comes and waits": {end: []scalehist.PodInfo{stood("a", "n")}, steps: []scalehist.Batch{{At: at(10), DeployedPods: []scalehist.DeployedPod{scheduled(fed("a"), 30, "n")}}},
			want: []string{"a 10..60 there: - 10..30, n 30.."}},
		"came and was gone within a step": {steps: []scalehist.Batch{{At: at(10), DeployedPods: []scalehist.DeployedPod{fed("a")}, DeletedPods: []string{"default/a"}}},
			want: []string{"a 10..10 step:"}},
		"replaced within a step, and deleted later": {start: []scalehist.PodInfo{stood("a", "n")}, steps: []scalehist.Batch{
			{At: at(10), DeployedPods: []scalehist.DeployedPod{scheduled(fed("a"), 10, "m")}, DeletedPods: []string{"default/a"}}, {At: at(20), DeletedPods: []string{"default/a"}}},
			want: []string{"a 0..10 step: n 0..10", "a 10..20 step: m 10..20"}},
		"moved twice": {end: []scalehist.PodInfo{stood("a", "z")}, steps: []scalehist.Batch{
			{At: at(5), DeployedPods: []scalehist.DeployedPod{scheduled(fed("a"), 50, "z")}, Placed: []scalehist.Placement{{Pod: "default/a", Node: "x"}}},
			{At: at(20), Returned: []string{"default/a"}}, {At: at(25), Placed: []scalehist.Placement{{Pod: "default/a", Node: "y"}}}, {At: at(40), Returned: []string{"default/a"}}},
			want: []string{"a 5..60 there: x 5..20, - 20..25, y 25..40, - 40..50, z 50.."}},
		"preempted for good": {start: []scalehist.PodInfo{stood("a", "n")}, steps: []scalehist.Batch{{At: at(10), Preempted: []string{"default/a"}}}, want: []string{"a 0..10 step: n 0..10"}},
		"preempted and back": {start: []scalehist.PodInfo{stood("a", "n")}, end: []scalehist.PodInfo{stood("a", "")},
			steps: []scalehist.Batch{{At: at(10), Preempted: []string{"default/a"}, Returned: []string{"default/a"}}}, want: []string{"a 0..60 there: n 0..10, - 10.."}},
		"ran out":         {start: []scalehist.PodInfo{stood("a", "n")}, steps: []scalehist.Batch{{At: at(10), Ended: []string{"default/a"}}}, want: []string{"a 0..10 step: n 0..10"}},
		"no step took it": {start: []scalehist.PodInfo{stood("a", "short")}, want: []string{"a 0..60 unknown: short 0..40"}},
		"its recorded end": {steps: []scalehist.Batch{{At: at(10), DeployedPods: []scalehist.DeployedPod{func() scalehist.DeployedPod {
			p := scheduled(fed("a"), 10, "n")
			p.DeletedAt = new(at(30))
			return p
		}()}}}, want: []string{"a 10..30 recorded: n 10..30"}},
		"nobody brought it": {end: []scalehist.PodInfo{stood("a", "n")}, unbrought: 1},
	} {
		t.Run(name, func(t *testing.T) {
			pods, unbrought := Pods(&scalehist.ReplayReport{StartTime: start, EndTime: at(60), Batches: c.steps,
				Start: scalehist.ClusterSnapshot{ScheduledPods: c.start}, End: scalehist.ClusterSnapshot{ScheduledPods: c.end}})
			var got []string
			for _, p := range pods {
				got = append(got, line(p))
			}
			if diff := cmp.Diff(c.want, got); diff != "" || unbrought != c.unbrought {
				t.Errorf("%d unbrought, want %d; lives (-want +got):\n%s", unbrought, c.unbrought, diff)
			}
		})
	}
}

func line(p *Pod) string {
	var stays []string
	for _, s := range p.Stays(func(node string, _ time.Duration) (time.Duration, bool) { return 40 * time.Second, node == "short" }) {
		to := fmt.Sprint(s.To.Seconds())
		if s.Open {
			to = ""
		}
		stays = append(stays, fmt.Sprintf("%s %v..%s", s.Node, s.From.Seconds(), to))
		if s.Node == "" {
			stays[len(stays)-1] = "-" + stays[len(stays)-1]
		}
	}
	how := map[End]string{AtEnd: "there", InStep: "step", Recorded: "recorded", Unknown: "unknown"}[p.End]
	return strings.TrimSuffix(fmt.Sprintf("%s %v..%v %s: %s", strings.TrimPrefix(p.Name, "default/"), p.From.Seconds(), p.To.Seconds(), how, strings.Join(stays, ", ")), " ")
}

func TestNodes(t *testing.T) {
	r := &scalehist.ReplayReport{StartTime: start, EndTime: at(60),
		Start:         scalehist.ClusterSnapshot{Nodes: []scalehist.NodeInfo{{Name: "a", NodeGroup: "std"}, {Name: "b"}}},
		ScaledUpNodes: []scalehist.ScaledNode{{Name: "c", NodeGroup: "std", RequestedAt: at(5), ReadyAt: at(15), RemovedAt: new(at(50))}},
		Batches:       []scalehist.Batch{{At: at(15), NodesJoined: []string{"c", "d"}}, {At: at(30), NodesGone: []string{"a"}}, {At: at(50), NodesGone: []string{"c"}}, {At: at(55), NodesJoined: []string{"a"}}}}
	second := func(s int) time.Duration { return time.Duration(s) * time.Second }
	want := []Node{
		{Name: "a", Group: "std", To: second(30)}, {Name: "b", To: second(60)}, {Name: "c", Group: "std", From: second(15), To: second(50), Asked: new(second(5))},
		{Name: "d", From: second(15), To: second(60)}, {Name: "a", From: second(55), To: second(60)},
	}
	if diff := cmp.Diff(want, Nodes(r)); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}
