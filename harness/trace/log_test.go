package trace

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// epoch is where the logs of these tests start.
var epoch = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)

// objectLog is an object log under construction: lines at offsets from epoch.
type objectLog struct{ bytes.Buffer }

type fields = map[string]any

func (l *objectLog) line(at time.Duration, op scalehist.Op, object fields) *objectLog {
	b, err := json.Marshal(fields{"at": epoch.Add(at).Format(time.RFC3339Nano), "op": op, "object": object})
	if err != nil {
		panic(err)
	}
	l.Write(append(b, '\n'))
	return l
}

func (l *objectLog) add(at time.Duration, objects ...fields) *objectLog {
	for _, o := range objects {
		l.line(at, scalehist.OpAdd, o)
	}
	return l
}

func (l *objectLog) update(at time.Duration, objects ...fields) *objectLog {
	for _, o := range objects {
		l.line(at, scalehist.OpUpdate, o)
	}
	return l
}

func (l *objectLog) remove(at time.Duration, objects ...fields) *objectLog {
	for _, o := range objects {
		l.line(at, scalehist.OpDelete, o)
	}
	return l
}

// newLog begins with one node group, "std" of 1..5, and its node std-a, so that a window is never without.
func newLog() *objectLog {
	return new(objectLog).add(0, group("std", 1), node("std-a", "std"))
}

