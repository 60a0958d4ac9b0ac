package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var referenceRules = []Rule{
	{Code: "SH201", Title: "PriorityClass not recorded", Severity: Error, run: priorityClasses,
		Doc: "Pods name a PriorityClass that is not in the window. A pod without spec.priority cannot be admitted then and stops a replay: an error. " +
			"One that has it keeps its priority: a warning, for nothing shows the class's preemption policy.",
		Advice: "let the recorder read priorityclasses, or give the pods of an object log spec.priority"},
	{Code: "SH202", Title: "PersistentVolumeClaim not recorded", Severity: Warning, run: podClaims,
		Doc:    "Pods use a claim that is not in the window. The scheduler of a replay does not place them: they wait to the end.",
		Advice: "let the recorder read persistentvolumeclaims"},
	{Code: "SH203", Title: "RuntimeClass not recorded", Severity: Info, run: runtimeClasses,
		Doc: "Pods name a RuntimeClass that is not in the window. What it adds (overhead, node selector, tolerations) is in recorded pods already; only " +
			"pods of an object log that were never admitted lack it.",
		Advice: "let the recorder read runtimeclasses, or give the pods of an object log spec.overhead"},
	{Code: "SH204", Title: "StorageClass not recorded", Severity: Warning, run: storageClasses,
		Doc:    "Claims that are not bound name a StorageClass that is not in the window: nothing shows when and where to provision, and their pods wait.",
		Advice: "let the recorder read storageclasses"},
	{Code: "SH205", Title: "PersistentVolume not recorded", Severity: Warning, run: volumes,
		Doc:    "Claims are bound to a volume that is not in the window: its zone is not known, and pods that use the claim cannot be placed.",
		Advice: "let the recorder read persistentvolumes"},
	{Code: "SH206", Title: "node not recorded", Severity: Warning, run: boundNodes,
		Doc: "Pods were bound to a node that is not in the window. At the start a replay takes them for pending; later the recorded placement " +
			"cannot be compared.",
		Advice: "check that the account may read nodes, and whether the recorder was cut off when the node came"},
	{Code: "SH207", Title: "owner not recorded", Severity: Warning, run: owners,
		Doc: "Pods have a controller that is not in the window. A replay pairs an evicted pod with the one its owner made by the owner's UID alone, and " +
			"cannot tell a replica that was evicted from one that was given up; upstream's drain rules do not move a pod whose controller is not found. " +
			"Controllers of kinds that no history holds (operators' own) are an info, one for each kind.",
		Advice: "let the recorder read the owner's kind; for owners of other kinds, look at evictions in the window with care"},
	{Code: "SH208", Title: "DaemonSet not recorded", Severity: Warning, run: daemonSets,
		Doc:    "Pods belong to a DaemonSet that is not in the window. Nodes that come in a replay do not get its pod, and so have more room than the real ones.",
		Advice: "let the recorder read daemonsets, or add the DaemonSet to the object log"},
}

// mentions counts who refers to something that is not there, in the order the first of each was seen.
type mentions struct {
	order []ref
	of    map[ref]*mention
}

type mention struct {
	first *life
	n     int
	worst Severity
}

func (m *mentions) add(missing ref, l *life, s Severity) {
	if m.of == nil {
		m.of = map[ref]*mention{}
	}
	e := m.of[missing]
	if e == nil {
		e = &mention{first: l, worst: s}
		m.of[missing] = e
		m.order = append(m.order, missing)
	}
	e.n++
	if s != "" && s.AtLeast(e.worst) {
		e.worst = s
	}
}

// findings writes one for each missing thing; verb is "name", "use".
func (m *mentions) findings(verb string) []Finding {
	var out []Finding
	for _, r := range m.order {
		e := m.of[r]
		m := verbs(verb)
		if e.n > 1 {
			m = fmt.Sprintf("the first of %d pods that %s", e.n, verb)
		}
		out = append(out, Finding{At: e.first.seen, Object: e.first.ref().String(), Severity: e.worst, Message: fmt.Sprintf("%s %s, which was not recorded", m, r)})
	}
	return out
}

// verbs is "stands on" for "stand on".
func verbs(verb string) string {
	first, rest, ok := strings.Cut(verb, " ")
	if !ok {
		return verb + "s"
	}
	return first + "s " + rest
}

// isBuiltIn: the API server makes these two itself.
func isBuiltIn(class string) bool {
	return class == "system-cluster-critical" || class == "system-node-critical"
}

