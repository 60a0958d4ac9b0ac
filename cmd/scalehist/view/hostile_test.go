package view

import (
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/scalehist/scalehist"
)

// ownStyle is what this app itself writes beside text.
var ownStyle = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// TestNamesDoNotDraw: whatever names and messages of a report have in them, the screen has our styles and printable text, line by line.
func TestNamesDoNotDraw(t *testing.T) {
	const evil = "x\x1b[2J\x1b]0;t\x07\u009b8m\u202ey\u2066\r\nFORGED"
	start := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	r := &scalehist.ReplayReport{Scenario: evil, Autoscaler: evil, StartTime: start, EndTime: start.Add(time.Minute),
		NodeGroups: []scalehist.NodeGroupResult{{Name: evil, MaxSize: 3}}, Loops: 1,
		Decisions: []scalehist.Decision{{At: start, Loop: 1, Outcome: scalehist.ScaleUpSuccessful, ScaleUps: []scalehist.ScaleUp{{NodeGroup: evil, To: 1, Max: 3}},
			UnschedulablePods: []string{"default/" + evil}, Notes: []string{evil}, Unneeded: []string{evil},
			Options: []scalehist.Option{{NodeGroup: evil, Chosen: true, Reason: evil}}, Skipped: []scalehist.GroupReason{{NodeGroup: evil, Reason: evil}},
			Unremovable: []scalehist.NodeReason{{Node: evil, Reason: evil}}, Events: []scalehist.Event{{Reason: evil, Object: evil, Message: evil}}}},
		Controllers: []string{evil}, WorkloadDecisions: []scalehist.WorkloadDecision{{At: start, Controller: evil, Notes: []string{evil}, Scales: []scalehist.WorkloadScale{{
			Workload: scalehist.WorkloadRef{Kind: evil, Namespace: evil, Name: evil}, By: evil, To: 2, Reason: evil, Limited: []string{evil}, Metrics: []scalehist.MetricReading{{Metric: evil, Error: evil}, {Metric: evil, Value: evil, Target: evil}}}}}},
		Workloads: []scalehist.WorkloadResult{{WorkloadRef: scalehist.WorkloadRef{Kind: evil, Namespace: evil, Name: evil}, Controller: evil}}}
	for name, keys := range map[string][]string{
		"list": nil, "all": {"a"}, "detail": {"tab"}, "search": {"/", "type FORGED", "enter"}, "help": {"?"}, "whose": {"c", "c"},
		"explanation": {"e", "type " + r.NodeGroups[0].Name, "enter"},
	} {
		m := app(t, r, 100, 40, keys...)
		screen := m.View().Content
		if name == "list" {
			screen += Plain(r)
		}
		for line := range strings.SplitSeq(ownStyle.ReplaceAllString(screen, ""), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "FORGED") {
				t.Errorf("%s: a line of others: %q", name, line)
			}
			for _, c := range line {
				if !unicode.IsPrint(c) {
					t.Errorf("%s: %U in %q", name, c, line)
					break
				}
			}
		}
	}
}
