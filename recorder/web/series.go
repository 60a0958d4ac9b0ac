package web

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
	"github.com/scalehist/scalehist/recorder/history/observed"
)

// Series is what a plot shows of a history, or of a window of it.
type Series struct {
	Name string    `json:"name"`
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Resolution is the least time between two points, in seconds.
	Resolution float64 `json:"resolutionSeconds"`
	// At are instants in milliseconds since 1970; from each on, until the next, Nodes and Pending hold. Pending counts
	// pods without a node that are neither finished nor being deleted; within one resolution it is the most.
	At      []int64 `json:"at"`
	Nodes   []int   `json:"nodes"`
	Pending []int   `json:"pending"`
	// Steps are the changes of target sizes, StepsFrom what they were read from.
	Steps     []scalehist.RecordedStep `json:"steps"`
	StepsFrom string                   `json:"stepsFrom,omitempty"`
	Gaps      []history.Gap            `json:"gaps"`
}

// maxPoints bounds what is kept of a history: when there are more, the resolution is halved. A plot has fewer pixels.
const maxPoints = 2048

// point is one stretch of a resolution in which something changed.
type point struct {
	slot    int64 // in resolutions since 1970
	at      int64 // of the last change in it, in milliseconds
	nodes   int   // at its end
	pending int   // at its end
	peak    int   // the most pending pods within, before its last instant
}

func (p point) most() int { return max(p.peak, p.pending) }

// tracker follows a history: each update reads what is new in it.
type tracker struct {
	resolution int64 // milliseconds
	points     []point
	nodes      map[types.UID]bool
	pending    map[types.UID]bool
	// cursor is the instant of the last change read, done how many changes of that instant were. A writer may add more
	// at the same instant, never before it.
	cursor time.Time
	done   int
}

func newTracker() *tracker {
	return &tracker{resolution: 1000, nodes: map[types.UID]bool{}, pending: map[types.UID]bool{}}
}

// update reads what came since.
func (t *tracker) update(ctx context.Context, db *history.DB) error {
	from, skip := time.Time{}, t.done
	if !t.cursor.IsZero() {
		from = t.cursor.Add(-1)
	}
	for change, err := range db.Changes(ctx, from, time.Time{}) {
		if err != nil {
			return err
		}
		if skip > 0 && change.At.Equal(t.cursor) {
			skip--
			continue
		}
		if skip = 0; !change.At.Equal(t.cursor) {
			t.cursor, t.done = change.At, 0
		}
		t.done++
		t.take(change)
	}
	return nil
}

func (t *tracker) take(c scalehist.Change) {
	switch o := c.Object.(type) {
	case *corev1.Node:
		set(t.nodes, o.UID, c.Op != scalehist.OpDelete)
	case *corev1.Pod:
		waiting := o.Spec.NodeName == "" && o.DeletionTimestamp == nil && (o.Status.Phase == corev1.PodPending || o.Status.Phase == "")
		set(t.pending, o.UID, waiting && c.Op != scalehist.OpDelete)
	default:
		return
	}
	t.add(c.At.UnixMilli())
}

func set(m map[types.UID]bool, id types.UID, in bool) {
	if in {
		m[id] = true
	} else {
		delete(m, id)
	}
}

// add notes the present counts. What happens at one instant is seen as one change.
func (t *tracker) add(ms int64) {
	p := point{slot: ms / t.resolution, at: ms, nodes: len(t.nodes), pending: len(t.pending)}
	if n := len(t.points); n > 0 {
		was := &t.points[n-1]
		if was.slot == p.slot {
			if was.at != ms {
				was.peak = was.most()
			}
			was.at, was.nodes, was.pending = p.at, p.nodes, p.pending
			return
		}
		if was.nodes == p.nodes && was.pending == p.pending {
			return
		}
	}
	if t.points = append(t.points, p); len(t.points) > maxPoints {
		t.coarsen()
	}
}

// coarsen halves the resolution.
func (t *tracker) coarsen() {
	t.resolution *= 2
	out := t.points[:0]
	for _, p := range t.points {
		p.slot /= 2
		if n := len(out); n > 0 && out[n-1].slot == p.slot {
			p.peak = max(p.peak, out[n-1].most())
			out[n-1] = p
			continue
		}
		out = append(out, p)
	}
	t.points = out
}

// fill writes the points of [s.From, s.To].
func (t *tracker) fill(s *Series) {
	s.Resolution = float64(t.resolution) / 1000
	s.At, s.Nodes, s.Pending = []int64{}, []int{}, []int{}
	from, to := s.From.UnixMilli(), s.To.UnixMilli()
	add := func(at int64, nodes, pending int) {
		at = max(at, from)
		if n := len(s.At); n > 0 && s.At[n-1] >= at { // what held before the window, or a peak shorter than a slot
			if s.At[n-1] = at; at == from {
				s.Nodes[n-1], s.Pending[n-1] = nodes, pending
			} else {
				s.Nodes[n-1], s.Pending[n-1] = nodes, max(s.Pending[n-1], pending)
			}
			return
		}
		s.At, s.Nodes, s.Pending = append(s.At, at), append(s.Nodes, nodes), append(s.Pending, pending)
	}
	for i, p := range t.points {
		at := p.slot * t.resolution
		if at > to {
			break
		}
		most := p.most()
		if at+t.resolution <= from {
			most = p.pending // its peak was before the window
		}
		add(at, p.nodes, most)
		if end := at + t.resolution; p.most() != p.pending && end <= to && (i+1 == len(t.points) || t.points[i+1].slot > p.slot+1) {
			add(end, p.nodes, p.pending)
		}
	}
}

// series gives the plot of a window; zero bounds are open, and a last that is not zero counts from the end. A recent window of a history of months costs no more than
// the first look at it, which reads it once.
func (l *library) series(ctx context.Context, name string, from, to time.Time, latest time.Duration) (Series, error) {
	s := Series{Name: name, Steps: []scalehist.RecordedStep{}, Gaps: []history.Gap{}, At: []int64{}, Nodes: []int{}, Pending: []int{}}
	if _, err := l.one(ctx, name); err != nil {
		return s, err
	}
	path, err := l.path(name)
	if err != nil {
		return s, nil // nothing is recorded yet
	}
	b := l.book(name)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fresh(path)
	err = withHistory(ctx, path, l.timeout, func(ctx context.Context, db *history.DB) error {
		if b.series == nil {
			b.series = newTracker()
		}
		if err := b.series.update(ctx, db); err != nil {
			return err
		}
		s.From, s.To = db.Span()
		if from.After(s.From) {
			s.From = from
		}
		if !to.IsZero() && to.Before(s.To) {
			s.To = to
		}
		if start := s.To.Add(-latest); latest > 0 && start.After(s.From) {
			s.From = start
		}
		if s.To.Before(s.From) {
			return nil
		}
		b.series.fill(&s)
		var err error
		if s.Steps, s.StepsFrom, err = observed.Steps(ctx, db); err != nil {
			return err
		}
		s.Steps = slices.DeleteFunc(s.Steps, func(step scalehist.RecordedStep) bool {
			return step.At.Before(s.From) || step.At.After(s.To)
		})
		for i := range s.Steps {
			s.Steps[i].Pods = nil
		}
		s.Steps = append([]scalehist.RecordedStep{}, last(s.Steps, maxPoints)...)
		gaps, err := db.Gaps(ctx, s.From, s.To)
		s.Gaps = append(s.Gaps, gaps...)
		return err
	})
	var empty *dbfile.EmptyError
	if errors.As(err, &empty) {
		return s, nil
	}
	return s, unreadable(err, path)
}
