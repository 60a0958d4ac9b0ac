package profile

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// lowest is the lowest priority among the pods of a node at a generation of it.
type lowest struct {
	generation int64
	priority   int32
	any        bool
}

// PostFilter preempts as upstream does. Where no pod on any node has a lower priority than this one, as in most clusters, there
// is nobody to preempt, and upstream would come to that by copying every node and looking at every pod: the answer is put
// together without.
func (p *preemption) PostFilter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, m fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	nodes, err := p.Evaluator.Handler.SnapshotSharedLister().NodeInfos().List()
	if err != nil || len(nodes) == 0 || pod.Spec.SchedulingGroup != nil || p.anyBelow(corev1helpers.PodPriority(pod), nodes) {
		return p.DefaultPreemption.PostFilter(ctx, state, pod, m)
	}
	current, err := p.Evaluator.PodLister.Pods(pod.Namespace).Get(pod.Name)
	if err != nil || corev1helpers.PodPriority(current) != corev1helpers.PodPriority(pod) {
		return p.DefaultPreemption.PostFilter(ctx, state, pod, m)
	}
	if ok, why := p.PodEligibleToPreemptOthers(ctx, current, m.Get(current.Status.NominatedNodeName)); !ok {
		return nil, fwk.NewStatus(fwk.Unschedulable, "preemption: "+why)
	}
	might, err := m.NodesForStatusCode(p.Evaluator.Handler.SnapshotSharedLister().NodeInfos(), fwk.Unschedulable)
	if err != nil {
		return nil, fwk.NewStatus(fwk.Error, "preemption: "+err.Error())
	}
	return framework.NewPostFilterResultWithNominatedNode(""), fwk.NewStatus(fwk.Unschedulable, "preemption: "+p.noVictims(len(might), len(nodes)))
}

// noVictims is upstream's message where some of the nodes were looked at and have no victims, and removing pods from the others does not
// help. It hangs on the two numbers alone, and a pod that waits is tried often, so the texts are kept.
func (p *preemption) noVictims(looked, nodes int) string {
	key := [2]int{looked, nodes}
	text, known := p.texts[key]
	if !known {
		statuses := framework.NewDefaultNodeToStatus()
		statuses.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "Preemption is not helpful for scheduling"))
		none := fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "No preemption victims found for incoming pod")
		for i := range looked {
			statuses.Set(strconv.Itoa(i), none)
		}
		text = (&framework.FitError{NumAllNodes: nodes, Diagnosis: framework.Diagnosis{NodeToStatus: statuses}}).Error()
		p.texts[key] = text
	}
	return text
}

// anyBelow says whether a pod on some node has a lower priority.
func (p *preemption) anyBelow(priority int32, nodes []fwk.NodeInfo) bool {
	for _, n := range nodes {
		name, generation := n.Node().Name, n.GetGeneration()
		l, known := p.lowest[name]
		if !known || l.generation != generation {
			l = lowest{generation: generation}
			for _, on := range n.GetPods() {
				if v := corev1helpers.PodPriority(on.GetPod()); !l.any || v < l.priority {
					l.priority, l.any = v, true
				}
			}
			if len(p.lowest) > 2*len(nodes)+100 {
				clear(p.lowest) // nodes that are gone
			}
			p.lowest[name] = l
		}
		if l.any && l.priority < priority {
			return true
		}
	}
	return false
}
