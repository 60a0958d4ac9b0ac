package intake

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/trace"
)

func simplePod(name string, edits ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

func labelled(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels = map[string]string{key: value} }
}

func restarted(p corev1.RestartPolicy) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.RestartPolicy = p }
}

func setOf(selector string) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d", UID: "d"}, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": selector}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": selector}}, Spec: simplePod("").Spec},
	}}
}

func taintedGroup(group string, effect corev1.TaintEffect) scalehist.NodeGroup {
	return scalehist.NodeGroup{Name: group, MaxSize: 3, Template: &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "k", Effect: effect}}}}}
}

// TestRefusals: what an API server would refuse of a window is found with its fields, whichever object and change it is.
func TestRefusals(t *testing.T) {
	begin := time.Date(2024, 5, 28, 10, 0, 0, 0, time.UTC)
	change := func(op scalehist.Op, objects ...scalehist.Object) (out []scalehist.Change) {
		for i, o := range objects {
			out = append(out, scalehist.Change{At: begin.Add(time.Duration(i) * time.Second), Op: op, Object: o})
		}
		return out
	}
	many := make([]scalehist.Object, 150)
	for i := range many {
		many[i] = simplePod(fmt.Sprint("p-", i), restarted("Sometimes"))
	}
	like := change(scalehist.OpAdd, simplePod("a"), simplePod("b"), simplePod("c"))
	for name, tt := range map[string]struct {
		in   trace.Input
		want []string // object, and what its first field's message begins with
		n    int      // instead of want
	}{
		"nothing":  {in: trace.Input{Initial: change(scalehist.OpAdd, setOf("x"), simplePod("a")), NodeGroups: []scalehist.NodeGroup{taintedGroup("g", "NoSchedule")}}},
		"at start": {in: trace.Input{Initial: change(scalehist.OpAdd, simplePod("a", restarted("Sometimes")), simplePod("b"))}, want: []string{"a spec.restartPolicy"}},
		"later":    {in: trace.Input{Initial: change(scalehist.OpAdd, simplePod("b")), Changes: change(scalehist.OpAdd, simplePod("a", labelled("a b", "")))}, want: []string{"a metadata.labels"}},
		"an immutable field": {in: trace.Input{Initial: change(scalehist.OpAdd, setOf("x")), Changes: change(scalehist.OpUpdate, setOf("y"))},
			want: []string{"d spec.selector"}},
		"a change of one that is like another": {in: trace.Input{Initial: like, Changes: change(scalehist.OpUpdate, simplePod("c", labelled("k", "v")), simplePod("b", labelled("k", "v w")))},
			want: []string{"b metadata.labels"}},
		"the name of one that is like another": {in: trace.Input{Initial: like, Changes: change(scalehist.OpAdd, simplePod("D"))}, want: []string{"D metadata.name"}},
		"the node of one that is like another": {in: trace.Input{Initial: append(change(scalehist.OpAdd, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "N_1", UID: "n"}}), like...)},
			want: []string{"N_1 metadata.name"}},
		"one of a name that was free again": {in: trace.Input{Initial: like, Changes: append(change(scalehist.OpDelete, simplePod("c")), change(scalehist.OpAdd, simplePod("c", restarted("Sometimes")))...)},
			want: []string{"c spec.restartPolicy"}},
		"each object once": {in: trace.Input{Changes: append(change(scalehist.OpAdd, simplePod("a", restarted("Sometimes"))), change(scalehist.OpAdd, simplePod("a", restarted("Never?")))...)},
			want: []string{"a spec.restartPolicy"}},
		"nodes of a group": {in: trace.Input{NodeGroups: []scalehist.NodeGroup{taintedGroup("g", "Never"), taintedGroup("h", "")}}, want: []string{"group g metadata.taints[0].effect", "group h metadata.taints[0].effect"}},
		"nodes of a group that changes": {in: trace.Input{NodeGroups: []scalehist.NodeGroup{taintedGroup("g", "NoSchedule")},
			GroupChanges: []trace.GroupChange{{At: begin, Group: taintedGroup("g", "Never")}, {At: begin, Op: scalehist.OpAdd, Group: taintedGroup("X", "NoSchedule")}, {At: begin, Op: scalehist.OpDelete, Group: taintedGroup("z", "Never")}}},
			want: []string{"group g metadata.taints[0].effect", "group X metadata.name"}},
		"pods of new nodes": {in: trace.Input{NodeGroups: []scalehist.NodeGroup{taintedGroup("g", "NoSchedule")}, StaticPods: map[string][]*corev1.Pod{"g": {simplePod("proxy", restarted("Sometimes"))}}},
			want: []string{"group g spec.restartPolicy"}},
		"many": {in: trace.Input{Changes: change(scalehist.OpAdd, many...)}, n: mostRefusals},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.in.Start, tt.in.End = begin, begin.Add(time.Hour)
			found, err := Refusals(t.Context(), &tt.in)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range found {
				name := "group " + r.Group
				if r.Object != nil {
					name = r.Object.GetName()
				}
				field, _, _ := strings.Cut(strings.Join(r.Why, " "), ":")
				got = append(got, name+" "+field)
			}
			if tt.n > 0 {
				if len(got) != tt.n {
					t.Errorf("%d found, want %d", len(got), tt.n)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRefusalsEnd: asking ends with its context.
func TestRefusalsEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in := &trace.Input{Start: time.Unix(0, 0), End: time.Unix(1, 0), Initial: []scalehist.Change{{Op: scalehist.OpAdd, Object: simplePod("a")}}}
	if _, err := Refusals(ctx, in); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
