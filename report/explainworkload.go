package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
)

// WorkloadNames lists the workloads of a report ("Deployment/shop/web"), sorted.
func WorkloadNames(r *scalehist.ReplayReport) []string {
	seen := map[string]bool{}
	for _, w := range r.Workloads {
		seen[w.String()] = true
	}
	return keys(seen)
}

// FindWorkload is the workload of a name: "Deployment/shop/web", or "shop/web" and "web" where one workload only is called that. Otherwise
// the error names those there are.
func FindWorkload(r *scalehist.ReplayReport, name string) (*scalehist.WorkloadResult, error) {
	var found []*scalehist.WorkloadResult
	for i := range r.Workloads {
		w := &r.Workloads[i]
		if w.String() == name || w.Namespace+"/"+w.Name == name || w.Name == name {
			found = append(found, w)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		var names []string
		for _, w := range found {
			names = append(names, w.String())
		}
		return nil, fmt.Errorf("workload %q is one of %s: name its kind and namespace", name, strings.Join(names, ", "))
	case len(r.Workloads) == 0:
		return nil, fmt.Errorf("unknown workload %q: %s was replayed without a controller of workloads", name, r.Scenario)
	}
	return nil, unknown(r, "workload", name, WorkloadNames(r))
}

// ReplicasAt are the replicas of a workload at an offset from the start.
func ReplicasAt(w *scalehist.WorkloadResult, at time.Duration) scalehist.ReplicasAt {
	now := scalehist.ReplicasAt{Wanted: w.Initial}
	for _, p := range w.Replicas {
		if time.Duration(p.Offset) <= at {
			now = p
		}
	}
	return now
}

const recordedReplicas = "nobody scales it: it has the replicas that were recorded"

// ExplainWorkload says why a workload has as many replicas, and why they ask for what they do: every decision of controllers about it; with a time only
// the last by then, and those that set the replicas and the requests it has.
func ExplainWorkload(r *scalehist.ReplayReport, name string, at *time.Time) (*Explanation, error) {
	w, err := FindWorkload(r, name)
	if err != nil {
		return nil, err
	}
	e := explaining(r, "workload "+w.String())
	var scales, sizes []Entry
	for _, x := range Entries(r) {
		switch {
		case x.Workload == nil || *x.Workload != w.WorkloadRef:
		case len(x.Resizes) > 0:
			sizes = append(sizes, x)
		default:
			scales = append(scales, x)
		}
	}
	by := recordedReplicas
	switch {
	case w.Controller != "":
		by = w.Controller + " scales it"
	case len(scales) > 0: // it was looked at, and never changed
		by = scales[0].Controller + " scales it"
	}
	if at == nil {
		e.say(r.StartTime, "It begins with %d wanted; %s.", w.Initial, by)
		for _, x := range append(scales, sizes...) {
			e.say(x.At, "%s", controlSentence(x))
		}
		for _, m := range w.Work {
			e.say(r.EndTime, "%s", workSentence(m))
		}
		e.say(r.EndTime, "It ends with %d wanted, %d ready; %d at most were wanted.", w.Final, ReplicasAt(w, r.EndTime.Sub(r.StartTime)).Ready, w.Peak)
		e.requests(w, r.EndTime)
		return e.done(), nil
	}
	late := func(x Entry) bool { return x.At.After(*at) }
	scales, sizes = slices.DeleteFunc(scales, late), slices.DeleteFunc(sizes, late)
	now := ReplicasAt(w, at.Sub(r.StartTime))
	e.say(*at, "It has %d wanted, %d ready; %s.", now.Wanted, now.Ready, by)
	if len(scales) == 0 && by != recordedReplicas {
		e.say(*at, "No controller had decided anything about it by then: it has the replicas it had before.")
	}
	e.last(scales, Entry.Acted)
	e.last(sizes, func(x Entry) bool { return x.Resizes[0].Action == scalehist.Recommended })
	if i := lastIndex(sizes, Entry.Acted); i >= 0 && i < lastIndex(sizes, func(x Entry) bool { return x.Resizes[0].Action == scalehist.Recommended }) {
		e.say(sizes[i].At, "%s", controlSentence(sizes[i]))
	}
	e.requests(w, *at)
	return e.done(), nil
}

// last says the last decision, and those before it down to the one that did something.
func (e *explainer) last(list []Entry, did func(Entry) bool) {
	for i, x := range slices.Backward(list) {
		if i == len(list)-1 || did(x) {
			e.say(x.At, "%s", controlSentence(x))
		}
		if did(x) {
			return
		}
	}
}

func lastIndex(list []Entry, is func(Entry) bool) int {
	for i, x := range slices.Backward(list) {
		if is(x) {
			return i
		}
	}
	return -1
}

// requests says what the pods of a workload ask for at an instant, where a controller sets that.
func (e *explainer) requests(w *scalehist.WorkloadResult, at time.Time) {
	if w.SizedBy == "" {
		return
	}
	by := func(list []scalehist.RequestsAt) (now scalehist.RequestsAt, ok bool) {
		for _, x := range list {
			if !e.r.StartTime.Add(time.Duration(x.Offset)).After(at) {
				now, ok = x, true
			}
		}
		return now, ok
	}
	all, ok := by(w.Requests)
	if !ok {
		return
	}
	text := fmt.Sprintf("Its pods ask for cpu %s, memory %s together", cores(all.CPU), bytes(all.Memory))
	for _, c := range w.Containers {
		if one, ok := by(c.Requests); ok {
			text += fmt.Sprintf("; container %s of each for cpu %s, memory %s at most", c.Name, cores(one.CPU), bytes(one.Memory))
		}
	}
	e.say(at, "%s; %s sets that.", text, w.SizedBy)
}

// controlSentence is what a controller decided about a workload, with its reasons.
func controlSentence(e Entry) string {
	head := e.Summary
	if s := e.Scale; s != nil {
		head = e.Controller
		if s.By != "" {
			head += " for " + s.By
		}
		if s.From == s.To {
			head += fmt.Sprintf(" left it at %d", s.To)
		} else {
			head += fmt.Sprintf(" scaled it %d->%d", s.From, s.To)
		}
	}
	if len(e.Resizes) > 0 {
		return resizeSentence(e)
	}
	return sentence(head, e.Because())
}

// resizeSentence is what a controller decided about requests: "vpa for VerticalPodAutoscaler/shop/web evicts 2 pods (web-1, web-2); outside the
// recommended range; app cpu: 163m, was 93m."
func resizeSentence(e Entry) string {
	s := e.Resizes[0]
	head := e.Controller
	if s.By != "" {
		head += " for " + s.By
	}
	head += " " + string(s.Action)
	because := e.Because()
	switch {
	case len(e.Resizes) > 1:
		var names []string
		for _, r := range e.Resizes {
			names = append(names, r.Pod)
		}
		head += fmt.Sprintf(" %s (%s)", plural.Of(len(names), "pod"), some(names, 5))
	case s.Pod != "":
		head += " " + s.Pod
	case len(because) > 0: // a recommendation
		head, because = head+" "+because[0], because[1:]
	}
	if s.Error != "" {
		because = append(because, "not done: "+s.Error)
	}
	return sentence(head, because)
}

// workSentence is what became of the demand for a metric.
func workSentence(m scalehist.WorkResult) string {
	name := m.Metric
	if m.Container != "" {
		name += " of " + m.Container
	}
	text := fmt.Sprintf("Of its work in %s %.6g came in and %.6g was served", name, m.In, m.Served)
	if m.Lost > 0 {
		text += fmt.Sprintf(", %.6g was lost", m.Lost)
	}
	if h := m.Held; h != nil && h.Work > 0 {
		text += fmt.Sprintf(", of which %.6g waited for a first replica: half of it %.4gs or less, 99 %% %.4gs, all of it %.4gs", h.Work, h.P50Seconds, h.P99Seconds, h.MaxSeconds)
	}
	if m.Waiting > 0 {
		text += fmt.Sprintf(", %.6g waits", m.Waiting)
	}
	return text + "."
}

// scaledPod says which decision brought a pod ("namespace/name") at an instant, or took it away: "hpa scaled ReplicaSet/shop/web 2->5"; empty
// when none did. A replica has the name of its workload and more.
func (e *explainer) scaledPod(pod string, at time.Time, up bool) string {
	for _, d := range e.r.WorkloadDecisions {
		if !d.At.Equal(at) {
			continue
		}
		for _, s := range d.Scales {
			if strings.HasPrefix(pod, s.Workload.Namespace+"/"+s.Workload.Name+"-") && s.To != s.From && up == (s.To > s.From) {
				return fmt.Sprintf("%s scaled %s", d.Controller, s)
			}
		}
	}
	return ""
}
