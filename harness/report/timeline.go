package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
)

// Timeline is the golden form of a report: one decision a line, offsets instead of dates, then where everything ended.
// It holds what a reviewer wants to see change; its last line is a hash of everything else in the report, so that a
// golden compares whole reports between machines.
func Timeline(r *scalehist.ReplayReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, %s, batch %s\n", r.Scenario, r.Autoscaler, r.BatchInterval)
	for _, d := range r.Decisions {
		fmt.Fprintf(&b, "%s loop %d %s\n", offset(r, d.At), d.Loop, d.Summary())
		for _, line := range because(d) {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	for _, g := range r.NodeGroups {
		fmt.Fprintf(&b, "group %s %d->%d (+%d -%d)\n", g.Name, g.Initial, g.Final, g.ScaledUp, g.ScaledDown)
	}
	for _, n := range r.ScaledUpNodes {
		fmt.Fprintf(&b, "node %s asked %s ready %s pods %d\n", n.Name, offset(r, n.RequestedAt), offset(r, n.ReadyAt), len(n.Pods))
	}
	fmt.Fprintf(&b, "pending %s, %.3f pod-seconds, max %.3fs\n", count(r.Pending.Pods, "pod"), r.Pending.PodSeconds, r.Pending.Max)
	for _, p := range r.UnschedulableAtEnd {
		fmt.Fprintf(&b, "unschedulable %s/%s: %s\n", p.Namespace, p.Name, p.Message)
	}
	fmt.Fprintf(&b, "report %s\n", fingerprint(r))
	return b.String()
}

// fingerprint is the SHA-256 of the canonical report.
func fingerprint(r *scalehist.ReplayReport) string {
	canonical, err := Canonical(r)
	if err != nil {
		return err.Error() // plain data; cannot happen
	}
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// because says what a decision weighed: the options, then what was left out.
func because(d scalehist.Decision) []string {
	var out []string
	for _, o := range d.Options {
		mark := " "
		if o.Chosen {
			mark = "*"
		}
		line := fmt.Sprintf("%s option %s: %s for %s", mark, o.NodeGroup, count(o.NodeCount, "node"), count(o.Pods, "pod"))
		if len(o.SimilarNodeGroups) > 0 {
			line += ", similar " + strings.Join(o.SimilarNodeGroups, ",")
		}
		for _, name := range keys(o.Scores) {
			line += fmt.Sprintf(", %s %.4f", name, o.Scores[name])
		}
		if o.Reason != "" {
			line += " (" + o.Reason + ")"
		}
		out = append(out, line)
	}
	for _, s := range d.Skipped {
		out = append(out, fmt.Sprintf("- skipped %s: %s", s.NodeGroup, s.Reason))
	}
	for _, s := range d.Rejected {
		out = append(out, fmt.Sprintf("- rejected %s: %s", s.NodeGroup, s.Reason))
	}
	out = append(out, becauseDown(d)...)
	for _, n := range d.Notes {
		out = append(out, "- "+n)
	}
	return out
}

// becauseDown says which nodes began to go, which could, and which could not, by reason.
func becauseDown(d scalehist.Decision) []string {
	var out []string
	for _, n := range d.Deleting {
		what := "empty"
		if len(n.Pods) > 0 {
			what = count(len(n.Pods), "pod") + " to move"
		}
		out = append(out, fmt.Sprintf("- removing %s of %s: unneeded for %s, %.1f%% utilized, %s", n.Node, n.NodeGroup, d.At.Sub(n.UnneededSince), 100*n.Utilization, what))
	}
	if len(d.Unneeded) > 0 {
		out = append(out, "- unneeded: "+some(d.Unneeded, 10))
	}
	names := map[string][]string{}
	for _, n := range d.Unremovable {
		code, _, _ := strings.Cut(strings.TrimPrefix(n.Reason, "RecentlyUnremovable: "), ":")
		names[code] = append(names[code], n.Node)
	}
	for _, code := range keys(names) {
		if code != "NotUnneededLongEnough" && code != "CurrentlyBeingDeleted" { // among the unneeded and removed ones
			out = append(out, fmt.Sprintf("- stay, %s: %s", code, some(names[code], 10)))
		}
	}
	return out
}

// count prints a number with its noun: "1 pod", "2 pods".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func offset(r *scalehist.ReplayReport, t time.Time) string {
	return "+" + t.Sub(r.StartTime).Round(time.Millisecond).String()
}

func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
