package trial

import (
	"math"
	"slices"
	"time"

	"github.com/scalehist/scalehist/recommender/vertical"
)

// Area is what a resource came to over time: cores times seconds, or bytes times seconds.
type Area struct {
	// Wanted is the recorded usage, Used what of it was possible, Requested what was reserved for it.
	Wanted    float64 `json:"wanted"`
	Used      float64 `json:"used"`
	Requested float64 `json:"requested"`
	// Slack was reserved and not used, Overrun was used and not reserved, at each instant.
	Slack   float64 `json:"slack"`
	Overrun float64 `json:"overrun"`
}

func (a *Area) add(wanted, used, requested, seconds float64) {
	a.Wanted += wanted * seconds
	a.Used += used * seconds
	a.Requested += requested * seconds
	a.Slack += max(0, requested-used) * seconds
	a.Overrun += max(0, used-requested) * seconds
}

func (a *Area) merge(b *Area) {
	a.Wanted += b.Wanted
	a.Used += b.Used
	a.Requested += b.Requested
	a.Slack += b.Slack
	a.Overrun += b.Overrun
}

// Quality is what upstream's metrics of quality count of one resource (vertical-pod-autoscaler, pkg/utils/metrics/quality).
type Quality struct {
	// Relative has (usage-recommendation)/recommendation of each sample in upstream's buckets: entry i counts what is at most
	// RelativeBuckets[i] and more than the one before; the last entry counts the rest.
	Relative    [30]int64 `json:"relative"`
	RelativeSum float64   `json:"relativeSum"`
	Samples     int64     `json:"samples"`
	// Over sums recommendation-usage where that is positive, in cores or bytes, Lower the usage-recommendation of all other samples.
	Over         float64 `json:"over"`
	OverSamples  int64   `json:"overSamples"`
	Lower        float64 `json:"lower"`
	LowerSamples int64   `json:"lowerSamples"`
	// Missing counts samples for which there was no recommendation.
	Missing int64 `json:"missing"`
	// Changes counts recommendations that differ from the one before, ChangeSum is the sum of |new/old-1|.
	Changes   int64   `json:"changes"`
	ChangeSum float64 `json:"changeSum"`
}

// RelativeBuckets are upstream's, from -100 % to 100 times.
var RelativeBuckets = []float64{-1, -.75, -.5, -.25, -.1, -.05, -.025, -.01, -.005, -.0025, -.001,
	0, .001, .0025, .005, .01, .025, .05, .1, .25, .5, .75, 1, 2.5, 5, 10, 25, 50, 100}

// observe counts a sample; a recommendation that is Unset, or 0, is missing.
func (q *Quality) observe(used, recommended int64, unit float64) {
	if recommended <= 0 {
		q.Missing++
		return
	}
	diff := float64(used-recommended) / float64(recommended)
	at, _ := slices.BinarySearch(RelativeBuckets, diff)
	q.Relative[at]++
	q.RelativeSum += diff
	q.Samples++
	if by := float64(recommended-used) / unit; by > 0 {
		q.Over += by
		q.OverSamples++
	} else {
		q.Lower -= by
		q.LowerSamples++
	}
}

func (q *Quality) changed(old, now int64) {
	if old <= 0 || now <= 0 || old == now {
		return
	}
	q.Changes++
	q.ChangeSum += math.Abs(float64(now)/float64(old) - 1)
}

func (q *Quality) merge(o *Quality) {
	for i := range q.Relative {
		q.Relative[i] += o.Relative[i]
	}
	q.RelativeSum += o.RelativeSum
	q.Samples += o.Samples
	q.Over += o.Over
	q.OverSamples += o.OverSamples
	q.Lower += o.Lower
	q.LowerSamples += o.LowerSamples
	q.Missing += o.Missing
	q.Changes += o.Changes
	q.ChangeSum += o.ChangeSum
}

