package trial

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist/recommender/vertical"
)

// livePod is a pod that runs in the trial.
type livePod struct {
	pod        *Pod
	template   *corev1.Pod
	times      int // it was created
	seen       vertical.Live
	containers []liveContainer
}

type liveContainer struct {
	recorded *Container
	running  Running
	next     int // sample
	resizes  int // of those that were recorded
	// five has the sum of usage and the seconds of five minutes that are not over, of CPU and memory; their average so far is at fiveSlot
	// of the day.
	fiveAt      int64
	fiveSlot    int
	five        [2]float64
	fiveSeconds float64
}

// admit creates a pod.
func (r *run) admit(p *Pod, now time.Time) *livePod {
	l := &livePod{pod: p, template: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.Name},
		Spec: corev1.PodSpec{NodeName: "node"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}}
	from := now.UnixNano()
	for i := range p.Containers {
		c := &p.Containers[i]
		spec := corev1.Container{Name: c.Name, Resources: corev1.ResourceRequirements{Requests: c.Requests.List()}}
		if r.o.Limits != LimitsNone {
			spec.Resources.Limits = c.Limits.List()
		}
		l.template.Spec.Containers = append(l.template.Spec.Containers, spec)
		live := liveContainer{recorded: c}
		for live.next < len(c.Usage) && c.Usage[live.next].At < from {
			live.next++ // before the window, or before the pod
		}
		l.containers = append(l.containers, live)
	}
	l.seen.Usage = make([]vertical.Amount, len(p.Containers))
	r.replace(l, now)
	return l
}

// replace creates a pod of the same name in the place of one: what it wants is what was recorded of the name.
func (r *run) replace(p *livePod, now time.Time) {
	p.times++
	object := p.template
	if r.recommender != nil {
		object = r.scaler.Admit(now, p.template)
	} else {
		object = object.DeepCopy()
	}
	object.UID = types.UID(fmt.Sprintf("%s-%d", p.pod.Name, p.times))
	object.Status.StartTime = new(metav1.NewTime(now))
	p.seen.Pod = object
	for i := range p.containers {
		requests, limits := r.resources(object, i)
		p.containers[i].running.Start(now, requests, limits)
		p.seen.Usage[i] = vertical.None
	}
}

// resize gives the containers other resources.
func (r *run) resize(p *livePod, to []corev1.ResourceRequirements) {
	for i := range p.containers {
		p.seen.Pod.Spec.Containers[i].Resources = to[i]
		c := &p.containers[i].running
		c.Requests, c.Limits = r.resources(p.seen.Pod, i)
	}
}

// recordedResizes gives containers what was recorded of them by now, where nothing else is recommended. What was recorded before the pod came in
// the trial is no event.
func (r *run) recordedResizes(p *livePod, now int64) {
	for i := range p.containers {
		c := &p.containers[i]
		for ; c.resizes < len(c.recorded.Resizes) && c.recorded.Resizes[c.resizes].At <= now; c.resizes++ {
			to := c.recorded.Resizes[c.resizes]
			p.seen.Pod.Spec.Containers[i].Resources.Requests = to.Requests.List()
			if r.o.Limits != LimitsNone {
				p.seen.Pod.Spec.Containers[i].Resources.Limits = to.Limits.List()
			}
			c.running.Requests, c.running.Limits = r.resources(p.seen.Pod, i)
			if to.At > r.o.From.UnixNano() {
				r.event(r.index[c.recorded.Name], Event{At: time.Unix(0, to.At), Kind: EventResize, Pod: p.pod.Name})
			}
		}
	}
}

// resources are those of a container of a pod, with the limits of the trial.
func (r *run) resources(p *corev1.Pod, i int) (requests, limits vertical.Amount) {
	c := p.Spec.Containers[i].Resources
	requests, limits = vertical.AmountOf(c.Requests), vertical.AmountOf(c.Limits)
	if r.o.Limits == LimitsRequests {
		limits = requests
	}
	return requests, limits
}

