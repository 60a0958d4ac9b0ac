package redact

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
)

// world is a few objects that refer to each other, from few enough words that many references hold.
type world struct {
	pods  []*corev1.Pod
	nodes []*corev1.Node
}

func anyWorld(t *rapid.T) world {
	word := rapid.SampledFrom([]string{"web", "web2", "a", "b-c", "kube", "prod-eu-1", "10-0-1-2", "10-0-1-20", "7d9f8", "Zone_A", "node", "2048", "x"})
	key := rapid.SampledFrom([]string{"app", "team", "acme.io/pool", "kubernetes.io/hostname", "topology.kubernetes.io/zone", "size",
		"node-role.kubernetes.io/acme"})
	value := func(k string) string {
		if k == "size" {
			return rapid.SampledFrom([]string{"1", "12", "1024", "4096"}).Draw(t, "size")
		}
		return rapid.OneOf(word, rapid.Just(""), rapid.Just("true")).Draw(t, "value")
	}
	set := func(n int) map[string]string {
		out := map[string]string{}
		for range rapid.IntRange(0, n).Draw(t, "labels") {
			k := key.Draw(t, "key")
			out[k] = value(k)
		}
		return out
	}
	requirement := func() metav1.LabelSelectorRequirement {
		k := key.Draw(t, "key")
		r := metav1.LabelSelectorRequirement{Key: k, Operator: rapid.SampledFrom([]metav1.LabelSelectorOperator{metav1.LabelSelectorOpIn,
			metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist}).Draw(t, "operator")}
		if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
			r.Values = []string{value(k), value(k)}
		}
		return r
	}
	taint := func() corev1.Taint {
		k := key.Draw(t, "taint")
		return corev1.Taint{Key: k, Value: value(k), Effect: corev1.TaintEffectNoSchedule}
	}
	toleration := func() corev1.Toleration {
		k := key.Draw(t, "toleration")
		switch rapid.IntRange(0, 3).Draw(t, "tolerates") {
		case 0:
			return corev1.Toleration{Operator: corev1.TolerationOpExists}
		case 1:
			return corev1.Toleration{Key: k, Operator: corev1.TolerationOpExists}
		case 2:
			return corev1.Toleration{Key: "size", Operator: corev1.TolerationOpGt, Value: value("size")}
		}
		return corev1.Toleration{Key: k, Operator: corev1.TolerationOpEqual, Value: value(k)}
	}
	var w world
	for range rapid.IntRange(1, 4).Draw(t, "nodes") {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: word.Draw(t, "node") + "-" + word.Draw(t, "node"), Labels: set(4)}}
		for range rapid.IntRange(0, 2).Draw(t, "taints") {
			n.Spec.Taints = append(n.Spec.Taints, taint())
		}
		w.nodes = append(w.nodes, n)
	}
	for range rapid.IntRange(1, 4).Draw(t, "pods") {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: word.Draw(t, "namespace"), Name: word.Draw(t, "name") + "-" + word.Draw(t, "name"),
			Labels: set(4), UID: types.UID(word.Draw(t, "uid"))}}
		p.Spec.NodeName = rapid.SampledFrom(w.nodes).Draw(t, "node").Name
		p.Spec.NodeSelector = set(2)
		for range rapid.IntRange(0, 2).Draw(t, "tolerations") {
			p.Spec.Tolerations = append(p.Spec.Tolerations, toleration())
		}
		if len(w.pods) > 0 {
			owner := rapid.SampledFrom(w.pods).Draw(t, "owner")
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: owner.Name, UID: owner.UID}}
		}
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{TopologyKey: key.Draw(t, "topology"),
			LabelSelector: &metav1.LabelSelector{MatchLabels: set(2), MatchExpressions: []metav1.LabelSelectorRequirement{requirement()}}}}
		number := rapid.SampledFrom([]corev1.NodeSelectorOperator{corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt}).Draw(t, "compares")
		k := key.Draw(t, "key")
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{
				{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "size", Operator: number, Values: []string{value("size")}}}},
				{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: k, Operator: corev1.NodeSelectorOpIn, Values: []string{value(k), value(k)}}}},
				{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn,
					Values: []string{rapid.SampledFrom(w.nodes).Draw(t, "by name").Name}}}},
			}}}}
		w.pods = append(w.pods, p)
	}
	return w
}

func (w world) objects() []scalehist.Object {
	var out []scalehist.Object
	for _, n := range w.nodes {
		out = append(out, n)
	}
	for _, p := range w.pods {
		out = append(out, p)
	}
	return out
}