// Account is what became of a container over all pods of a workload, or of all containers that it was merged from.
type Account struct {
	// Seconds is how long containers were there with a usage that is known, of all of them added up; Down is how long of it they were
	// killed and waited.
	Seconds float64 `json:"seconds"`
	Down    float64 `json:"down"`
	// Samples were counted; Censored are those that were at a recorded limit.
	Samples  int64 `json:"samples"`
	Censored int64 `json:"censored"`
	CPU      Area  `json:"cpu"`
	Memory   Area  `json:"memory"`
	// Throttled is how long CPU was held back by a limit, and ThrottledCores by how much, in core-seconds. Limited is how long there was one.
	Throttled      float64 `json:"throttled"`
	ThrottledCores float64 `json:"throttledCores"`
	Limited        float64 `json:"limited"`
	// OOMs counts kills, Evictions pods that were evicted for other requests, Resizes those that were resized in place.
	OOMs      int64 `json:"ooms"`
	Evictions int64 `json:"evictions"`
	Resizes   int64 `json:"resizes"`
	// The quality of recommendations.
	CPUQuality    Quality `json:"cpuQuality"`
	MemoryQuality Quality `json:"memoryQuality"`
	// Days are the container's days, which are of UTC.
	Days []Day `json:"-"`
}

// Merge adds another account.
func (a *Account) Merge(b *Account) {
	a.Seconds += b.Seconds
	a.Down += b.Down
	a.Samples += b.Samples
	a.Censored += b.Censored
	a.CPU.merge(&b.CPU)
	a.Memory.merge(&b.Memory)
	a.Throttled += b.Throttled
	a.ThrottledCores += b.ThrottledCores
	a.Limited += b.Limited
	a.OOMs += b.OOMs
	a.Evictions += b.Evictions
	a.Resizes += b.Resizes
	a.CPUQuality.merge(&b.CPUQuality)
	a.MemoryQuality.merge(&b.MemoryQuality)
	a.Days = append(a.Days, b.Days...)
}

// Day is one day of a container of a workload, in the terms of Autopilot (Rzadca et al., EuroSys 2020, section 4.1). Its limit is what is
// reserved: in Kubernetes, the request.
type Day struct {
	// Tasks is the average number of pods over the day, Limit their average reservation and Peak the 95th percentile of all five-minute
	// averages of usage of all pods.
	Tasks       float64
	Limit, Peak [2]float64 // of CPU in cores and memory in bytes
	// Absolute is reserved less used, in all, divided by the day.
	Absolute [2]float64
	OOMs     int64
}

// RelativeSlack is (limit-peak)/limit of a resource, false where nothing was reserved.
func (d *Day) RelativeSlack(resource int) (float64, bool) {
	if d.Limit[resource] <= 0 {
		return 0, false
	}
	return (d.Limit[resource] - d.Peak[resource]) / d.Limit[resource], true
}

// OOMRate is the day's relative OOM rate: OOMs by the average number of tasks.
func (d *Day) OOMRate() float64 {
	if d.Tasks <= 0 {
		return 0
	}
	return float64(d.OOMs) / d.Tasks
}

// today collects a day.
type today struct {
	number         int64
	seconds        float64
	reserved, used [2]float64 // times seconds
	fives          [2][]float64
	ooms           int64
}

// fiveMinutes is the length of Autopilot's averages, in seconds.
const fiveMinutes = 300

// end makes a Day of what was collected.
func (t *today) end() Day {
	d := Day{Tasks: t.seconds / (24 * time.Hour).Seconds(), OOMs: t.ooms}
	for r := range 2 {
		d.Limit[r] = t.reserved[r] / t.seconds
		d.Absolute[r] = (t.reserved[r] - t.used[r]) / (24 * time.Hour).Seconds()
		if n := len(t.fives[r]); n > 0 {
			slices.Sort(t.fives[r])
			d.Peak[r] = t.fives[r][max(0, int(math.Ceil(0.95*float64(n)))-1)] // the nearest rank
		}
	}
	return d
}

// quality counts a sample of both resources.
func (a *Account) quality(used, recommended vertical.Amount) {
	if used.CPUMilli >= 0 {
		a.CPUQuality.observe(used.CPUMilli, recommended.CPUMilli, 1000)
	}
	if used.MemoryBytes >= 0 {
		a.MemoryQuality.observe(used.MemoryBytes, recommended.MemoryBytes, 1)
	}
}
