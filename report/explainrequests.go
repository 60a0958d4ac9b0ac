package report

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist"
)

// podRequests says when and why a pod came to ask for something else.
func (e *explainer) podRequests(name string) {
	was := ""
	for _, s := range e.r.Start.ScheduledPods {
		if s.Namespace+"/"+s.Name == name {
			was = asksText(s.Requests)
		}
	}
	for _, b := range e.r.Batches {
		for _, p := range b.DeployedPods {
			if p.Namespace+"/"+p.Name == name {
				was = asksText(p.Requests)
			}
		}
		for _, p := range b.Resized {
			if p.Pod != name {
				continue
			}
			asks := asksText(p.Requests)
			text := fmt.Sprintf("It asks for %s from now on", asks)
			if was != "" && was != asks {
				text += ", was " + was
			}
			e.say(b.At, "%s%s.", text, e.sizedBy(name, b))
			was = asks
		}
	}
}

// asksText is "cpu 163m, memory 488Mi", or "nothing".
func asksText(requests map[string]string) string {
	var out []string
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if q, err := resource.ParseQuantity(requests[string(name)]); err == nil {
			out = append(out, fmt.Sprintf("%s %s", name, amountText(name, q)))
		}
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}

// sizedBy says who gave a pod other requests in a step: what was done to it then, or what was recommended for its workload, whose name it begins
// with.
func (e *explainer) sizedBy(name string, b scalehist.Batch) string {
	since := ""
	for _, d := range e.r.WorkloadDecisions {
		if d.At.After(b.At) {
			break
		}
		for i := range d.Resizes {
			s := &d.Resizes[i]
			switch {
			case s.Action == scalehist.Resized && s.Error == "" && d.At.Equal(b.At) && s.Workload.Namespace+"/"+s.Pod == name:
				return fmt.Sprintf(": %s", strings.Join(append([]string{d.Controller + " resized it in place"}, resizedBecause(s)...), "; "))
			case s.Action == scalehist.Recommended && strings.HasPrefix(name, s.Workload.Namespace+"/"+s.Workload.Name+"-"):
				since = fmt.Sprintf(": %s for %s recommends that since %s", d.Controller, s.By, offset(e.r, d.At))
			}
		}
	}
	if since == "" {
		return ", as recorded"
	}
	return since
}
