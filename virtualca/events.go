package virtualca

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
)

// eventWindow is how long an event of the same reason and object is not repeated.
const eventWindow = 5 * time.Minute

// event records an event, unless the same reason was given for the object within the last five minutes. On the status
// ConfigMap, which stands for the whole cluster, messages are compared as well.
func (l *loop) event(reason, object, message string) {
	a := l.a
	if !a.settings.RecordDuplicatedEvents {
		key := reason + "\x00" + object
		if strings.HasPrefix(object, statusKind) && object == l.statusObject() {
			key += "\x00" + message
		}
		if at, ok := a.events[key]; ok && l.now.Sub(at) < eventWindow {
			return
		}
		a.events[key] = l.now
	}
	l.d.Events = append(l.d.Events, scalehist.Event{Reason: reason, Object: object, Message: message})
}

// forgetEvents drops throttling entries that no longer matter.
func (a *Autoscaler) forgetEvents(now time.Time) {
	for k, at := range a.events {
		if now.Sub(at) >= eventWindow {
			delete(a.events, k)
		}
	}
}

// statusKind starts the name of the object that stands for the whole cluster.
const statusKind = "ConfigMap/"

func (l *loop) statusObject() string {
	return statusKind + l.a.settings.Namespace + "/" + l.a.settings.StatusConfigMap
}

func podObject(p *corev1.Pod) string { return "Pod/" + podName(p) }

func podName(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }

// scaleUpEvents writes an event for every pod that triggered a scale-up.
func (l *loop) scaleUpEvents(pods []*corev1.Pod, plan []scalehist.ScaleUp) {
	parts := make([]string, 0, len(plan))
	for _, s := range plan {
		parts = append(parts, s.String())
	}
	message := "pod triggered scale-up: [" + strings.Join(parts, " ") + "]"
	for _, p := range pods {
		l.event("TriggeredScaleUp", podObject(p), message)
	}
}

// noScaleUpEvent says of a pod why nothing was done for it: how many groups gave each reason, the most frequent first.
func (l *loop) noScaleUpEvent(p *corev1.Pod, reasons map[string]int) {
	parts := make([]string, 0, len(reasons))
	for _, r := range byCount(reasons) {
		parts = append(parts, fmt.Sprintf("%d %s", reasons[r], r))
	}
	l.event("NotTriggerScaleUp", podObject(p), "pod didn't trigger scale-up: "+strings.Join(parts, ", "))
}

// byCount lists keys by count, the largest first, then by name.
func byCount(m map[string]int) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
	return out
}
