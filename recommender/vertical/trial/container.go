package trial

import (
	"time"

	"github.com/scalehist/scalehist/recommender/vertical"
)

// The kubelet's back-off of containers that fail: 10 s, twice as long each time up to 5 minutes, from the start again after 10
// minutes without a failure (k8s.io/kubernetes v1.36.3, pkg/kubelet/kubelet.go, MaxCrashLoopBackOff and its initial and reset values).
const (
	firstBackOff = 10 * time.Second
	mostBackOff  = 5 * time.Minute
	resetBackOff = 2 * mostBackOff
)

// Running is a container that runs under requests and limits, and is killed when it wants more memory than its limit.
type Running struct {
	Requests, Limits vertical.Amount
	started, killed  time.Time
	backOff          time.Duration
	down             time.Time // until then
}

// Start begins a run of a new container, without back-off.
func (c *Running) Start(now time.Time, requests, limits vertical.Amount) {
	*c = Running{Requests: requests, Limits: limits, started: now}
}

// Fate is what becomes of what a container wants at an instant.
type Fate struct {
	// Used is what it uses: CPU up to its limit, and nothing while it is down.
	Used vertical.Amount
	// Killed: it ran out of memory at that instant. Down: it does not run, and wants nothing that anybody could see.
	Killed, Down bool
	// Throttled is how much CPU its limit holds back, in millicores.
	Throttled int64
}

// Want says what becomes of what the container wants at an instant. Instants do not go back.
func (c *Running) Want(now time.Time, wanted vertical.Amount) Fate {
	if now.Before(c.down) {
		return Fate{Used: vertical.None, Down: true}
	}
	if !c.down.IsZero() {
		c.started, c.down = c.down, time.Time{}
	}
	f := Fate{Used: wanted}
	if limit := c.Limits.CPUMilli; limit >= 0 && wanted.CPUMilli > limit {
		f.Used.CPUMilli, f.Throttled = limit, wanted.CPUMilli-limit
	}
	if limit := c.Limits.MemoryBytes; limit > 0 && wanted.MemoryBytes > limit {
		c.kill(now)
		return Fate{Used: vertical.None, Killed: true, Down: true}
	}
	return f
}

func (c *Running) kill(now time.Time) {
	switch {
	case c.backOff == 0 || now.Sub(c.killed) > resetBackOff:
		c.backOff = firstBackOff
	default:
		c.backOff = min(2*c.backOff, mostBackOff)
	}
	c.killed = now
	c.down = now.Add(c.backOff)
}

// LastRun is when the run began that was killed last, and when that was; zero for none.
func (c *Running) LastRun() (started, killed time.Time) { return c.started, c.killed }
