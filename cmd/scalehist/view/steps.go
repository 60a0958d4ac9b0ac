package view

import (
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	reports "github.com/scalehist/scalehist/report"
)

// step is a decision as a line of the list.
type step struct {
	offset, summary string
	up, down        bool
	// hay is what a search looks through by what it is of, in lower case; made when somebody searches.
	hay map[string]string
}

// acted says whether the step belongs to the short list.
func (s *step) acted() bool { return s.up || s.down }

func newStep(r *scalehist.ReplayReport, d *scalehist.Decision) step {
	return step{
		offset:  "+" + d.At.Sub(r.StartTime).Round(time.Millisecond).String(),
		summary: d.Summary(),
		up:      len(d.ScaleUps) > 0 || len(d.Failed) > 0,
		down:    len(d.ScaleDowns) > 0 || len(d.Deleting) > 0,
	}
}

// The fields of a query: "pod:web-1" looks among pods only.
const (
	fieldPod    = "pod"
	fieldGroup  = "group"
	fieldNode   = "node"
	fieldReason = "reason"
)

var fields = []string{fieldPod, fieldGroup, fieldNode, fieldReason}

// query is what somebody searches for.
type query struct{ field, text string }

// parseQuery reads "text" or "field:text". Letters of both cases are one.
func parseQuery(s string) query {
	s = strings.ToLower(strings.TrimSpace(s))
	for _, f := range fields {
		if text, ok := strings.CutPrefix(s, f+":"); ok {
			return query{f, strings.TrimSpace(text)}
		}
	}
	return query{"", s}
}

func (q query) empty() bool { return q.text == "" }

// matches says whether a step is of what was searched for.
func (q query) matches(s *step, r *scalehist.ReplayReport, d *scalehist.Decision) bool {
	if s.hay == nil {
		s.hay = haystack(s, r, d)
	}
	if q.field != "" {
		return strings.Contains(s.hay[q.field], q.text)
	}
	for _, f := range fields {
		if strings.Contains(s.hay[f], q.text) {
			return true
		}
	}
	return false
}

// haystack gathers the words of a decision, a word or a sentence to a line so that no match crosses two. A reason is found by
// the words on the screen as by those of the report.
func haystack(s *step, r *scalehist.ReplayReport, d *scalehist.Decision) map[string]string {
	words := map[string][]string{}
	add := func(field string, word ...string) { words[field] = append(words[field], word...) }
	add(fieldPod, d.UnschedulablePods...)
	add(fieldReason, s.summary)
	for _, p := range reports.ExplainDecision(r, *d) {
		if p.Title != reports.PartPods {
			add(fieldReason, p.Lines...)
		}
	}
	for _, o := range d.Options {
		add(fieldGroup, o.NodeGroup)
		add(fieldGroup, o.SimilarNodeGroups...)
	}
	for _, list := range [][]scalehist.GroupReason{d.Skipped, d.Rejected} {
		for _, g := range list {
			add(fieldGroup, g.NodeGroup)
		}
	}
	for _, u := range d.ScaleUps {
		add(fieldGroup, u.NodeGroup)
	}
	for _, x := range d.ScaleDowns {
		add(fieldGroup, x.NodeGroup)
		add(fieldNode, x.Node)
	}
	for _, f := range d.Failed {
		add(fieldGroup, f.NodeGroup)
	}
	for _, b := range d.Backoff {
		add(fieldGroup, b.NodeGroup)
	}
	for _, n := range d.Deleting {
		add(fieldGroup, n.NodeGroup)
		add(fieldNode, n.Node)
		add(fieldPod, n.Pods...)
	}
	for _, n := range d.Unremovable {
		add(fieldNode, n.Node)
		add(fieldReason, n.Reason)
	}
	add(fieldNode, d.Unneeded...)
	for _, e := range d.Events {
		if kind, name, ok := strings.Cut(e.Object, "/"); ok && strings.EqualFold(kind, "pod") {
			add(fieldPod, name)
		}
	}
	out := map[string]string{}
	for field, list := range words {
		out[field] = strings.ToLower(strings.Join(list, "\n"))
	}
	return out
}