// redact goes over copies of the objects twice, as File does.
func (w world) redact(t *rapid.T) world {
	r := newRewriter(Options{Salt: saltA})
	for _, o := range w.objects() {
		r.object(o.DeepCopyObject().(scalehist.Object))
	}
	if err := r.settle(); err != nil {
		t.Fatal(err)
	}
	var out world
	for _, n := range w.nodes {
		out.nodes = append(out.nodes, n.DeepCopy())
	}
	for _, p := range w.pods {
		out.pods = append(out.pods, p.DeepCopy())
	}
	for _, o := range out.objects() {
		r.object(o)
	}
	if r.err != nil {
		t.Fatal(r.err)
	}
	return out
}

// TestRelationsHold: whatever selects, tolerates, owns, sits on or sorts before something does so afterwards.
func TestRelationsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := anyWorld(t)
		after := before.redact(t)
		same := func(what string, was, is any) {
			if was != is {
				t.Fatalf("%s was %v and is %v\nbefore %+v\nafter  %+v", what, was, is, before, after)
			}
		}
		for i, p := range before.pods {
			q := after.pods[i]
			for j, n := range before.nodes {
				m := after.nodes[j]
				was, err := nodeaffinity.GetRequiredNodeAffinity(p).Match(n)
				is, err2 := nodeaffinity.GetRequiredNodeAffinity(q).Match(m)
				same("node affinity", was, is)
				same("error of node affinity", err == nil, err2 == nil)
				same("place", p.Spec.NodeName == n.Name, q.Spec.NodeName == m.Name)
				for a := range p.Spec.Tolerations {
					for b := range n.Spec.Taints {
						same("toleration", p.Spec.Tolerations[a].ToleratesTaint(klog.Background(), &n.Spec.Taints[b], true),
							q.Spec.Tolerations[a].ToleratesTaint(klog.Background(), &m.Spec.Taints[b], true))
					}
				}
			}
			for j, other := range before.pods {
				twin := after.pods[j]
				was, _ := metav1.LabelSelectorAsSelector(p.Spec.TopologySpreadConstraints[0].LabelSelector)
				is, _ := metav1.LabelSelectorAsSelector(q.Spec.TopologySpreadConstraints[0].LabelSelector)
				same("selector", was.Matches(labels.Set(other.Labels)), is.Matches(labels.Set(twin.Labels)))
				if a, b := p.Namespace+"/"+p.Name, other.Namespace+"/"+other.Name; hasAddress(a) == hasAddress(b) {
					same("order", strings.Compare(a, b), strings.Compare(q.Namespace+"/"+q.Name, twin.Namespace+"/"+twin.Name))
				}
				same("uid", p.UID == other.UID, q.UID == twin.UID)
				if len(p.OwnerReferences) > 0 {
					a, b := p.OwnerReferences[0], q.OwnerReferences[0]
					same("owner", a.UID == other.UID && a.Name == other.Name, b.UID == twin.UID && b.Name == twin.Name)
				}
			}
			if problems := validation.IsDNS1123Label(strings.ToLower(q.Namespace)); len(problems) > 0 && len(validation.IsDNS1123Label(p.Namespace)) == 0 {
				t.Fatalf("namespace %q: %v", q.Namespace, problems)
			}
			for k, v := range q.Labels {
				if problems := slices.Concat(validation.IsQualifiedName(k), validation.IsValidLabelValue(v)); len(problems) > 0 {
					t.Fatalf("label %s=%s: %v", k, v, problems)
				}
			}
		}
	})
}

// hasAddress: addresses have an order of their own.
func hasAddress(s string) bool {
	return slices.ContainsFunc(pieces(s), func(p piece) bool { return p.octet })
}

// TestOrderHolds: pseudonyms of names sort as the names do, whatever words they are made of.
func TestOrderHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching(`[a-zA-Z0-9_]{1,4}([-./][a-zA-Z0-9]{1,4}){0,3}`), 2, 20).Draw(t, "names")
		names = slices.DeleteFunc(names, hasAddress)
		r := newRewriter(Options{Salt: saltA, KeepNamespaces: []string{"team-a", "x"}})
		for _, n := range names {
			r.name("name", n)
		}
		if err := r.settle(); err != nil {
			t.Fatal(err)
		}
		for _, a := range names {
			for _, b := range names {
				x, y := r.name("name", a), r.name("name", b)
				if r.err != nil {
					t.Fatal(r.err)
				}
				if strings.Compare(a, b) != strings.Compare(x, y) {
					t.Fatalf("%q and %q became %q and %q", a, b, x, y)
				}
				if back := r.mapping.Restore(x); back != a && !strings.ContainsAny(a, "_") {
					t.Fatalf("%q became %q, which restores to %q", a, x, back)
				}
			}
		}
	})
}
