package ledger

import (
	"bytes"
	"strings"

	"github.com/scalehist/scalehist"
)

// Decided keeps a decision that mattered: one that acted, or that explains itself differently from the one before.
func (l *Ledger) Decided(d scalehist.Decision) (mattered bool) {
	l.loops++
	l.stepped(d.Loop)
	explained := appendExplanation(l.explaining[:0], d)
	if mattered = d.Acted() || !bytes.Equal(explained, l.explained); mattered {
		if waits := waitsForMore(d); waits && l.expecting {
			l.decisions = l.decisions[:len(l.decisions)-1] // the pods that woke this loop are all that is new
		}
		l.keep(d)
	}
	l.expecting = waitsForMore(d)
	l.explained, l.explaining = explained, l.explained
	return mattered
}

// waitsForMore is a loop that found only new pods and did nothing else. Each pod of a burst wakes one: the last of a row is kept.
func waitsForMore(d scalehist.Decision) bool {
	return d.Outcome == scalehist.ScaleUpInCooldown && !d.Acted() && len(d.Deleting) == 0
}

// keep files a decision for the report. Of a long replay its reasons are most of what is kept, and few of them differ.
func (l *Ledger) keep(d scalehist.Decision) {
	l.texts.shareAll(d.Unneeded)
	for i := range d.Unremovable {
		l.texts.share(&d.Unremovable[i].Node)
		l.texts.share(&d.Unremovable[i].Reason)
	}
	l.texts.shareAll(d.UnschedulablePods)
	for i := range d.Options {
		l.texts.share(&d.Options[i].Reason)
		l.texts.shareAll(d.Options[i].PodNames)
	}
	for _, list := range [][]scalehist.GroupReason{d.Skipped, d.Rejected} {
		for i := range list {
			l.texts.share(&list[i].Reason)
		}
	}
	l.texts.shareAll(d.Notes)
	l.decisions = append(l.decisions, d)
	if d.Acted() || len(d.Deleting) > 0 {
		l.lastAction = &d
	}
}

// Worked keeps what was done between two loops, if it asked anything of the cloud provider or says something.
func (l *Ledger) Worked(d scalehist.Decision) {
	l.stepped(0)
	if d.Acted() || len(d.Notes) > 0 {
		l.keep(d)
		l.expecting = false
	}
}

// Asked takes the changes of target sizes since the last call for those of a loop that has not been decided on yet.
func (l *Ledger) Asked(loop int) { l.stepped(loop) }

// appendExplanation appends what a reader would learn from a decision, beyond its time and number. Each loop is compared with the one
// before, and of a large cluster it is long.
func appendExplanation(b []byte, d scalehist.Decision) []byte {
	if d.Outcome != scalehist.ScaleUpNotNeeded && d.Outcome != "" {
		b = append(b, d.Outcome...) // else nothing new, in the first loop too
	}
	for _, p := range d.UnschedulablePods {
		b = append(append(b, 0), p...)
	}
	for _, o := range d.Options {
		b = append(append(append(append(b, 1), o.NodeGroup...), 0), o.Reason...)
	}
	for _, list := range [][]scalehist.GroupReason{d.Skipped, d.Rejected} {
		for _, s := range list {
			b = append(append(append(append(b, 2), s.NodeGroup...), 0), s.Reason...)
		}
	}
	return appendScaleDown(b, d)
}

// appendScaleDown appends which nodes could go and which could not. Why nothing went is only of interest when something could.
func appendScaleDown(b []byte, d scalehist.Decision) []byte {
	if len(d.Unneeded) > 0 || d.ScaleDown == scalehist.ScaleDownError {
		b = append(append(b, 3), d.ScaleDown...)
	}
	for _, n := range d.Unneeded {
		b = append(append(b, 4), n...)
	}
	for _, n := range d.Unremovable {
		// A node that was looked at a moment ago is not looked at again: it stays for the same reason.
		b = append(append(append(append(b, 5), n.Node...), 0), strings.TrimPrefix(n.Reason, "RecentlyUnremovable: ")...)
	}
	for _, n := range d.Deleting {
		b = append(append(b, 6), n.Node...)
	}
	return b
}

// LastAction is the last of the decisions that asked anything of the cloud provider or began to remove a node; nil before.
func (l *Ledger) LastAction() *scalehist.Decision { return l.lastAction }

// LastSummary is the last decision in a line, "" before the first.
func (l *Ledger) LastSummary() string {
	if len(l.decisions) == 0 {
		return ""
	}
	return l.decisions[len(l.decisions)-1].Summary()
}

// texts holds one copy of each text of a report.
type texts map[string]string

// share puts the copy there is in place of an equal text.
func (t *texts) share(text *string) {
	if len(*text) == 0 {
		return
	}
	if *t == nil {
		*t = texts{}
	}
	if known, ok := (*t)[*text]; ok {
		*text = known
		return
	}
	(*t)[*text] = *text
}

func (t *texts) shareAll(list []string) {
	for i := range list {
		t.share(&list[i])
	}
}