// killed notes that a container ran out of memory, as the kubelet does in the status.
func (p *livePod) killed(i int, c *Running) {
	started, at := c.LastRun()
	s := corev1.ContainerStatus{Name: p.containers[i].recorded.Name, LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		Reason: "OOMKilled", ExitCode: 137, StartedAt: metav1.NewTime(started), FinishedAt: metav1.NewTime(at)}}}
	for n := range p.seen.Pod.Status.ContainerStatuses {
		if p.seen.Pod.Status.ContainerStatuses[n].Name == s.Name {
			p.seen.Pod.Status.ContainerStatuses[n] = s
			return
		}
	}
	p.seen.Pod.Status.ContainerStatuses = append(p.seen.Pod.Status.ContainerStatuses, s)
}

// account books a sample until the next one.
func (r *run) account(p *livePod, c *liveContainer, n int, at time.Time, u Usage, fate Fate) {
	until := at.Add(Stale)
	if c.next < len(c.recorded.Usage) {
		if next := time.Unix(0, c.recorded.Usage[c.next].At); next.Before(until) {
			until = next
		}
	}
	if !p.pod.To.IsZero() && p.pod.To.Before(until) {
		until = p.pod.To
	}
	if r.o.To.Before(until) {
		until = r.o.To
	}
	seconds := until.Sub(at).Seconds()
	if seconds <= 0 || at.Before(r.o.JudgeFrom) {
		return
	}
	out := &r.result.Containers[n]
	a := &out.Account
	a.Samples++
	a.Seconds += seconds
	if u.Censored {
		a.Censored++
	}
	requested := [2]float64{unset(c.running.Requests.CPUMilli) / 1000, unset(c.running.Requests.MemoryBytes)}
	wanted := [2]float64{unset(u.CPUMilli) / 1000, unset(u.MemoryBytes)}
	used := [2]float64{unset(fate.Used.CPUMilli) / 1000, unset(fate.Used.MemoryBytes)}
	if u.CPUMilli >= 0 {
		a.CPU.add(wanted[0], used[0], requested[0], seconds)
	}
	if u.MemoryBytes >= 0 {
		a.Memory.add(wanted[1], used[1], requested[1], seconds)
	}
	if fate.Down {
		a.Down += seconds
	} else {
		if c.running.Limits.CPUMilli >= 0 && u.CPUMilli >= 0 {
			a.Limited += seconds
		}
		if fate.Throttled > 0 {
			a.Throttled += seconds
			a.ThrottledCores += float64(fate.Throttled) / 1000 * seconds
		}
		if r.recommender != nil {
			a.quality(fate.Used, r.targets[n])
		}
	}
	r.day(c, n, at, seconds, requested, used, fate.Killed)
	if out.Curve != nil {
		out.Curve.add(at, seconds, wanted, requested, out.Last)
	}
}

// unset is an amount that is 0 where it is not known.
func unset(v int64) float64 { return float64(max(0, v)) }

// day books a sample in Autopilot's terms.
func (r *run) day(c *liveContainer, n int, at time.Time, seconds float64, requested, used [2]float64, killed bool) {
	t := r.days[n]
	number := at.Unix() / int64((24 * time.Hour).Seconds())
	if number != t.number {
		if t.seconds > 0 {
			out := &r.result.Containers[n]
			out.Days = append(out.Days, t.end())
		}
		*t = today{number: number, fives: [2][]float64{t.fives[0][:0], t.fives[1][:0]}}
	}
	t.seconds += seconds
	if killed {
		t.ooms++
	}
	if five := at.Unix() / fiveMinutes; five != c.fiveAt {
		c.fiveAt, c.fiveSlot, c.five, c.fiveSeconds = five, len(t.fives[0]), [2]float64{}, 0
		t.fives[0], t.fives[1] = append(t.fives[0], 0), append(t.fives[1], 0)
	}
	c.fiveSeconds += seconds
	for i := range 2 {
		t.reserved[i] += requested[i] * seconds
		t.used[i] += used[i] * seconds
		c.five[i] += used[i] * seconds
		t.fives[i][c.fiveSlot] = c.five[i] / c.fiveSeconds
	}
}
