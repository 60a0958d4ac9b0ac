package expect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega/types"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/expect"
	"github.com/scalehist/scalehist/report"
)

func TestParseCount(t *testing.T) {
	for text, want := range map[string]expect.Count{
		"3": expect.Exactly(3), ">= 2": expect.AtLeast(2), "<=4": expect.AtMost(4), "> 1": expect.AtLeast(2), "< 5": expect.AtMost(4), "2..4": expect.Between(2, 4), "any": expect.AnyCount, " 0 ": expect.Exactly(0),
	} {
		if got, err := expect.ParseCount(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "1.5", "..", "4..2", "< 0", "=3", "ayn", ">=", "99999999999999999999"} {
		if got, err := expect.ParseCount(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		low := rapid.IntRange(0, 50).Draw(rt, "low")
		c := expect.Between(low, rapid.IntRange(low, 60).Draw(rt, "high"))
		if rapid.Bool().Draw(rt, "open") {
			c = expect.AtLeast(low)
		}
		if back, err := expect.ParseCount(c.String()); err != nil || back != c {
			rt.Errorf("%v reads as %v, %v", c, back, err)
		}
	})
}

// lively is sample with a removal and reasons.
func lively() *scalehist.ReplayReport {
	r := sample()
	r.EndTime = r.StartTime.Add(time.Hour)
	r.Pending.Max = 45
	r.NodeGroups[0].ScaledDown, r.NodeGroups[0].Final = 1, 0
	r.Start.Nodes = []scalehist.NodeInfo{{Name: "a-small-0"}, {Name: "a-small-1"}}
	r.Decisions = append(r.Decisions, scalehist.Decision{
		At: r.StartTime.Add(10 * time.Minute), Loop: 60, Outcome: scalehist.ScaleUpNotNeeded,
		ScaleDowns:  []scalehist.ScaleDown{{NodeGroup: "a-small", Node: "a-small-0", From: 1, To: 0}},
		Unremovable: []scalehist.NodeReason{{Node: "a-small-1", Reason: "BlockedByPod: default/web-1 NotEnoughPdb"}},
	})
	return r
}

func TestRangesDecisionsAndMetrics(t *testing.T) {
	two := expect.Exactly(2)
	three := expect.AtLeast(3)
	for name, tc := range map[string]struct {
		matcher types.GomegaMatcher
		ok      bool
		want    string
	}{
		"up in range":         {expect.HaveChanged(report.Up, expect.Counts{"b-large": expect.AtLeast(2)}), true, ""},
		"up out of range":     {expect.HaveChanged(report.Up, expect.Counts{"b-large": expect.AtLeast(4)}), false, "✗  b-large"},
		"others strict":       {expect.HaveChanged(report.Up, expect.Counts{"a-small": expect.AtMost(2)}), false, "✗  b-large"},
		"others any":          {expect.HaveChanged(report.Up, expect.Counts{expect.Others: expect.AnyCount}), true, ""},
		"exact is the old":    {expect.HaveChanged(report.Up, expect.Counts{"b-large": two}), false, "WANT  GOT  DELTA"},
		"down":                {expect.HaveChanged(report.Down, expect.Counts{"a-small": expect.Between(2, 3)}), false, "scaled down"},
		"final":               {expect.HaveFinalSizes(expect.Counts{"b-large": expect.Exactly(3)}), true, ""},
		"final others":        {expect.HaveFinalSizes(expect.Counts{expect.Others: expect.Exactly(3)}), false, "✗  a-small"},
		"count":               {expect.LeaveUnschedulableCount(expect.Exactly(1)), true, ""},
		"count wrong":         {expect.LeaveUnschedulableCount(expect.AtLeast(2)), false, "1 pod without a node at the end, want >= 2"},
		"kept":                {expect.KeepNodes("a-small-1"), true, ""},
		"kept because":        {expect.KeepNodesBecause(map[string]string{"a-small-1": "NotEnoughPdb"}), true, ""},
		"not because":         {expect.KeepNodesBecause(map[string]string{"a-small-1": "NotReplicated"}), false, `not because of "NotReplicated": the reasons were BlockedByPod`},
		"removed":             {expect.KeepNodes("a-small-0"), false, "a-small-0 should not have been removed: +10m0s loop 60"},
		"first":               {expect.Decide(expect.Decided{Which: expect.FirstScaleUp, Timed: true, From: 20 * time.Second, To: time.Minute, NodeGroup: "b-large", Nodes: &three}), true, ""},
		"first elsewhere":     {expect.Decide(expect.Decided{Which: expect.FirstScaleUp, NodeGroup: "a-small"}), false, "it chose b-large, want a-small"},
		"first, other number": {expect.Decide(expect.Decided{Which: expect.FirstScaleUp, NodeGroup: "b-large", Nodes: &two}), false, "about 3 nodes of b-large, want 2"},
		"last down":           {expect.Decide(expect.Decided{Which: expect.LastScaleDown, Loop: 61}), false, "it was loop 60, want 61"},
		"some":                {expect.Decide(expect.Decided{Because: "best by least-waste"}), true, ""},
		"some down":           {expect.Decide(expect.Decided{NodeGroup: "a-small"}), true, ""},
		"outcome":             {expect.Decide(expect.Decided{Loop: 2, Outcome: scalehist.ScaleUpError}), false, "the outcome was ScaleUpSuccessful"},
		"none":                {expect.Decide(expect.Decided{Timed: true, From: time.Hour, To: time.Hour}), false, "there is +20s loop 2"},
		"metric":              {expect.KeepMetric("pending.max", "<= 1m"), true, ""},
		"metric over":         {expect.KeepMetric("pending.max", "<= 30s"), false, "pending.max is 45s, want <= 30s"},
	} {
		t.Run(name, func(t *testing.T) {
			ok, err := tc.matcher.Match(lively())
			if err != nil || ok != tc.ok {
				t.Fatalf("matched %t, %v", ok, err)
			}
			if ok && tc.matcher.NegatedFailureMessage(nil) == "" {
				t.Error("no message for the negation")
			}
			if message := tc.matcher.FailureMessage(nil); !ok && (!strings.Contains(message, tc.want) || !strings.Contains(message, "re-run:")) {
				t.Errorf("message lacks %q:\n%s", tc.want, message)
			}
		})
	}
	for name, tc := range map[string]struct {
		matcher types.GomegaMatcher
		want    string
	}{
		"group":     {expect.HaveFinalSizes(expect.Counts{"b-larg": two}), `unknown node group "b-larg"`},
		"decided":   {expect.Decide(expect.Decided{NodeGroup: "b-larg"}), `did you mean "b-large"?`},
		"node":      {expect.KeepNodes("a-small-9"), `unknown node "a-small-9"`},
		"metric":    {expect.KeepMetric("pending.mx", "<= 3s"), `did you mean "pending.max"`},
		"limit":     {expect.KeepMetric("pending.max", "+3s"), "a change against a baseline"},
		"no number": {expect.KeepMetric("cost", "<= 3"), "has no cost: "},
		"off":       {expect.KeepMetric("pending.max", "off"), "off limits nothing"},
	} {
		if _, err := tc.matcher.Match(lively()); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
