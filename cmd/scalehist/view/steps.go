package view

import (
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	reports "github.com/scalehist/scalehist/report"
)

// step is a decision as a line of the list.
type step struct {
	reports.Entry
	offset string
	// hay is what a search looks through by what it is of, in lower case; made when somebody searches.
	hay map[string]string
}

func newStep(r *scalehist.ReplayReport, e reports.Entry) step {
	return step{Entry: e, offset: "+" + e.At.Sub(r.StartTime).Round(time.Millisecond).String()}
}

// The fields of a query: "pod:web-1" looks among pods only.
const (
	fieldPod    = "pod"
	fieldGroup  = "group"
	fieldNode   = "node"
	fieldReason = "reason"
	// fieldWorkload is of decisions of controllers: the workload, the controller, the object that asks for it.
	fieldWorkload = "workload"
)

var fields = []string{fieldPod, fieldGroup, fieldNode, fieldReason, fieldWorkload}

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
func (q query) matches(s *step, r *scalehist.ReplayReport) bool {
	if s.hay == nil {
		s.hay = haystack(s, r)
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
func haystack(s *step, r *scalehist.ReplayReport) map[string]string {
	words := map[string][]string{}
	add := func(field string, word ...string) { words[field] = append(words[field], word...) }
	add(fieldReason, s.Summary)
	for _, p := range s.Parts(r) {
		if p.Title != reports.PartPods {
			add(fieldReason, p.Lines...)
		}
	}
	if s.Node != nil {
		ofNodes(s.Node, add)
	} else {
		add(fieldWorkload, s.Controller)
	}
	if s.Workload != nil {
		add(fieldWorkload, s.Workload.String())
	}
	if s.Scale != nil {
		add(fieldWorkload, s.Scale.By)
	}
	out := map[string]string{}
	for field, list := range words {
		out[field] = strings.ToLower(strings.Join(list, "\n"))
	}
	return out
}

// ofNodes adds the words of a decision of a node autoscaler.
func ofNodes(d *scalehist.Decision, add func(field string, word ...string)) {
	add(fieldPod, d.UnschedulablePods...)
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
}
