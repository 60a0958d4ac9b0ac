package trace

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history/observed"
)

// stepLines writes steps as "+10s std 1->3 [default/web-1]".
func stepLines(steps []scalehist.RecordedStep) []string {
	var out []string
	for _, s := range steps {
		line := fmt.Sprintf("+%s %s %d->%d", s.At.Sub(epoch), s.NodeGroup, s.From, s.To)
		if len(s.Pods) > 0 {
			line += fmt.Sprint(" ", s.Pods)
		}
		out = append(out, line)
	}
	return out
}

func TestTruth(t *testing.T) {
	grown := func(n int, pod, text string) fields {
		return event(fmt.Sprintf("up-%d-%s", n, pod), "TriggeredScaleUp", "Pod", pod, "pod triggered scale-up: ["+text+"]")
	}
	byName := func(event fields) fields { return with(event, "involvedObject.uid", "") }
	two := func() *objectLog { return newLog().add(0, group("big", 0)) }
	tests := []struct {
		name       string
		log        *objectLog
		from       time.Duration
		wantSource string
		wantSteps  []string
		wantUp     map[string]int
		wantDown   map[string]int
		wantFinal  map[string]int
		wantNone   bool
		wantLeft   int
	}{
		{name: "no autoscaler was recorded", log: two().add(5*sec, pod("web-1", "")), wantNone: true},
		{name: "an autoscaler that had nothing to do", log: two().add(0, deployment("--v=4")), wantSource: "target sizes",
			wantFinal: map[string]int{"std": 1, "big": 0}},
		{
			name: "target sizes win over events; the first scale-up counts, and steps within seconds stay apart",
			log: two().update(1*sec, group("std", 3)).add(1*sec, grown(1, "web-1", "{std 1->3 (max: 5)}")).
				update(2*sec, group("std", 4)).update(2*sec, group("big", 1)).update(60*sec, group("std", 2)).
				add(61*sec, grown(2, "web-9", "{std 7->9 (max: 5)}")).add(62*sec, pod("web-9", "")),
			wantSource: "target sizes",
			wantSteps:  []string{"+1s std 1->3 [default/web-1]", "+2s std 3->4", "+2s big 0->1", "+1m0s std 4->2"},
			wantUp:     map[string]int{"std": 3, "big": 1}, wantDown: map[string]int{"std": 2}, wantFinal: map[string]int{"std": 2, "big": 1},
			wantLeft: 1,
		},
		{
			name: "events: one step told on many pods, by two reasons, late",
			log: two().add(1*sec, grown(1, "web-1", "{std 1->3 (max: 5)} {big 0->1 (max: 5)}"), grown(2, "web-2", "{std 1->3 (max: 5)} {big 0->1 (max: 5)}")).
				add(1*sec, event("g1", "ScaledUpGroup", "ConfigMap", "status", "Scale-up: group std size set to 3 instead of 1 (max: 5)")).
				add(2*sec, grown(3, "web-3", "{std 3->4 (max: 5)}"), grown(4, "web-4", "{std 1->3 (max: 5)}")),
			wantSource: "events",
			wantSteps:  []string{"+1s std 1->3 [default/web-1 default/web-2 default/web-4]", "+1s big 0->1 [default/web-1 default/web-2]", "+2s std 3->4 [default/web-3]"},
			wantUp:     map[string]int{"std": 3, "big": 1}, wantFinal: map[string]int{"std": 4, "big": 1},
		},
		{
			name: "events: scale-downs by their marks, once a node",
			log: two().add(0, node("std-b", "std"), node("std-c", "std")).
				add(1*sec, event("d1", "ScaleDown", "Node", "std-b", observed.MarkedForRemoval), event("d2", "ScaleDown", "Node", "std-b", observed.MarkedForRemoval)).
				add(2*sec, event("d3", "ScaleDown", "Node", "std-c", "nodes removed by cluster autoscaler")).
				add(3*sec, grown(1, "web-1", "{std 2->3 (max: 5)}")),
			wantSource: "events", wantSteps: []string{"+1s std 3->2", "+3s std 2->3 [default/web-1]"},
			wantUp: map[string]int{"std": 1}, wantDown: map[string]int{"std": 1}, wantFinal: map[string]int{"std": 3, "big": 0},
		},
		{
			name: "events: a node that took the name of one that was removed is removed as well, whatever group it is in",
			log: two().update(0, group("std", 2)).add(0, node("std-b", "std")).
				add(1*sec, byName(event("d1", "ScaleDown", "Node", "std-b", observed.MarkedForRemoval))).
				remove(10*sec, node("std-b", "std")).add(60*sec, with(node("std-b", "big"), "metadata.uid", "std-b2")).
				add(61*sec, grown(1, "web-1", "{big 0->1 (max: 5)}")).
				add(90*sec, byName(event("d2", "ScaleDown", "Node", "std-b", observed.MarkedForRemoval)), byName(event("d3", "ScaleDown", "Node", "std-b", observed.MarkedForRemoval))),
			wantSource: "events", wantSteps: []string{"+1s std 2->1", "+1m1s big 0->1 [default/web-1]", "+1m30s big 1->0"},
			wantUp: map[string]int{"big": 1}, wantDown: map[string]int{"std": 1, "big": 1}, wantFinal: map[string]int{"std": 1, "big": 0},
		},
		{
			name: "events: what no event told lies between two that were",
			log: two().add(1*sec, grown(1, "web-1", "{std 1->2 (max: 5)}")).add(60*sec, grown(2, "web-2", "{std 4->5 (max: 5)}")).
				add(90*sec, grown(3, "web-3", "{std 1->2 (max: 5)}")),
			wantSource: "events",
			wantSteps:  []string{"+1s std 1->2 [default/web-1]", "+1m0s std 2->4", "+1m0s std 4->5 [default/web-2]", "+1m30s std 5->1", "+1m30s std 1->2 [default/web-3]"},
			wantUp:     map[string]int{"std": 5}, wantDown: map[string]int{"std": 4}, wantFinal: map[string]int{"std": 2, "big": 0},
		},
		{
			name: "events before the window are not of it",
			log: two().add(1*sec, grown(1, "web-1", "{std 1->3 (max: 5)}")).update(1*sec, group("std", 3)).
				add(60*sec, grown(2, "web-2", "{std 3->4 (max: 5)}")),
			from: 10 * sec, wantSource: "events", wantSteps: []string{"+1m0s std 3->4 [default/web-2]"},
			wantUp: map[string]int{"std": 1}, wantFinal: map[string]int{"std": 4, "big": 0},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			truth := tt.log.add(5*minute, pod("last", "")).input(t, tt.from, 4*minute).Truth
			if tt.wantNone {
				if truth != nil {
					t.Errorf("truth %+v, want none", truth)
				}
				return
			}
			if truth == nil {
				t.Fatal("no truth")
			}
			empty := cmpopts.EquateEmpty()
			for _, c := range []struct {
				what      string
				want, got any
			}{
				{"source", tt.wantSource, truth.Source}, {"steps", tt.wantSteps, stepLines(truth.Steps)},
				{"scaled up", tt.wantUp, truth.ScaledUpNodeGroups}, {"scaled down", tt.wantDown, truth.ScaledDownNodeGroups},
				{"final sizes", tt.wantFinal, truth.FinalSizes}, {"left", tt.wantLeft, truth.UnschedulableAtEnd},
			} {
				if diff := cmp.Diff(c.want, c.got, empty); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.what, diff)
				}
			}
		})
	}
}
