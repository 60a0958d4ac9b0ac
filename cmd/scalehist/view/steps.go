package view

import (
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
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
func (q query) matches(s *step, d *scalehist.Decision) bool {
	if s.hay == nil {
		s.hay = haystack(s, d)
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

// haystack gathers the words of a decision, one to a line so that no match crosses two.
func haystack(s *step, d *scalehist.Decision) map[string]string {
	words := map[string][]string{fieldPod: slices.Clone(d.UnschedulablePods), fieldReason: append([]string{s.summary, string(d.ScaleDown)}, d.Notes...)}
	add := func(field string, word ...string) { words[field] = append(words[field], word...) }
	for _, o := range d.Options {
		add(fieldGroup, o.NodeGroup)
		add(fieldGroup, o.SimilarNodeGroups...)
		add(fieldReason, o.Reason)
	}
	for _, list := range [][]scalehist.GroupReason{d.Skipped, d.Rejected} {
		for _, g := range list {
			add(fieldGroup, g.NodeGroup)
			add(fieldReason, g.Reason)
		}
	}
	for _, u := range d.ScaleUps {
		add(fieldGroup, u.NodeGroup)
	}
	for _, x := range d.ScaleDowns {
		add(fieldGroup, x.NodeGroup)
		add(fieldNode, x.Node)
		add(fieldReason, x.Reason)
	}
	for _, f := range d.Failed {
		add(fieldGroup, f.NodeGroup)
		add(fieldReason, f.Reason)
	}
	for _, b := range d.Backoff {
		add(fieldGroup, b.NodeGroup)
		add(fieldReason, b.Reason)
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
		add(fieldReason, e.Reason, e.Message)
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
