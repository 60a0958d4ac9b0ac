package trial

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/vpa"
)

// Stale is how long a sample holds where no other follows: Prometheus's lookback delta, as replays take usage.
const Stale = 5 * time.Minute

// Options say what is tried.
type Options struct {
	// From and To are the window; JudgeFrom, if later than From, is when accounts begin: before it a recommender learns.
	From, To, JudgeFrom time.Time
	// Recommender makes the recommender; nil: requests are as they were recorded.
	Recommender vertical.Maker
	// Caps: what it recommends is not capped by itself, as that of vpa is.
	Caps bool
	// AtStart: pods have what is recommended from the beginning on, as if it had been rolled out before.
	AtStart bool
	// Updater is one of vertical.Updaters, with those of the flags that are upstream's updater's.
	Updater string
	Flags   vpa.Flags
	// Interval is how often it recommends and updates. Upstream's default is a minute for both.
	Interval time.Duration
	Limits   Limits
	// Points is how many points curves have; 0: no curves.
	Points int
}

// Result is what came of a trial.
type Result struct {
	Workload string
	// Containers are in the order in which they come.
	Containers []ContainerResult
	// Errors counts samples that the recommender refused; First is the first one's error.
	Errors int
	First  string
}

// ContainerResult is that of one container.
type ContainerResult struct {
	Name string
	Account
	Curve *Curve
	// Events are the first of what happened to it, MoreEvents how many more there were.
	Events     []Event
	MoreEvents int
	// Last is what was recommended last; Unset where nothing was.
	Last vertical.Recommendation
}

// Event is something that happened to a container.
type Event struct {
	At   time.Time `json:"at"`
	Kind string    `json:"kind"` // "oom", "evict", "resize"
	Pod  string    `json:"pod"`
	Why  string    `json:"why,omitempty"`
}

// The kinds of events.
const (
	EventOOM    = "oom"
	EventEvict  = "evict"
	EventResize = "resize"
)

// maxEvents bounds the events of a container that are kept.
const maxEvents = 500

// Run tries a recommender on a workload.
func Run(ctx context.Context, w *Workload, o Options) (*Result, error) {
	if o.Interval <= 0 {
		return nil, fmt.Errorf("interval %s: want more than 0s", o.Interval)
	}
	if !o.To.After(o.From) {
		return nil, fmt.Errorf("the window ends at %s, which is not after its start", o.To.UTC().Format(time.RFC3339))
	}
	names := w.containers()
	vw := vertical.Workload{Namespace: w.Namespace, Name: w.Name, Containers: names, VPA: w.VPA}
	r := &run{o: o, w: w, result: &Result{Workload: w.String()}, index: map[string]int{}}
	for i, name := range names {
		r.index[name] = i
		r.targets = append(r.targets, vertical.None)
		r.days = append(r.days, &today{number: -1})
		c := ContainerResult{Name: name, Last: vertical.Recommendation{Container: name, Lower: vertical.None, Target: vertical.None, Upper: vertical.None}}
		if o.Points > 0 {
			c.Curve = newCurve(o.From, o.To, o.Points)
		}
		r.result.Containers = append(r.result.Containers, c)
	}
	updater := o.Updater
	if o.Recommender != nil {
		var err error
		if r.recommender, err = o.Recommender(vw); err != nil {
			return nil, fmt.Errorf("%s: %w", w, err)
		}
		defer vertical.Close(r.recommender)
	} else {
		updater = vertical.UpdaterNone
	}
	var err error
	if r.scaler, err = vertical.NewScaler(o.Flags, updater, vw, w.LimitRanges); err != nil {
		return nil, fmt.Errorf("%s: %w", w, err)
	}
	for tick := o.From; tick.Before(o.To); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		next := tick.Add(o.Interval)
		if next.After(o.To) {
			next = o.To
		}
		r.lifes(tick)
		if tick.Equal(o.From) {
			if err := r.recommend(ctx, tick); err != nil {
				return nil, fmt.Errorf("%s: %w", w, err)
			}
			if o.AtStart {
				r.readmit(tick)
			}
		}
		r.until(next)
		if err := r.recommend(ctx, next); err != nil {
			return nil, fmt.Errorf("%s: %w", w, err)
		}
		r.update(next)
		tick = next
	}
	for i, t := range r.days {
		if t.seconds > 0 {
			r.result.Containers[i].Days = append(r.result.Containers[i].Days, t.end())
		}
	}
	return r.result, nil
}

// run is a trial under way.
type run struct {
	o           Options
	w           *Workload
	recommender vertical.Recommender
	scaler      *vertical.Scaler
	result      *Result
	index       map[string]int // of containers, by name
	targets     []vertical.Amount
	days        []*today
	next        int // pod that comes next
	live        []*livePod
	seen        []vertical.Live
}

