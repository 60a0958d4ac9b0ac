package trace

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/internal/goldentest"
	"github.com/scalehist/scalehist/recorder/history/projection"
)

var update = flag.Bool("update", false, "write docs/annotations.md; please look at the diff")

func noted(o fields, annotations ...string) fields {
	for i := 0; i < len(annotations); i += 2 {
		all, _ := o["metadata"].(fields)["annotations"].(fields)
		next := fields{annotations[i]: annotations[i+1]}
		for k, v := range all {
			next[k] = v
		}
		o = with(o, "metadata.annotations", next)
	}
	return o
}

// TestAnnotationsThatAreNotHeeded: what pods and nodes ask for and a replay does not do is one warning an annotation, which
// counts them and names the first.
func TestAnnotationsThatAreNotHeeded(t *testing.T) {
	const (
		keep    = "karpenter.sh/do-not-disrupt"
		consume = "autoscaling.x-k8s.io/consume-provisioning-request"
		unknown = "cluster-autoscaler.kubernetes.io/made-up"
		heeded  = "cluster-autoscaler.kubernetes.io/safe-to-evict"
		silent  = "karpenter.sh/nodepool-hash"
	)
	deployment := fields{"apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "MachineDeployment", "metadata": with(meta("std"), "namespace", "shoot"), "spec": fields{"replicas": 1}}
	in := newLog().add(0, noted(pod("web-1", ""), keep, "true", heeded, "false"), noted(pod("web-2", ""), keep, "false"), noted(node("std-b", "std"), silent, "7", keep, "true")).
		add(5*sec, noted(pod("web-3", ""), keep, "true", consume, "big")).
		update(6*sec, noted(pod("web-3", ""), keep, "true", consume, "bigger"), noted(node("std-a", "std"), unknown, "yes")).
		add(7*sec, noted(deployment, "autoscaler.gardener.cloud/scale-down-unneeded-time", "3m"), group("shoot.std", 0)).
		input(t, 0, 0)
	var got []string
	for _, w := range in.Warnings {
		if strings.Contains(w, "annotation") || strings.Contains(w, "options") {
			got = append(got, w)
		}
	}
	want := []string{
		"autoscaling options are on MachineDeployment shoot/std, but their node groups were recorded without: flags decide",
		"annotation autoscaling.x-k8s.io/consume-provisioning-request is on pod default/web-3: ProvisioningRequests are not modelled: such pods count as any others",
		"annotation cluster-autoscaler.kubernetes.io/made-up is on node std-a: it is not known here, and nothing is done about it",
		"annotation karpenter.sh/do-not-disrupt is on 1 node and 2 pods (the first: node std-b): only Karpenter reads it: a cluster-autoscaler may remove such nodes, and move such pods",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestAnnotationsOfNodesAreCauses: a person who forbids a removal, or allows it again, does so in a replay; and what asks to
// delay a deletion is recorded at all.
func TestAnnotationsOfNodesAreCauses(t *testing.T) {
	const never, later = "cluster-autoscaler.kubernetes.io/scale-down-disabled", "delay-deletion.cluster-autoscaler.kubernetes.io/disks"
	in := newLog().update(5*sec, noted(node("std-a", "std"), never, "true")).
		update(6*sec, noted(node("std-a", "std"), never, "true", "karpenter.sh/nodepool-hash", "7")). // nothing that matters
		update(7*sec, noted(node("std-a", "std"), later, "detaching")).
		input(t, 0, 0)
	if diff := cmp.Diff([]string{"+5s update Node std-a", "+7s update Node std-a"}, lines(in)); diff != "" {
		t.Fatalf("causes (-want +got):\n%s", diff)
	}
	if n := nodeOf(in.Changes[1]); n.Annotations[later] != "detaching" || n.Annotations[never] != "" {
		t.Errorf("annotations %v, want that the deletion waits", n.Annotations)
	}
}

// TestAnnotationRulesAreComplete: each annotation that a history keeps has a rule.
func TestAnnotationRulesAreComplete(t *testing.T) {
	for _, key := range projection.Annotations() {
		if _, known := ruleOf(key); !known && !speaksToAutoscalers(key) {
			t.Errorf("a history keeps %s: want a rule that says what a replay makes of it", key)
		}
	}
	seen := map[string]bool{}
	for i, r := range annotationRules {
		if first, _ := ruleOf(r.key); first != r || seen[r.key] || r.about == "" || r.heeded && r.silent {
			t.Errorf("rule %d, %s: another one comes first, or it says nothing", i, r.key)
		}
		seen[r.key] = true
	}
}

func speaksToAutoscalers(key string) bool {
	for _, d := range autoscalerDomains {
		if key == d {
			return true
		}
	}
	return false
}

// TestAnnotationsPage: docs/annotations.md is the rules.
func TestAnnotationsPage(t *testing.T) {
	goldentest.Text(t, filepath.Join("..", "..", "docs", "annotations.md"), annotationsPage(), *update)
}

func annotationsPage() string {
	var b strings.Builder
	b.WriteString(`# Annotations

What a replay makes of each annotation that a history keeps. This page is written by a test from the rules that a replay uses; a second test
holds them complete. An annotation that autoscalers read and that has no rule is warned about as unknown. [flags.md](flags.md) is the same for
flags.

- **heeded**: a replay does as it says, or the recorder has;
- **warned about**: the report counts the pods and nodes that have it, and names the first;
- **without influence**: it changes nothing about a replay.
`)
	for _, part := range []struct {
		title string
		is    func(annotationRule) bool
	}{
		{"Heeded", func(r annotationRule) bool { return r.heeded }},
		{"Warned about", func(r annotationRule) bool { return !r.heeded && !r.silent }},
		{"Without influence", func(r annotationRule) bool { return r.silent }},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n| annotation | what it is |\n|---|---|\n", part.title)
		for _, r := range annotationRules {
			if part.is(r) {
				key := r.key
				if strings.ContainsAny(key[len(key)-1:], "/-.") {
					key += "*"
				}
				fmt.Fprintf(&b, "| `%s` | %s |\n", key, r.about)
			}
		}
	}
	return b.String()
}