// history imports the log and opens what came of it.
func (l *objectLog) history(t *testing.T) *history.DB {
	t.Helper()
	dst := filepath.Join(t.TempDir(), "log.db")
	if _, err := transfer.Import(t.Context(), strings.NewReader(l.String()), dst, transfer.ImportOptions{Name: "log.jsonl"}); err != nil {
		t.Fatal(err)
	}
	db, err := history.Open(t.Context(), dst)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// input is what a replay of a window of the log feeds in; zero offsets are the log's own bounds.
func (l *objectLog) input(t *testing.T, from, to time.Duration) *Input {
	t.Helper()
	var w Window
	if from != 0 {
		w.From = epoch.Add(from)
	}
	if to != 0 {
		w.To = epoch.Add(to)
	}
	in, err := FromHistory(t.Context(), l.history(t), w)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// with merges paths such as "spec.nodeName" into a copy of an object.
func with(o fields, pathsAndValues ...any) fields {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	var out fields
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	for i := 0; i < len(pathsAndValues); i += 2 {
		at := out
		keys := strings.Split(pathsAndValues[i].(string), ".")
		for _, k := range keys[:len(keys)-1] {
			next, ok := at[k].(fields)
			if !ok {
				next = fields{}
				at[k] = next
			}
			at = next
		}
		at[keys[len(keys)-1]] = pathsAndValues[i+1]
	}
	return out
}

func meta(name string) fields {
	return fields{"name": name, "uid": name, "creationTimestamp": epoch.Format(time.RFC3339)}
}

func group(name string, target int) fields {
	return fields{"apiVersion": "scalehist.io/v1alpha1", "kind": "NodeGroup", "metadata": meta(name),
		"spec": fields{"minSize": 0, "maxSize": 5, "targetSize": target}}
}

var readyCondition = []fields{{"type": "Ready", "status": "True"}}

func node(name, group string) fields {
	n := fields{"apiVersion": "v1", "kind": "Node", "metadata": meta(name),
		"status": fields{"allocatable": fields{"cpu": "4", "pods": "110"}, "conditions": readyCondition}}
	if group == "" {
		return n
	}
	return with(n, "metadata.annotations", fields{"scalehist.io/node-group": group})
}

func tainted(n fields, keys ...string) fields {
	var taints []fields
	for _, k := range keys {
		taints = append(taints, fields{"key": k, "effect": "NoSchedule"})
	}
	return with(n, "spec.taints", taints)
}

const (
	gone    = "ToBeDeletedByClusterAutoscaler"
	maybe   = "DeletionCandidateOfClusterAutoscaler"
	unready = "node.kubernetes.io/not-ready"
)

// pod is owned by "Kind/name"; an empty owner is nobody.
func pod(name, owner string) fields {
	p := fields{"apiVersion": "v1", "kind": "Pod", "metadata": with(meta(name), "namespace", "default"),
		"spec":   fields{"containers": []fields{{"name": "c", "resources": fields{"requests": fields{"cpu": "1"}}}}},
		"status": fields{"phase": "Pending"}}
	if owner == "" {
		return p
	}
	kind, of, _ := strings.Cut(owner, "/")
	return with(p, "metadata.ownerReferences",
		[]fields{{"apiVersion": "apps/v1", "kind": kind, "name": of, "uid": owner, "controller": true}})
}

func bound(p fields, node string) fields {
	return with(p, "spec.nodeName", node, "status.phase", "Running")
}

// evicted is the pod with the condition the eviction API, preemption and the kubelet write.
func evicted(p fields, at time.Duration) fields {
	return with(p, "status.conditions", []fields{{
		"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
		"lastTransitionTime": epoch.Add(at).Format(time.RFC3339),
	}})
}

func event(name, reason, kind, of, message string) fields {
	return fields{"apiVersion": "v1", "kind": "Event", "metadata": fields{"namespace": "default", "name": name, "uid": name},
		"reason": reason, "message": message, "source": fields{"component": "cluster-autoscaler"}, "count": 1,
		"involvedObject": fields{"kind": kind, "namespace": "default", "name": of, "uid": of}}
}

func deployment(flags ...string) fields {
	return fields{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": with(meta("cluster-autoscaler"), "namespace", "kube-system"),
		"spec": fields{"template": fields{"spec": fields{"containers": []fields{{
			"name": "cluster-autoscaler", "image": "registry.k8s.io/autoscaling/cluster-autoscaler:v1.36.1", "command": append([]string{"./cluster-autoscaler"}, flags...),
		}}}}}}
}

func gapLine(to time.Duration, kinds ...string) fields {
	return fields{"apiVersion": "scalehist.io/v1alpha1", "kind": "Gap", "metadata": fields{"name": "1"},
		"spec": fields{"to": epoch.Add(to).Format(time.RFC3339Nano), "kinds": kinds, "why": "the recorder was down"}}
}

// lines writes causes as lines: "+10s add Pod web-1".
func lines(in *Input) []string {
	var out []string
	for _, ch := range in.Changes {
		out = append(out, "+"+ch.At.Sub(epoch).String()+" "+string(ch.Op)+" "+kindOf(ch.Object)+" "+ch.Object.GetName())
	}
	return out
}

// stood writes the initial state as "Node std-a", "Pod web-1 on std-a".
func stood(in *Input) []string {
	var out []string
	for _, ch := range in.Initial {
		text := kindOf(ch.Object) + " " + ch.Object.GetName()
		if p, ok := ch.Object.(*corev1.Pod); ok {
			text += " on " + p.Spec.NodeName
		}
		out = append(out, text)
	}
	return out
}

func kindOf(o scalehist.Object) string {
	id := strings.TrimPrefix(objectID(o), "*v1.")
	kind, _, _ := strings.Cut(id, "/")
	return kind
}

func changedPod(t *testing.T, in *Input, op scalehist.Op, name string) *corev1.Pod {
	t.Helper()
	for _, ch := range in.Changes {
		if p, ok := ch.Object.(*corev1.Pod); ok && ch.Op == op && p.Name == name {
			return p
		}
	}
	t.Fatalf("no %s of pod %s among %q", op, name, lines(in))
	return nil
}

func hasWarning(in *Input, text string) bool {
	for _, w := range in.Warnings {
		if strings.Contains(w, text) {
			return true
		}
	}
	return false
}

func nodeOf(ch scalehist.Change) *corev1.Node {
	n, _ := ch.Object.(*corev1.Node)
	return n
}
