package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/internal/plural"
)

// Timeline is the golden form of a report: one decision a line, offsets instead of dates, then where everything ended.
// It holds what a reviewer wants to see change. Its last lines are hashes, of each part of the report and of the whole, so
// that a golden compares whole reports between machines, and its diff says in which part what is not shown has changed.
func Timeline(r *scalehist.ReplayReport) string {
	whole := r
	r = plaintext.Values(r)
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, %s%s\n", r.Scenario, r.Autoscaler, batched(r))
	for _, e := range Entries(r) {
		fmt.Fprintln(&b, strings.Join(slices.DeleteFunc([]string{offset(r, e.At), e.who(), e.Summary}, func(s string) bool { return s == "" }), " "))
		for _, line := range e.Because() {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	for _, g := range r.NodeGroups {
		fmt.Fprintf(&b, "group %s %d->%d (+%d -%d)\n", g.Name, g.Initial, g.Final, g.ScaledUp, g.ScaledDown)
	}
	for _, w := range r.Workloads {
		if Shown(w) {
			fmt.Fprintf(&b, "workload %s %d->%d (+%d -%d), peak %d\n", w.WorkloadRef, w.Initial, w.Final, w.ScaledUp, w.ScaledDown, w.Peak)
			if line := requestsLine(&w); line != "" {
				fmt.Fprintf(&b, "requests of %s: %s\n", w.WorkloadRef, line)
			}
			for _, k := range w.OOMKills {
				fmt.Fprintf(&b, "out of memory +%s %s of Pod %s, limit %s, restart %d\n", time.Duration(k.Offset), k.Container, k.Pod, bytes(k.Limit), k.Restarts)
			}
		}
	}
	for _, n := range r.ScaledUpNodes {
		gone := ""
		if n.RemovedAt != nil {
			gone = " gone " + offset(r, *n.RemovedAt)
		}
		fmt.Fprintf(&b, "node %s asked %s ready %s%s pods %d\n", n.Name, offset(r, n.RequestedAt), offset(r, n.ReadyAt), gone, len(n.Pods))
	}
	for _, batch := range r.Batches {
		if len(batch.Returned) > 0 {
			fmt.Fprintf(&b, "moved %s %s\n", offset(r, batch.At), some(batch.Returned, 10))
		}
	}
	fmt.Fprintf(&b, "pending %s of %d, %.3f pod-seconds, p50 %.3fs, p95 %.3fs, max %.3fs, %d still waiting\n",
		plural.Of(r.Pending.Pods, "pod"), r.Pending.Of, r.Pending.PodSeconds, r.Pending.P50, r.Pending.P95, r.Pending.Max, r.Pending.StillWaiting)
	for _, p := range r.UnschedulableAtEnd {
		fmt.Fprintf(&b, "unschedulable %s/%s: %s\n", p.Namespace, p.Name, p.Message)
	}
	if c := r.Cost; c != nil {
		fmt.Fprintf(&b, "cost %g %s\n", c.Total, c.Currency)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning %s\n", w)
	}
	b.WriteString(fingerprints(whole))
	return b.String()
}

// parts are the fields of a report by what they say. What is in none of them is hashed as "other".
var parts = []struct {
	name   string
	fields []string
}{
	{"asked for", []string{"scenario", "autoscaler", "playback", "startTime", "endTime", "batchInterval", "settings", "settingsChanges", "faults", "inputs", "start"}},
	{"decisions", []string{"decisions", "loops"}},
	{"sizes and nodes", []string{"nodeGroups", "scaledUpNodeGroups", "scaledDownNodeGroups", "scaledUpNodes", "steps", "cost"}},
	{"pods", []string{"batches", "pending", "unschedulableAtEnd", "end"}},
	{"against the recording", []string{"recorded", "agreement", "truth", "events"}},
}

// part is a part of a report and what it hashes to.
type part struct{ name, sha256 string }

// partsOf hashes each part of the canonical report, given as JSON.
func partsOf(canonical []byte) ([]part, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(canonical, &fields); err != nil {
		return nil, err
	}
	var out []part
	add := func(name string, take []string) {
		h := sha256.New()
		for _, f := range take {
			fmt.Fprintf(h, "%s %s\n", f, fields[f])
			delete(fields, f)
		}
		out = append(out, part{name, hex.EncodeToString(h.Sum(nil))})
	}
	for _, p := range parts {
		add(p.name, p.fields)
	}
	if fields["controllers"] != nil || fields["workloads"] != nil {
		add("workloads", []string{"controllers", "workloads", "workloadDecisions"})
	}
	add("other", keys(fields))
	return out, nil
}

// ChangedParts names the parts in which two reports differ: "decisions", "pods".
func ChangedParts(a, b *scalehist.ReplayReport) []string {
	var lists [2][]part
	for i, r := range []*scalehist.ReplayReport{a, b} {
		canonical, err := Canonical(r)
		if err == nil {
			lists[i], err = partsOf(canonical)
		}
		if err != nil {
			return []string{err.Error()} // plain data; cannot happen
		}
	}
	var out []string
	for i, p := range lists[0] {
		if p != lists[1][i] {
			out = append(out, p.name)
		}
	}
	return out
}

// fingerprints are lines with the SHA-256 of each part of the canonical report, in short, and of the whole.
func fingerprints(r *scalehist.ReplayReport) string {
	canonical, err := Canonical(r)
	if err != nil {
		return err.Error() + "\n" // plain data; cannot happen
	}
	list, err := partsOf(canonical)
	if err != nil {
		return err.Error() + "\n" // it was just written
	}
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintf(&b, "part %s %.12s\n", p.name, p.sha256)
	}
	sum := sha256.Sum256(canonical)
	fmt.Fprintf(&b, "report sha256:%s\n", hex.EncodeToString(sum[:]))
	return b.String()
}

// because says what a decision weighed: the options, then what was left out.
func because(d scalehist.Decision) []string {
	var out []string
	for _, o := range d.Options {
		mark := " "
		if o.Chosen {
			mark = "*"
		}
		line := fmt.Sprintf("%s option %s: %s for %s", mark, o.NodeGroup, plural.Of(o.NodeCount, "node"), plural.Of(o.Pods, "pod"))
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
			what = plural.Of(len(n.Pods), "pod") + " to move"
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
			out = append(out, fmt.Sprintf("- unremovable, %s: %s", code, some(names[code], 10)))
		}
	}
	return out
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
