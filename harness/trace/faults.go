package trace

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist/internal/moment"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// faultReasons are the events by which a cluster-autoscaler says that nodes did not come, and what that is in a replay.
var faultReasons = map[string]cloudprovider.FaultKind{
	"ScaleUpFailed":        cloudprovider.FaultStockOut,      // instances answered with a creation error
	"FailedToScaleUpGroup": cloudprovider.FaultRefuse,        // IncreaseSize returned an error
	"ScaleUpTimedOut":      cloudprovider.FaultNeverRegister, // nodes never registered
}

// failedWith is how a cluster-autoscaler states the class and code of creation errors. A class that is none (redacted
// histories have pseudonyms there) is taken for OutOfResources.
var failedWith = regexp.MustCompile(` due to ([^ .;]+)\.([^ ;,]+);`)

// faults turns recorded failures to deliver nodes into faults of the scenario. When a stock-out began and ended is
// not recorded; it is taken to begin when the group last delivered (or at the start) and to end half-way between the
// failure and the group's next delivered request (or at the end). The report's warnings say so for each.
func (r *recorded) faults() []cloudprovider.Fault {
	names := append(groupNames(r.groups), slices.Sorted(maps.Keys(r.late))...)
	deliveries, _ := r.deliveries(r.end)
	var out []cloudprovider.Fault
	for _, e := range r.events {
		kind, ok := faultReasons[e.Reason]
		if !ok || !e.ObservedAt.After(r.start) {
			continue
		}
		group := groupIn(e.Message, names)
		if group == "" {
			continue
		}
		f := cloudprovider.Fault{Group: group, Kind: kind, From: r.start, To: r.end.Add(time.Nanosecond), Message: e.Message}
		if m := failedWith.FindStringSubmatch(e.Message); m != nil && kind == cloudprovider.FaultStockOut {
			f.Class, f.Code = cloudprovider.ErrorOutOfResources, m[2]
			if m[1] == "Other" {
				f.Class = cloudprovider.ErrorOther
			}
		}
		for _, d := range deliveries[group] {
			asked := d.asked
			if asked.IsZero() {
				asked = d.joined
			}
			if d.joined.Before(e.ObservedAt) {
				f.From = later(f.From, d.joined)
			} else if asked.After(e.ObservedAt) {
				f.To = e.ObservedAt.Add(asked.Sub(e.ObservedAt) / 2)
				break
			}
		}
		if n := len(out); n > 0 && out[n-1].Group == f.Group && out[n-1].Kind == f.Kind && !f.From.After(out[n-1].To) {
			out[n-1].To = later(out[n-1].To, f.To)
			continue
		}
		out = append(out, f)
	}
	return out
}

// groupIn finds the node group a message talks about, as a word of its own.
func groupIn(message string, names []string) string {
	for _, word := range strings.FieldsFunc(message, func(c rune) bool { return strings.ContainsRune(" ,;:()[]{}\"'", c) }) {
		if slices.Contains(names, word) {
			return word
		}
	}
	return ""
}

func describeFault(f cloudprovider.Fault) string {
	return fmt.Sprintf(faultWarning+"%s of node group %s from %s to %s (%s); --recorded-faults=false leaves it out",
		f.Kind, f.Group, moment.Stamp(f.From), moment.Stamp(f.To), f.Message)
}

// eventsAfter are the events seen within the window.
func (r *recorded) eventsAfter() []history.Event {
	return slices.DeleteFunc(slices.Clone(r.events), func(e history.Event) bool { return !e.ObservedAt.After(r.start) })
}

const faultWarning = "recorded failure taken as a fault: "

// DropRecordedFaults leaves out what the recording shows of failures.
func (in *Input) DropRecordedFaults() {
	in.Faults = nil
	in.NodeFaults = slices.DeleteFunc(in.NodeFaults, func(f NodeFault) bool { return f.Recorded })
	in.Warnings = slices.DeleteFunc(slices.Clone(in.Warnings), func(w string) bool { return strings.HasPrefix(w, faultWarning) })
}
