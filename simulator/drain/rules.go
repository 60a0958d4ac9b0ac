package drain

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
)

// Annotations on pods that the rules read.
const (
	safeToEvict        = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	safeToEvictVolumes = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
)

// Reasons for which a pod blocks, in upstream's words (utils/drain.BlockingPodReason).
const (
	ControllerNotFound       = "ControllerNotFound"
	MinReplicasReached       = "MinReplicasReached"
	NotReplicated            = "NotReplicated"
	LocalStorageRequested    = "LocalStorageRequested"
	NotSafeToEvictAnnotation = "NotSafeToEvictAnnotation"
	UnmovableKubeSystemPod   = "UnmovableKubeSystemPod"
	NotEnoughPdb             = "NotEnoughPdb"
)

// Options are the settings of the drain rules, by upstream flag: which pods keep their node.
type Options struct {
	// SkipSystemPods: pods of kube-system block (--skip-nodes-with-system-pods).
	SkipSystemPods bool `json:"skipSystemPods,omitempty"`
	// SkipLocalStorage: pods with local storage block (--skip-nodes-with-local-storage).
	SkipLocalStorage bool `json:"skipLocalStorage,omitempty"`
	// SkipCustomControllers: pods of controllers that are not Kubernetes' own block (--skip-nodes-with-custom-controller-pods).
	SkipCustomControllers bool `json:"skipCustomControllers,omitempty"`
	// MinReplicaCount is the fewest replicas a controller must want (--min-replica-count).
	MinReplicaCount int `json:"minReplicaCount,omitempty"`
	// SystemPodTimeout is the age from which a kube-system pod no longer blocks (--blocking-system-pod-distruption-timeout): "1h".
	SystemPodTimeout scalehist.Duration `json:"systemPodTimeout,omitempty"`
}

// Action is what becomes of a pod when its node is removed.
type Action uint8

// The actions. Unjudged pods, those no rule has an opinion on, move.
const (
	unjudged Action = iota
	// Move: the pod needs a place elsewhere.
	Move
	// Skip: the pod plays no part.
	Skip
	// Wait: the node goes after the pod is done.
	Wait
	// Block: the node does not go.
	Block
)

// Verdict is what a rule says of a pod, Reason why it blocks.
type Verdict struct {
	Action Action
	Reason string
}

// Judge applies the rules at an instant. Owners nil: nothing is known of controllers, so none is missed. Budgets nil:
// there are none.
type Judge struct {
	Now     time.Time
	Options Options
	Owners  *Owners
	Budgets *Budgets
}

// rule has an opinion on a pod, or says unjudged.
type rule struct {
	name  string
	judge func(j *Judge, p *corev1.Pod) Verdict
}

// rules are all rules in upstream's order: the first with an opinion wins.
var rules = []rule{
	{"mirror", func(_ *Judge, p *corev1.Pod) Verdict { return when(IsMirror(p), Skip, "") }},
	{"long terminating", func(j *Judge, p *corev1.Pod) Verdict { return when(LongTerminating(p, j.Now), Skip, "") }},
	{"replica count", replicaCount},
	{"daemon set", func(_ *Judge, p *corev1.Pod) Verdict { return when(IsDaemonSet(p), Move, "") }},
	{"safe to evict", func(_ *Judge, p *corev1.Pod) Verdict { return when(p.Annotations[safeToEvict] == "true", Move, "") }},
	{"terminal", func(_ *Judge, p *corev1.Pod) Verdict {
		return when(p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed, Move, "")
	}},
	{"on completion", func(_ *Judge, p *corev1.Pod) Verdict {
		return when(p.Annotations[safeToEvict] == "on-completion", Wait, "")
	}},
	{"replicated", func(j *Judge, p *corev1.Pod) Verdict { return when(!j.replicated(p), Block, NotReplicated) }},
	{"system", systemPod},
	{"not safe to evict", func(_ *Judge, p *corev1.Pod) Verdict {
		return when(p.Annotations[safeToEvict] == "false", Block, NotSafeToEvictAnnotation)
	}},
	{"local storage", func(j *Judge, p *corev1.Pod) Verdict {
		return when(j.Options.SkipLocalStorage && localStorage(p), Block, LocalStorageRequested)
	}},
	{"budget", func(j *Judge, p *corev1.Pod) Verdict { return when(j.Budgets.exhausted(p), Block, NotEnoughPdb) }},
}

