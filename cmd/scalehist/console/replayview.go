package console

import (
	"fmt"
	"strings"
	"time"

	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/internal/plural"
)

// replayView shows how far a replay is: virtual time, how fast it passes, nodes, pending pods, and what was done last.
type replayView struct {
	progress *Progress
	first    time.Time // virtual time of the first step that was reported
	p        harness.Progress
}

func NewReplayView(s IO) *replayView { return &replayView{progress: s.NewProgress("replaying", -1)} }

// Step is a harness.WithProgress callback.
func (v *replayView) Step(p harness.Progress) {
	if v.first.IsZero() || p.Now.Before(v.first) {
		v.first = p.Now
		v.progress.start = v.progress.now()
	}
	v.p = p
	v.progress.show(v.lines, v.line)
}

func (v *replayView) Done() { v.progress.Done() }

// share is how much of the window is behind, 0 to 1.
func (v *replayView) share() float64 {
	return min(1, max(0, float64(v.p.Now.Sub(v.p.Start))/float64(max(1, v.p.End.Sub(v.p.Start)))))
}

// window is virtual time and the length of the window: "+10h5m0s of 24h0m0s".
func (v *replayView) window() string {
	return fmt.Sprintf("+%s of %s", v.p.Now.Sub(v.p.Start).Round(time.Second), v.p.End.Sub(v.p.Start).Round(time.Second))
}

// speed is how many virtual seconds a second takes, "" before anything can be said.
func (v *replayView) speed() string {
	wall, virtual := v.progress.now().Sub(v.progress.start), v.p.Now.Sub(v.first)
	if wall <= 0 || virtual <= 0 {
		return ""
	}
	return thousands(int64(virtual.Seconds()/wall.Seconds()+0.5)) + "x"
}

// action is what was last asked of the cloud provider, "" for nothing.
func (v *replayView) action() string {
	if v.p.LastAction == nil {
		return ""
	}
	return fmt.Sprintf("+%s %s", v.p.LastAction.At.Sub(v.p.Start).Round(time.Second), v.p.LastAction.Summary())
}

func (v *replayView) lines(columns int) []string {
	head := fmt.Sprintf("replaying  %s%3.0f%%  %s", v.progress.bar(columns, v.share()), 100*v.share(), v.window())
	if speed := v.speed(); speed != "" {
		head += "  " + speed
	}
	cells := []string{fmt.Sprintf("nodes %d", v.p.Nodes), fmt.Sprintf("pending %d", v.p.Pending)}
	if v.p.Groups != nil {
		for _, g := range v.p.Groups() {
			cells = append(cells, fmt.Sprintf("%s %d/%s", g.Name, g.TargetSize, g.MaxText()))
		}
	}
	last := "nothing was scaled yet"
	if action := v.action(); action != "" {
		last = "last " + action
	}
	return []string{head, strings.Join(cells, "  "), last}
}

func (v *replayView) line() string {
	parts := []string{fmt.Sprintf("replaying: %.0f%%", 100*v.share()), v.window()}
	if speed := v.speed(); speed != "" {
		parts = append(parts, speed)
	}
	parts = append(parts, plural.Of(v.p.Nodes, "node"), fmt.Sprintf("%d pending", v.p.Pending))
	if action := v.action(); action != "" {
		parts = append(parts, "last "+action)
	}
	return strings.Join(parts, ", ")
}
