package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/crank"
)

var modelRules = []Rule{
	{Code: "SH601", Title: "pods of another scheduler", Severity: Warning, run: otherSchedulers,
		Doc: "Pods name a scheduler other than default-scheduler. A replay has one scheduler, which places them too, by upstream's rules and not by " +
			"those of their own.",
		Advice: "look at placements of these pods with care, or cut them from the object log (`scalehist export`)"},
	{Code: "SH602", Title: "ResourceClaims", Severity: Error, run: resourceClaims,
		Doc: "Pods use dynamic resource allocation. ResourceClaims, ResourceSlices and DeviceClasses are not recorded: neither the scheduler nor the " +
			"autoscaler of a replay could count devices, so a replay of a window with such pods is refused. With `--skip-unsupported` those that have a " +
			"node stay there without their devices, and the others are left out. Pods that get devices by the name of an extended resource cannot be told " +
			"apart: in a replay they wait for a node that has the resource by itself.",
		Advice: "choose a window without these pods, or replay with --skip-unsupported and know that their nodes look emptier than they were"},
	{Code: "SH603", Title: "scheduling groups", Severity: Error, run: schedulingGroups,
		Doc: "Pods belong to a scheduling group: they are to be placed all together or not at all (gang scheduling). A replay would place them one by one, " +
			"so a replay of a window with such pods is refused. With `--skip-unsupported` those that have a node stay there, and the others are left out.",
		Advice: "choose a window without these pods, or replay with --skip-unsupported and know that their nodes look emptier than they were"},
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
	return usersOf(in, crank.DynamicResources, "it has ResourceClaims (%s)"), nil
}

func schedulingGroups(_ context.Context, in *Input) ([]Finding, error) {
	return usersOf(in, crank.PodGroups, "it is in a scheduling group (%s)"), nil
}

// usersOf are the pods a replay refuses for a feature, and the DaemonSets that make such pods, by namespace.
func usersOf(in *Input, feature, message string) []Finding {
	// A pod that ended in the window was there to be scheduled before, one that had ended at its start was not.
	ended := map[types.UID]bool{}
	for _, p := range in.Initial.Objects.Pods {
		ended[p.UID] = p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	}
	uses := func(p *corev1.Pod) bool {
		var e *crank.UnsupportedError
		return !ended[p.UID] && errors.As(crank.Unsupported(&corev1.Pod{Spec: p.Spec}), &e) && e.Feature == feature
	}
	out := countPods(in, func(p *corev1.Pod) string {
		if !uses(p) {
			return ""
		}
		return "namespace " + p.Namespace
	}, message)
	reported := map[ref]bool{}
	see := func(at time.Time, o scalehist.Object) {
		d, ok := o.(*appsv1.DaemonSet)
		if !ok || reported[refOf(d)] || !uses(&corev1.Pod{Spec: d.Spec.Template.Spec}) {
			return
		}
		reported[refOf(d)] = true
		out = append(out, Finding{At: at, Object: refOf(d).String(), Message: fmt.Sprintf(message, "in its template")})
	}
	for _, d := range in.Initial.Objects.DaemonSets {
		see(in.From, d)
	}
	for _, ch := range in.Changes {
		see(ch.At, ch.Object)
	}
	return out
}