func when(opinion bool, a Action, reason string) Verdict {
	if !opinion {
		return Verdict{}
	}
	return Verdict{a, reason}
}

// Pod is the verdict on one pod.
func (j *Judge) Pod(p *corev1.Pod) Verdict {
	for i := range rules {
		if v := rules[i].judge(j, p); v.Action != unjudged {
			return v
		}
	}
	return Verdict{Action: Move}
}

// Pods are a node's pods by what becomes of them.
type Pods struct {
	// Move need a place elsewhere, DaemonSet come with their node, both in the order given.
	Move, DaemonSet []*corev1.Pod
	// Waits: some pod must complete first.
	Waits bool
	// Blocking is the first pod that keeps the node, nil for none; Reason says why.
	Blocking *corev1.Pod
	Reason   string
}

// Sort judges pods in order up to the first that blocks.
func (j *Judge) Sort(pods []*corev1.Pod) Pods {
	var out Pods
	for _, p := range pods {
		v := j.Pod(p)
		switch v.Action {
		case Block:
			out.Blocking, out.Reason = p, v.Reason
			return out
		case Wait:
			out.Waits = true
		case Move:
			if IsDaemonSet(p) {
				out.DaemonSet = append(out.DaemonSet, p)
			} else {
				out.Move = append(out.Move, p)
			}
		}
	}
	return out
}

// replicaCount blocks pods whose controller is gone, or wants fewer replicas than the setting. Upstream looks at this
// only while pods of custom controllers block, too.
func replicaCount(j *Judge, p *corev1.Pod) Verdict {
	c := metav1.GetControllerOfNoCopy(p)
	if !j.Options.SkipCustomControllers || c == nil || j.Owners == nil {
		return Verdict{}
	}
	replicas, counted, found := j.Owners.replicas(c.Kind, p.Namespace, c.Name)
	switch {
	case !found:
		return Verdict{Block, ControllerNotFound}
	case counted && int(replicas) < j.Options.MinReplicaCount:
		return Verdict{Block, MinReplicasReached}
	}
	return Verdict{}
}

// replicated: somebody makes the pod again. With custom controllers skipped only the built-in kinds count.
func (j *Judge) replicated(p *corev1.Pod) bool {
	c := metav1.GetControllerOfNoCopy(p)
	if c == nil {
		return false
	}
	return !j.Options.SkipCustomControllers || slices.Contains(knownKinds, c.Kind)
}

// systemPod: without a budget, a kube-system pod blocks until it is old enough, and from then on may go whatever the
// later rules say.
func systemPod(j *Judge, p *corev1.Pod) Verdict {
	if !j.Options.SkipSystemPods || p.Namespace != metav1.NamespaceSystem || j.Budgets.match(p) {
		return Verdict{}
	}
	if p.CreationTimestamp.Add(time.Duration(j.Options.SystemPodTimeout)).Before(j.Now) {
		return Verdict{Action: Move}
	}
	return Verdict{Block, UnmovableKubeSystemPod}
}

// localStorage: the pod has a hostPath or an emptyDir on disk that its annotation does not name as expendable.
func localStorage(p *corev1.Pod) bool {
	named := strings.Split(p.Annotations[safeToEvictVolumes], ",")
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		local := v.HostPath != nil || (v.EmptyDir != nil && v.EmptyDir.Medium != corev1.StorageMediumMemory)
		if local && !slices.ContainsFunc(named, func(n string) bool { return strings.TrimSpace(n) == v.Name }) {
			return true
		}
	}
	return false
}
