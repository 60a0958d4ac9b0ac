package crank

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// twins remember how the scheduling of a pod ended without a node, for others that differ from it in nothing a plugin looks at, until
// anything changes. Of a hundred pods of one job that wait, all are tried again at every event that may help one; with nothing
// placed in between, the ninety-nine come to the end of the first.
type twins struct {
	// changes is what the scheduler had been shown when the first of the outcomes came about.
	changes  int64
	outcomes map[twin]*outcome
	// of are the pods that wait and did not change since their last try.
	of map[types.UID]twin
	// spared counts the cycles that were not run.
	spared int
}

// twin is a digest of all that plugins see of a plain pod without a node: everything but its name, its age and its conditions.
type twin [sha256.Size]byte

// outcome is how a cycle ended.
type outcome struct {
	code       fwk.Code
	diagnosis  framework.Diagnosis
	nodes      int
	nominating fwk.NominatingInfo
	// message is what is said of the pod; "" before a twin needs it.
	message string
}

// twinOf is the digest of a pod; kept until the pod changes.
func (t *twins) twinOf(pod *corev1.Pod) (twin, bool) {
	if d, known := t.of[pod.UID]; known {
		return d, true
	}
	meta := metav1.ObjectMeta{Namespace: pod.Namespace, Labels: pod.Labels, Annotations: pod.Annotations, OwnerReferences: pod.OwnerReferences}
	head, err := meta.Marshal()
	if err != nil {
		return twin{}, false
	}
	spec, err := pod.Spec.Marshal()
	if err != nil {
		return twin{}, false
	}
	d := sha256.Sum256(slices.Concat(head, []byte{0xff}, spec))
	if t.of == nil {
		t.of = map[types.UID]twin{}
	}
	t.of[pod.UID] = d
	return d, true
}

// forget drops what hangs on a pod that changed or waits no more.
func (t *twins) forget(uid types.UID) { delete(t.of, uid) }

// begin is called before each cycle: outcomes hold while the scheduler is shown nothing.
func (t *twins) begin(changes int64) {
	if t.changes != changes {
		t.clear()
		t.changes = changes
	}
}

// clear forgets all outcomes, after a cycle that placed a pod or made room for one.
func (t *twins) clear() { clear(t.outcomes) }

// failed notes how a cycle ended that the memory of scheduling answered by itself: such an end hangs on nothing but the nodes and what
// twins share. A pod that has a node nominated, now or before, is no twin of anybody.
func (t *twins) failed(pod *corev1.Pod, status *fwk.Status, nominating *fwk.NominatingInfo) {
	fit, ok := status.AsError().(*framework.FitError) //nolint:errorlint // upstream asks for the type too
	if !ok || nominating == nil || nominating.NominatedNodeName != "" || pod.Status.NominatedNodeName != "" {
		t.clear()
		return
	}
	d, ok := t.twinOf(pod)
	if !ok {
		return
	}
	if t.outcomes == nil {
		t.outcomes = map[twin]*outcome{}
	}
	// Making the text means counting the reasons of all nodes. As the text of PreFilter it is taken as it is.
	o := &outcome{code: status.Code(), diagnosis: fit.Diagnosis, nodes: fit.NumAllNodes, nominating: *nominating}
	o.diagnosis.PostFilterMsg = ""
	reasons := (&framework.FitError{NumAllNodes: fit.NumAllNodes, Diagnosis: o.diagnosis}).Error()
	reasons, ok = strings.CutPrefix(reasons, fmt.Sprintf(framework.NoNodeAvailableMsg+": ", fit.NumAllNodes))
	if !ok {
		return
	}
	o.diagnosis.PreFilterMsg = strings.TrimSuffix(reasons, ".")
	o.diagnosis.PostFilterMsg = fit.Diagnosis.PostFilterMsg
	t.outcomes[d] = o
}

// known is the end of a pod that is next, if a twin came to it and nothing changed since.
func (t *twins) known(pod *corev1.Pod) *outcome {
	if len(t.outcomes) == 0 || pod.DeletionTimestamp != nil || pod.Status.NominatedNodeName != "" || len(pod.Status.ContainerStatuses) > 0 {
		return nil
	}
	d, ok := t.twinOf(pod)
	if !ok {
		return nil
	}
	return t.outcomes[d]
}

// once schedules the pod that is next, as upstream's ScheduleOne.
func (c *Crank) once(ctx context.Context) {
	if c.recall == nil {
		c.sched.ScheduleOne(ctx)
		return
	}
	c.twins.begin(c.leftovers.changes)
	info, err := c.sched.NextPod(klog.FromContext(ctx))
	if err == nil && info != nil && info.Pod != nil {
		if o := c.twins.known(info.Pod); o != nil {
			if assumed, err := c.sched.Cache.IsAssumedPod(info.Pod); err == nil && !assumed {
				c.twins.spared++
				c.twinFailed(ctx, info, o)
				return
			}
		}
	}
	c.popped = &popped{info, err}
	c.sched.ScheduleOne(ctx)
	if !c.recall.TakeRefused() || c.preempted {
		c.twins.clear()
	}
}

// popped is what the queue gave for the next cycle.
type popped struct {
	info *framework.QueuedPodInfo
	err  error
}
