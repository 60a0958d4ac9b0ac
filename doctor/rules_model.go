package doctor

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

var modelRules = []Rule{
	{Code: "SH601", Title: "pods of another scheduler", Severity: Warning, run: otherSchedulers,
		Doc: "Pods name a scheduler other than default-scheduler. A replay has one scheduler, which places them too, by upstream's rules and not by " +
			"those of their own.",
		Advice: "look at placements of these pods with care, or cut them from the object log (`scalehist export`)"},
	{Code: "SH602", Title: "ResourceClaims", Severity: Warning, run: resourceClaims,
		Doc: "Pods use dynamic resource allocation. ResourceClaims, ResourceSlices and DeviceClasses are not recorded: neither the scheduler nor the " +
			"autoscaler of a replay counts devices.",
		Advice: "do not trust a replay's decisions about these pods"},
	{Code: "SH603", Title: "scheduling groups", Severity: Info, run: schedulingGroups,
		Doc:    "Pods belong to a scheduling group (gang scheduling). A replay places them one by one.",
		Advice: "look at the decisions about these pods with care"},
}

func otherScheduler(p *corev1.Pod) bool {
	return p.Spec.SchedulerName != "" && p.Spec.SchedulerName != corev1.DefaultSchedulerName
}

// countPods writes one finding for each value that of gives pods ("" for none), in order of first sight.
func countPods(in *Input, of func(*corev1.Pod) string, message string) []Finding {
	var out []Finding
	at := map[string]int{}
	count := map[string]int{}
	for _, l := range in.scene.pods {
		v := of(l.pod)
		if v == "" {
			continue
		}
		i, ok := at[v]
		if !ok {
			i = len(out)
			at[v] = i
			out = append(out, Finding{At: l.seen, Object: l.ref().String()})
		}
		count[v]++
		out[i].Message = fmt.Sprintf(message, v)
		if count[v] > 1 {
			out[i].Message += fmt.Sprintf("; %d pods, this one is the first", count[v])
		}
	}
	return out
}

func otherSchedulers(_ context.Context, in *Input) ([]Finding, error) {
	return countPods(in, func(p *corev1.Pod) string {
		if otherScheduler(p) {
			return p.Spec.SchedulerName
		}
		return ""
	}, "it names scheduler %s"), nil
}

func resourceClaims(_ context.Context, in *Input) ([]Finding, error) {
	return countPods(in, func(p *corev1.Pod) string {
		if len(p.Spec.ResourceClaims) == 0 {
			return ""
		}
		return "namespace " + p.Namespace
	}, "it has ResourceClaims (%s)"), nil
}

func schedulingGroups(_ context.Context, in *Input) ([]Finding, error) {
	return countPods(in, func(p *corev1.Pod) string {
		if p.Spec.SchedulingGroup == nil {
			return ""
		}
		return "namespace " + p.Namespace
	}, "it is in a scheduling group (%s)"), nil
}
