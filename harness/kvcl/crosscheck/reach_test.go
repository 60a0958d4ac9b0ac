package crosscheck

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestGeneratorReachesEverything: a table entry that is never drawn checks nothing.
func TestGeneratorReachesEverything(t *testing.T) {
	reached := map[string]int{}
	for seed := range uint64(4000) {
		for k, n := range FromSeed(seed).Reached {
			reached[k] += n
		}
	}
	var want []string
	for _, th := range themes {
		want = append(want, "theme: "+string(th))
	}
	for _, f := range podFeatures {
		want = append(want, "pod: "+f.name)
	}
	for _, f := range nodeFeatures {
		want = append(want, "node: "+f.name)
	}
	for _, f := range nodeUpdates {
		want = append(want, "node update: "+f.name)
	}
	for _, f := range podUpdates {
		want = append(want, "pod update: "+f.name)
	}
	for _, f := range badPods {
		want = append(want, "refused: pod: "+f.name)
	}
	for _, f := range badPodUpdates {
		want = append(want, "refused: pod update: "+f.name)
	}
	for _, f := range badObjects {
		want = append(want, "refused: "+f.name)
	}
	for _, f := range unusualChanges {
		want = append(want, "refused: "+f.name)
	}
	for _, k := range otherKinds {
		want = append(want, "add "+k, "update "+k, "delete "+k, "refused: immutable "+k)
	}
	want = append(want, "delete Pod", "delete Node", "pod update: as shown", "pod: of a priority class", "pod: missing claim",
		"pod: on a node that is not there", "default priority class", "storage class: default", "storage class: for the first consumer",
		"claim: bound", "claim: of the default class", "claim bound by update", "volume: claimed", "volume: node affinity", "volume: for one pod alone",
		"CSI node: limit", "name used again", "namespace added after its content", "evict what is not there", "taint what is not there",
		"taints: refused", "settle: the clock goes back")
	for _, w := range want {
		if reached[w] == 0 {
			t.Errorf("%q was never drawn", w)
		}
	}
}

// TestProgramsDoEverything: what the scheduler and the budgets do with programs is what a check is for.
func TestProgramsDoEverything(t *testing.T) {
	now := Epoch
	cp, err := inMemory.Start(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cp.Close(); err != nil {
			t.Error(err)
		}
	}()
	const programs = 600
	c := newCoverage()
	for seed := range uint64(programs) {
		prog := FromSeed(seed)
		for i, s := range prog.Steps {
			now = now.Add(max(s.Settle, 0))
			o, err := do(t.Context(), cp, s, now)
			if err != nil || o.Kind == kindPanic {
				t.Fatalf("seed %d, step %d: %v, %s", seed, i+1, err, o.Error)
			}
			c.step(s, o)
		}
		c.program(prog)
		now = now.Add(time.Second)
		if err := clean(t.Context(), cp, now); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	for _, n := range []struct {
		what      string
		got, want int
	}{
		{"bindings", c.Bindings, programs}, {"unschedulable", c.Unschedulable, programs}, {"victims", c.Victims, 10}, {"nominations", c.Nominations, 5},
		{"evictions", c.Evictions, 30}, {"evictions refused", c.EvictionsRefused, 5}, {"taints set", c.TaintsSet, 30}, {"refusals", c.Refusals, 100},
		{"changes", c.Changes, 10 * programs}, {"kinds of refusal", len(c.Errors), 80},
	} {
		if n.got < n.want {
			t.Errorf("%s: %d, want at least %d", n.what, n.got, n.want)
		}
	}
	for _, w := range []string{
		"Insufficient cpu", "Insufficient memory", "Insufficient example.com/gpu", "Insufficient ephemeral-storage", "Insufficient hugepages-2Mi", "Too many pods",
		"had untolerated taint(s)", "were unschedulable", "didn't match Pod's node affinity/selector", "didn't match pod affinity rules",
		"didn't match pod anti-affinity rules", "didn't satisfy existing pods anti-affinity rules", "didn't match pod topology spread constraints",
		"didn't find available persistent volumes to bind", "didn't match PersistentVolume's node affinity", "didn't have free ports for the requested pod ports",
		"exceed max volume count", "no nodes available to schedule pods", "pod has unbound immediate PersistentVolumeClaims. not found",
		"unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
	} {
		if c.Reasons[w] == 0 {
			t.Errorf("no node ever gave the reason %q", w)
		}
	}
	for _, w := range []string{"violate", "more than one"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(c.Errors)), func(text string) bool { return strings.Contains(text, w) }) {
			t.Errorf("no error says %q", w)
		}
	}
}

// TestSeedIsOneProgram: anywhere, at any time.
func TestSeedIsOneProgram(t *testing.T) {
	for seed := range uint64(50) {
		a, b := FromSeed(seed), FromSeed(seed)
		if d := cmp.Diff(a.Text(), b.Text()); d != "" {
			t.Fatalf("seed %d twice:\n%s", seed, d)
		}
		if d := cmp.Diff(a.Reached, b.Reached); d != "" {
			t.Fatalf("seed %d twice:\n%s", seed, d)
		}
	}
	if FromSeed(1).Text() == FromSeed(2).Text() {
		t.Error("seeds 1 and 2 are one program")
	}
}

// TestProgramsAreSmall: many small programs find more than a few large ones, and cost less.
func TestProgramsAreSmall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Generator().Draw(t, "program")
		steps, changes := p.Size()
		if steps < 2 || steps > 2*maxSteps+2 || changes == 0 || changes > 100 {
			t.Fatalf("%d steps, %d changes", steps, changes)
		}
		pods := 0
		for _, s := range p.Steps {
			for _, c := range s.Apply {
				if kindName(c.Object) == "Pod" && c.Op == "add" && c.Guarded {
					pods++
				}
			}
		}
		if pods > maxPods {
			t.Fatalf("%d pods", pods)
		}
	})
}
