package history

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history/internal/stored"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// Lines calls f for each line of an object log of the window [from, to] that imports to the same content: the objects at from as adds,
// then everything with from < at <= to in recorded order. Zero bounds are open, and a window that covers the whole span is the whole
// history. Within an instant: recordings, gaps, objects and events as recorded, usage, samples.
func (db *DB) Lines(ctx context.Context, from, to time.Time, f func(objectlog.Line) error) error {
	if !from.After(db.from) {
		from = time.Time{}
	}
	if !to.Before(db.to) {
		to = time.Time{}
	}
	return db.read(ctx, "export", func(q queryer) error {
		origin, err := readOrigin(ctx, q)
		if err != nil {
			return err
		}
		return mergeLines(ctx, q, from, to, func(l objectlog.Line) error {
			if r, ok := l.Object.(*objectlog.Recording); ok && origin == scalehist.OriginScripted {
				r.Spec.Origin = origin // who imports the log could not know
			}
			return f(l)
		})
	})
}

// Hash is the SHA-256 of the logical content in hexadecimal: equal for equal histories however their pages lie. It
// covers everything but meta.
func (db *DB) Hash(ctx context.Context) (string, error) {
	h := sha256.New()
	out := objectlog.NewWriter(h, false)
	err := db.Lines(ctx, time.Time{}, time.Time{}, func(l objectlog.Line) error {
		if r, ok := l.Object.(*objectlog.Recording); ok {
			r.Spec.Origin = "" // which meta says
		}
		return out.Write(l)
	})
	if err = errors.Join(err, out.Close()); err != nil {
		return "", fmt.Errorf("hash: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// source is one sorted stream of lines.
type source struct {
	next func() (position, objectlog.Line, error, bool)
	at   position
	line objectlog.Line
	live bool
}

func (s *source) advance() error {
	at, line, err, ok := s.next()
	s.at, s.line, s.live = at, line, ok
	return err
}

// mergeLines merges all that a history holds into one stream.
func mergeLines(ctx context.Context, q queryer, from, to time.Time, emit func(objectlog.Line) error) error {
	after, end, err := window(from, to)
	if err != nil {
		return err
	}
	marks, err := markLines(ctx, q, from, to)
	if err != nil {
		return err
	}
	l := newLoader(q)
	initial, err := initialLines(ctx, q, l, from)
	if err != nil {
		return err
	}
	kept, err := sinceBase(ctx, q, after)
	if err != nil {
		return err
	}
	events := eventPager(ctx, q, kept, end)
	usages := usagePager(ctx, q, kept.at, end)
	samples := samplePager(ctx, q, kept.at, end)
	next, stop := iter.Pull2(changeStream(ctx, q, l, after, end, nil))
	defer stop()
	sources := []*source{
		{next: sliceSource(marks)},
		{next: sliceSource(initial)},
		{next: func() (position, objectlog.Line, error, bool) {
			r, err, ok := next()
			return r.position, objectlog.Line{At: stored.FromNS(r.at), ObjectAt: r.objectAt, Op: r.change.Op, Object: r.change.Object}, err, ok && err == nil
		}},
		{next: pagerSource(events, func(e *eventRow) (position, objectlog.Line) {
			line := objectlog.Line{At: stored.FromNS(e.at), Op: scalehist.OpUpdate, Object: e.record.Object()}
			if e.first {
				line.Op = scalehist.OpAdd
			}
			return e.position, line
		})},
		{next: pagerSource(usages, func(u *usageRow) (position, objectlog.Line) {
			return position{u.at, maxInt - 1}, objectlog.Line{At: stored.FromNS(u.at), Op: scalehist.OpAdd, Object: objectlog.NewUsage(u.usage.Pod.Namespace,
				u.usage.Pod.Name, objectlog.UsageSpec{Container: u.usage.Container, CPUMilli: u.usage.CPUMilli, MemoryBytes: u.usage.MemoryBytes})}
		})},
		{next: pagerSource(samples, func(s *sampleRow) (position, objectlog.Line) {
			return position{s.at, maxInt}, objectlog.Line{At: stored.FromNS(s.at), Op: scalehist.OpAdd,
				Object: objectlog.NewSample(s.sample.Series, objectlog.SampleSpec{Labels: s.sample.Labels, Value: objectlog.Value(s.sample.Value)})}
		})},
	}
	for _, s := range sources {
		if err := s.advance(); err != nil {
			return err
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		var best *source
		for _, s := range sources {
			if s.live && (best == nil || s.at.before(best.at)) {
				best = s
			}
		}
		if best == nil {
			return nil
		}
		if err := emit(best.line); err != nil {
			return err
		}
		if err := best.advance(); err != nil {
			return err
		}
	}
}

// placed is a line with its place.
type placed struct {
	position
	line objectlog.Line
}

func sliceSource(lines []placed) func() (position, objectlog.Line, error, bool) {
	return func() (position, objectlog.Line, error, bool) {
		if len(lines) == 0 {
			return position{}, objectlog.Line{}, nil, false
		}
		l := lines[0]
		lines = lines[1:]
		return l.position, l.line, nil, true
	}
}

func pagerSource[T any](p *pager[T], line func(*T) (position, objectlog.Line)) func() (position, objectlog.Line, error, bool) {
	return func() (position, objectlog.Line, error, bool) {
		v, ok, err := p.peek()
		if err != nil || !ok {
			return position{}, objectlog.Line{}, err, false
		}
		at, l := line(v)
		p.take()
		return at, l, nil, true
	}
}

// initialLines are the objects that live at from, as adds; none for an open from.
func initialLines(ctx context.Context, q queryer, l *loader, from time.Time) ([]placed, error) {
	if from.IsZero() {
		return nil, nil
	}
	ns, err := stored.Instant(from)
	if err != nil {
		return nil, err
	}
	objects, err := objectsAt(ctx, q, l, from)
	if err != nil {
		return nil, err
	}
	out := make([]placed, 0, len(objects))
	for _, o := range objects {
		out = append(out, placed{position{ns, -1}, objectlog.Line{At: stored.FromNS(ns), Op: scalehist.OpAdd, Object: o}})
	}
	return out, nil
}

// markLines are recordings and gaps, clipped to the window and numbered again.
func markLines(ctx context.Context, q queryer, from, to time.Time) ([]placed, error) {
	recordings, err := readRecordings(ctx, q)
	if err != nil {
		return nil, err
	}
	gaps, err := readGaps(ctx, q, from, to)
	if err != nil {
		return nil, err
	}
	var out []placed
	for _, r := range recordings {
		f, t := clip(r.From, r.end, from, to)
		if t.Before(f) {
			continue
		}
		out = append(out, placed{position{f.UnixNano(), -3}, objectlog.Line{At: f, Op: scalehist.OpAdd,
			Object: objectlog.NewRecording(strconv.Itoa(len(out)+1), objectlog.RecordingSpec{To: t, Kinds: r.Kinds})}})
	}
	n := len(out)
	for _, g := range gaps {
		f, t := clip(g.From, g.To, from, to)
		out = append(out, placed{position{f.UnixNano(), -2}, objectlog.Line{At: f, Op: scalehist.OpAdd,
			Object: objectlog.NewGap(strconv.Itoa(len(out)-n+1), objectlog.GapSpec{To: t, Kinds: g.Kinds, Why: g.Why})}})
	}
	slices.SortStableFunc(out, func(a, b placed) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq)) })
	return out, nil
}