func priorityClasses(_ context.Context, in *Input) ([]Finding, error) {
	var m mentions
	for _, l := range in.scene.pods {
		r := ref{kind: "PriorityClass", name: l.pod.Spec.PriorityClassName}
		if r.name == "" || isBuiltIn(r.name) || in.scene.seen[r] {
			continue
		}
		s := Warning
		if l.pod.Spec.Priority == nil {
			s = Error
		}
		m.add(r, l, s)
	}
	return m.findings("name"), nil
}

func podClaims(_ context.Context, in *Input) ([]Finding, error) {
	var m mentions
	for _, l := range in.scene.pods {
		if !l.needsRoom() {
			continue
		}
		for _, v := range l.pod.Spec.Volumes {
			r := ref{"PersistentVolumeClaim", l.pod.Namespace, ""}
			if v.PersistentVolumeClaim != nil {
				r.name = v.PersistentVolumeClaim.ClaimName // those of ephemeral volumes are made again
			}
			if r.name != "" && !in.scene.seen[r] {
				m.add(r, l, "")
			}
		}
	}
	return m.findings("use"), nil
}

func runtimeClasses(_ context.Context, in *Input) ([]Finding, error) {
	var m mentions
	for _, l := range in.scene.pods {
		if c := l.pod.Spec.RuntimeClassName; c != nil && !in.scene.seen[ref{kind: "RuntimeClass", name: *c}] {
			m.add(ref{kind: "RuntimeClass", name: *c}, l, "")
		}
	}
	return m.findings("name"), nil
}

// claimFindings reports claims whose reference, if they have one, was not recorded: one finding for each missing thing.
func claimFindings(in *Input, of func(*corev1.PersistentVolumeClaim) ref) []Finding {
	var out []Finding
	reported := map[ref]bool{}
	for _, c := range in.scene.claims {
		r := of(c.object)
		if r.name == "" || in.scene.seen[r] || reported[r] {
			continue
		}
		reported[r] = true
		out = append(out, Finding{At: c.at, Object: refOf(c.object).String(), Message: fmt.Sprintf("the claim names %s, which was not recorded", r)})
	}
	return out
}

func storageClasses(_ context.Context, in *Input) ([]Finding, error) {
	return claimFindings(in, func(c *corev1.PersistentVolumeClaim) ref {
		if c.Spec.StorageClassName == nil || c.Spec.VolumeName != "" {
			return ref{}
		}
		return ref{kind: "StorageClass", name: *c.Spec.StorageClassName}
	}), nil
}

func volumes(_ context.Context, in *Input) ([]Finding, error) {
	return claimFindings(in, func(c *corev1.PersistentVolumeClaim) ref {
		return ref{kind: "PersistentVolume", name: c.Spec.VolumeName}
	}), nil
}

func boundNodes(_ context.Context, in *Input) ([]Finding, error) {
	var m mentions
	for _, l := range in.scene.pods {
		r := ref{kind: "Node", name: l.pod.Spec.NodeName}
		if r.name != "" && !in.scene.seen[r] {
			m.add(r, l, "")
		}
	}
	return m.findings("stand on"), nil
}

// ownerKinds are the controllers of pods that a history holds, DaemonSets apart.
var ownerKinds = []string{"ReplicaSet", "StatefulSet", "Job", "ReplicationController"}

func owners(_ context.Context, in *Input) ([]Finding, error) {
	var known, others mentions
	for _, l := range in.scene.pods {
		o := metav1.GetControllerOf(l.pod)
		switch {
		case o == nil || o.Kind == "Node" || o.Kind == "DaemonSet":
		case !slices.Contains(ownerKinds, o.Kind):
			others.add(ref{kind: "owners of kind", name: o.Kind}, l, Info)
		case !in.scene.seen[ref{o.Kind, l.pod.Namespace, o.Name}]:
			known.add(ref{o.Kind, l.pod.Namespace, o.Name}, l, "")
		}
	}
	return append(known.findings("belong to"), others.findings("belong to")...), nil
}

func daemonSets(_ context.Context, in *Input) ([]Finding, error) {
	var m mentions
	for _, l := range in.scene.pods {
		if o := metav1.GetControllerOf(l.pod); o != nil && o.Kind == "DaemonSet" {
			if r := (ref{"DaemonSet", l.pod.Namespace, o.Name}); !in.scene.seen[r] {
				m.add(r, l, "")
			}
		}
	}
	return m.findings("belong to"), nil
}