// lifes lets pods come and go that do so by an instant.
func (r *run) lifes(now time.Time) {
	r.live = slices.DeleteFunc(r.live, func(p *livePod) bool {
		gone := !p.pod.To.IsZero() && !p.pod.To.After(now)
		if gone && r.recommender != nil {
			vertical.Forget(r.recommender, p.pod.Name)
		}
		return gone
	})
	for ; r.next < len(r.w.Pods) && !r.w.Pods[r.next].From.After(now); r.next++ {
		p := &r.w.Pods[r.next]
		if p.To.IsZero() || p.To.After(now) {
			r.live = append(r.live, r.admit(p, now))
		}
	}
}

// until lets containers do what they want up to an instant, in the order of time.
func (r *run) until(now time.Time) {
	end := now.UnixNano()
	for {
		var first *livePod
		at, which := end, 0
		for _, p := range r.live {
			for i := range p.containers {
				c := &p.containers[i]
				if c.next < len(c.recorded.Usage) && c.recorded.Usage[c.next].At < at {
					first, at, which = p, c.recorded.Usage[c.next].At, i
				}
			}
		}
		if first == nil {
			return
		}
		r.sample(first, which)
	}
}

// sample takes the next sample of a container of a pod.
func (r *run) sample(p *livePod, i int) {
	c := &p.containers[i]
	u := c.recorded.Usage[c.next]
	c.next++
	at := time.Unix(0, u.At)
	if r.recommender == nil {
		r.recordedResizes(p, u.At)
	}
	fate := c.running.Want(at, u.Amount)
	p.seen.Usage[i] = fate.Used
	n := r.index[c.recorded.Name]
	s := vertical.Sample{At: at, Pod: p.pod.Name, Container: c.recorded.Name, Usage: fate.Used}
	if fate.Killed {
		s.OOM, s.Requested = true, max(0, c.running.Requests.MemoryBytes)
		p.killed(i, &c.running)
		r.event(n, Event{At: at, Kind: EventOOM, Pod: p.pod.Name})
	}
	if r.recommender != nil && (!fate.Down || fate.Killed) {
		if err := r.recommender.Observe(s); err != nil {
			r.refused(1, err.Error())
		}
	}
	r.account(p, c, n, at, u, fate)
}

// refused counts samples that the recommender did not take.
func (r *run) refused(number int, first string) {
	if r.result.Errors == 0 {
		r.result.First = first
	}
	r.result.Errors += number
}

// recommend asks for recommendations and hands them to the scaler.
func (r *run) recommend(ctx context.Context, now time.Time) error {
	if r.recommender == nil {
		return nil
	}
	list, err := r.recommender.Recommend(ctx, now)
	if err != nil {
		return err
	}
	r.refused(vertical.Refused(r.recommender))
	if r.o.Caps {
		list = vertical.Cap(r.w.VPA, list)
	}
	if slices.Equal(list, r.scaler.Recommended()) {
		return nil
	}
	for _, one := range list {
		n, ok := r.index[one.Container]
		if !ok {
			continue
		}
		c := &r.result.Containers[n]
		if !now.Before(r.o.JudgeFrom) {
			c.CPUQuality.changed(r.targets[n].CPUMilli, one.Target.CPUMilli)
			c.MemoryQuality.changed(r.targets[n].MemoryBytes, one.Target.MemoryBytes)
		}
		r.targets[n], c.Last = one.Target, one
	}
	r.scaler.Set(list)
	return nil
}

// update lets the updater act.
func (r *run) update(now time.Time) {
	if r.recommender == nil {
		return
	}
	r.seen = r.seen[:0]
	for _, p := range r.live {
		r.seen = append(r.seen, p.seen)
	}
	var updates []vertical.Update
	r.scaler.Update(now, r.seen, func(u vertical.Update) { updates = append(updates, u) })
	slices.SortStableFunc(updates, func(a, b vertical.Update) int { return cmp.Compare(a.Pod, b.Pod) })
	for _, u := range updates {
		p := r.live[u.Pod]
		kind := EventEvict
		if u.InPlace {
			kind = EventResize
			r.resize(p, u.Resources)
		} else {
			r.replace(p, now)
		}
		for i := range p.containers {
			r.event(r.index[p.containers[i].recorded.Name], Event{At: now, Kind: kind, Pod: p.pod.Name, Why: u.Reason})
		}
	}
}

// readmit gives all pods what is recommended.
func (r *run) readmit(now time.Time) {
	for _, p := range r.live {
		r.replace(p, now)
	}
}

// event counts an event, and keeps it where there is room.
func (r *run) event(n int, e Event) {
	if e.At.Before(r.o.JudgeFrom) {
		return
	}
	c := &r.result.Containers[n]
	switch e.Kind {
	case EventOOM:
		c.OOMs++
	case EventEvict:
		c.Evictions++
	case EventResize:
		c.Resizes++
	}
	if len(c.Events) < maxEvents {
		c.Events = append(c.Events, e)
	} else {
		c.MoreEvents++
	}
}
