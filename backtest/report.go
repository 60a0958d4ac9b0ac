package backtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/trial"
)

// Report is what came of a backtest.
type Report struct {
	History string    `json:"history"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	// JudgedFrom is from when on numbers count.
	JudgedFrom time.Time    `json:"judgedFrom"`
	Interval   string       `json:"interval"`
	Limits     trial.Limits `json:"limits"`
	// Axes of the front: relative slack, and throttling or, where no container has a limit of CPU, overrun.
	Front      [2]string `json:"front"`
	Candidates []Result  `json:"candidates"`
	Notes      []string  `json:"notes,omitempty"`
}

// Result is a candidate's.
type Result struct {
	Label   string `json:"label"`
	Updater string `json:"updater,omitempty"`
	// Front: no other candidate is as good in both and better in one. One with more severe OOM days than the first has is not on it.
	Front     bool           `json:"front"`
	Cluster   Measures       `json:"cluster"`
	Workloads []WorkloadPart `json:"workloads"`
	// Refused counts samples that the recommender did not take.
	Refused int `json:"refused,omitempty"`
}

// WorkloadPart is that of one workload.
type WorkloadPart struct {
	Workload   string          `json:"workload"`
	Measures   Measures        `json:"measures"`
	Containers []ContainerPart `json:"containers"`
}

// ContainerPart is that of one container of a workload.
type ContainerPart struct {
	Container string   `json:"container"`
	Measures  Measures `json:"measures"`
	// Recommended is what was recommended last; absent where nothing was.
	Recommended *vertical.Recommendation `json:"recommended,omitempty"`
	Events      []trial.Event            `json:"events,omitempty"`
	MoreEvents  int                      `json:"moreEvents,omitempty"`
	curve       *trial.Curve
}

// Share is a resource over time, in cores times hours or GiB times hours.
type Share struct {
	Requested float64 `json:"requested"`
	Used      float64 `json:"used"`
	Slack     float64 `json:"slack"`
	Overrun   float64 `json:"overrun"`
	// RelativeSlack is slack by requested; 0 where nothing was.
	RelativeSlack float64 `json:"relativeSlack"`
	// Autopilot is the same in Autopilot's terms: (limit-peak)/limit of all container-days, weighted by their limits, where the peak is the
	// 95th percentile of five-minute averages; and reserved less used on average, in cores or GiB.
	Autopilot         float64 `json:"autopilotRelativeSlack"`
	AutopilotAbsolute float64 `json:"autopilotAbsoluteSlack"`
	// Quality are upstream's metrics, as means over samples and changes.
	Quality Quality `json:"quality"`
}

// Quality are means of what upstream's metrics count.
type Quality struct {
	// RelativeDiff is the mean of (usage-recommendation)/recommendation, Buckets its histogram by upstream's buckets.
	RelativeDiff float64 `json:"relativeDiff"`
	Buckets      []int64 `json:"relativeDiffBuckets"`
	// Over and Lower are the means of how far recommendations were above usage, and at or below it, in cores or bytes.
	Over         float64 `json:"overUsageDiff"`
	OverSamples  int64   `json:"overUsageSamples"`
	Lower        float64 `json:"lowerOrEqualUsageDiff"`
	LowerSamples int64   `json:"lowerOrEqualUsageSamples"`
	Missing      int64   `json:"missingRecommendation"`
	Changes      int64   `json:"changes"`
	Change       float64 `json:"relativeChange"`
}

// Measures are the numbers of a container, a workload or the cluster.
type Measures struct {
	ContainerHours float64 `json:"containerHours"`
	CPU            Share   `json:"cpu"`
	Memory         Share   `json:"memory"`
	// Throttled is the share of time in which a limit held CPU back, ThrottledCoreHours how much; Limited is the share of time with a limit.
	Throttled          float64 `json:"throttled"`
	ThrottledCoreHours float64 `json:"throttledCoreHours"`
	Limited            float64 `json:"limited"`
	OOMs               int64   `json:"ooms"`
	DownHours          float64 `json:"downHours"`
	// SevereOOMDays are container-days with as many OOMs as pods, or more; Days are all.
	SevereOOMDays int   `json:"severeOomDays"`
	OOMDays       int   `json:"oomDays"`
	Days          int   `json:"days"`
	Evictions     int64 `json:"evictions"`
	Resizes       int64 `json:"resizes"`
	// Censored is the share of samples that were at a recorded limit: what was wanted then is not known.
	Censored float64 `json:"censored"`
}

const hour = 3600.0

// severeRate is the relative OOM rate of a day from which on its OOMs are severe: on average each pod was killed once. The paper defines
// the rate; the bound is ours.
const severeRate = 1

func by(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func measures(a *trial.Account) Measures {
	m := Measures{
		ContainerHours: a.Seconds / hour, CPU: share(&a.CPU, &a.CPUQuality, hour), Memory: share(&a.Memory, &a.MemoryQuality, hour*(1<<30)),
		Throttled: by(a.Throttled, a.Seconds), ThrottledCoreHours: a.ThrottledCores / hour, Limited: by(a.Limited, a.Seconds), OOMs: a.OOMs, DownHours: a.Down / hour,
		Days: len(a.Days), Evictions: a.Evictions, Resizes: a.Resizes, Censored: by(float64(a.Censored), float64(a.Samples)),
	}
	var limit, slack, absolute [2]float64
	for i := range a.Days {
		d := &a.Days[i]
		for r := range 2 {
			if relative, ok := d.RelativeSlack(r); ok {
				limit[r] += d.Limit[r] * d.Tasks
				slack[r] += relative * d.Limit[r] * d.Tasks
			}
			absolute[r] += d.Absolute[r]
		}
		if d.OOMs > 0 {
			m.OOMDays++
		}
		if d.OOMs > 0 && d.OOMRate() >= severeRate {
			m.SevereOOMDays++
		}
	}
	m.CPU.Autopilot, m.Memory.Autopilot = by(slack[0], limit[0]), by(slack[1], limit[1])
	m.CPU.AutopilotAbsolute, m.Memory.AutopilotAbsolute = absolute[0], absolute[1]/(1<<30)
	return m
}

func share(a *trial.Area, q *trial.Quality, unit float64) Share {
	return Share{
		Requested: a.Requested / unit, Used: a.Used / unit, Slack: a.Slack / unit, Overrun: a.Overrun / unit, RelativeSlack: by(a.Slack, a.Requested),
		Quality: Quality{
			RelativeDiff: by(q.RelativeSum, float64(q.Samples)), Buckets: slices.Clone(q.Relative[:]), Over: by(q.Over, float64(q.OverSamples)), OverSamples: q.OverSamples,
			Lower: by(q.Lower, float64(q.LowerSamples)), LowerSamples: q.LowerSamples, Missing: q.Missing, Changes: q.Changes, Change: by(q.ChangeSum, float64(q.Changes)),
		},
	}
}

func conclude(workloads []*trial.Workload, candidates []Candidate, results [][]*trial.Result, o Options) *Report {
	r := &Report{History: o.Name, From: o.From, To: o.To, JudgedFrom: o.From.Add(o.Learn), Interval: o.Interval.String(), Limits: o.Limits}
	for i := range candidates {
		c := &candidates[i]
		out := Result{Label: c.Label, Updater: c.Updater}
		var cluster trial.Account
		advised := 0
		for k, w := range results[i] {
			part := WorkloadPart{Workload: w.Workload}
			var all trial.Account
			for n := range w.Containers {
				one := &w.Containers[n]
				p := ContainerPart{Container: one.Name, Measures: measures(&one.Account), Events: one.Events, MoreEvents: one.MoreEvents, curve: one.Curve}
				if one.Last.Target != vertical.None {
					p.Recommended = &one.Last
				}
				part.Containers = append(part.Containers, p)
				all.Merge(&one.Account)
				if _, ok := c.Advice.of(workloads[k].Kind, workloads[k].Namespace, workloads[k].Name, one.Name); ok {
					advised++
				}
			}
			part.Measures = measures(&all)
			cluster.Merge(&all)
			out.Workloads = append(out.Workloads, part)
			if out.Refused == 0 && w.Errors > 0 {
				r.Notes = append(r.Notes, fmt.Sprintf("%s: samples were refused, the first: %s", c.Label, w.First))
			}
			out.Refused += w.Errors
		}
		if c.Advice != nil {
			r.Notes = append(r.Notes, fmt.Sprintf("%s: %d of %s in it are of containers of the history; where there is none, requests are as recorded",
				c.Label, advised, plural.Of(len(c.Advice), "recommendation")))
		}
		out.Cluster = measures(&cluster)
		r.Candidates = append(r.Candidates, out)
	}
	r.judge()
	return r
}

// axes are a candidate's slack of CPU and memory together, and how much harm it does: what it throttles, or what is used beyond requests, and how
// long containers are down that ran out of memory, so that nobody is on the front who ignores OOMs. Less is better in both.
func (r *Report) axes(c *Result) (slack, harm float64) {
	m := &c.Cluster
	slack = (m.CPU.RelativeSlack + m.Memory.RelativeSlack) / 2
	down := by(m.DownHours, m.ContainerHours)
	if r.Front[1] == axisThrottled {
		return slack, m.Throttled + down
	}
	return slack, (by(m.CPU.Overrun, m.CPU.Used)+by(m.Memory.Overrun, m.Memory.Used))/2 + down
}

// The axes of the front.
const (
	axisSlack     = "relative slack, mean of CPU and memory"
	axisThrottled = "share of time with CPU throttled, or down for memory"
	axisOverrun   = "usage beyond requests by usage, mean of CPU and memory, and the share of time down for memory"
)

// judge marks the front, and notes what must be known.
func (r *Report) judge() {
	r.Front = [2]string{axisSlack, axisThrottled}
	limited := slices.ContainsFunc(r.Candidates, func(c Result) bool { return c.Cluster.Limited > 0 })
	if !limited {
		r.Front[1] = axisOverrun
		r.Notes = append(r.Notes, "no container has a limit of CPU, so nothing is throttled: the front takes usage beyond requests in its place; --limits requests makes requests the limits")
	}
	least := r.Candidates[0].Cluster.SevereOOMDays
	for i := range r.Candidates {
		c := &r.Candidates[i]
		c.Front = false
		if severe := c.Cluster.SevereOOMDays; severe > least {
			r.Notes = append(r.Notes, fmt.Sprintf("%s is not on the front, however little slack it has: containers ran out of memory severely on %d of %s, with %s on %d",
				c.Label, severe, plural.Of(c.Cluster.Days, "container-day"), r.Candidates[0].Label, least))
			continue
		}
		x, y := r.axes(c)
		c.Front = !slices.ContainsFunc(r.Candidates, func(o Result) bool {
			if o.Cluster.SevereOOMDays > least {
				return false
			}
			ox, oy := r.axes(&o)
			return ox <= x && oy <= y && (ox < x || oy < y)
		})
	}
	if c := r.Candidates[0].Cluster.Censored; c > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%.1f %% of samples were at a recorded limit: more was wanted then, how much is not known", 100*c))
	}
}
