package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
	"github.com/scalehist/scalehist/recorder/history/observed"
	"github.com/scalehist/scalehist/recorder/service"
)

// stateStored is the state of a history that nothing is written to: uploaded, or of a cluster that is not in the
// configuration any more.
const stateStored = "stored"

// Cluster is a cluster that is recorded, or a history that is there, as the API shows it.
type Cluster struct {
	Name string `json:"name"`
	// Recorded: it is in the configuration. State is connecting, recording, failed, stopping or stored.
	Recorded bool   `json:"recorded"`
	State    string `json:"state"`
	// Reason says why it failed, or which watches are down while it records.
	Reason string `json:"reason,omitempty"`
	// Since is when it came into the state; NextTry when a failed one is tried again.
	Since          time.Time `json:"since,omitzero"`
	NextTry        time.Time `json:"nextTry,omitzero"`
	Server         string    `json:"server,omitempty"`
	NodeGroupsFrom string    `json:"nodeGroupsFrom,omitempty"`
	// Objects are there now; Changes have been seen since the service started, Written of them are in the file, Queued
	// wait.
	Objects int64 `json:"objects"`
	Changes int64 `json:"changes"`
	Written int64 `json:"written"`
	Queued  int64 `json:"queued"`
	// Attempts to record were made, Failures of them ended with an error.
	Attempts int64 `json:"attempts"`
	Failures int64 `json:"failures"`
	// NotRecorded says which kinds are not, and what to do.
	NotRecorded []string `json:"notRecorded,omitempty"`
	// History is absent while nothing was recorded.
	History *History `json:"history,omitempty"`
}

// History is what is cheap to know of a file.
type History struct {
	From  time.Time `json:"from,omitzero"`
	To    time.Time `json:"to,omitzero"`
	Bytes int64     `json:"bytes"`
	// Cluster is the name in the file.
	Cluster string `json:"cluster,omitempty"`
	// Origin says what the history is evidence of: recorded (a live cluster), imported (an object log) or scripted (a
	// virtual cluster with scalehist's own autoscaler).
	Origin scalehist.Origin `json:"origin,omitempty"`
	// Gaps counts stretches in which pods or nodes were not watched, GapSeconds their time, overlaps counted once. Gaps
	// of other kinds, such as those that may not be listed, are in Detail only.
	Gaps       int     `json:"gaps"`
	GapSeconds float64 `json:"gapSeconds"`
	// Problem says why the file cannot be read.
	Problem string `json:"problem,omitempty"`
}

// Detail is a cluster with what takes longer to know.
type Detail struct {
	Cluster
	Recordings []history.Recording      `json:"recordings"`
	Gaps       []history.Gap            `json:"gaps"`
	Stats      history.Stats            `json:"stats"`
	NodeGroups []observed.NodeGroupSize `json:"nodeGroups"`
	StepsFrom  string                   `json:"stepsFrom,omitempty"`
	Steps      []scalehist.RecordedStep `json:"steps"`
	Events     []history.Event          `json:"events"`
}

// How many of the last steps and events a Detail has.
const (
	maxSteps  = 200
	maxEvents = 50
)

// How old an answer may be: a page that is looked at asks every few seconds, and counting reads the whole file.
const (
	summaryAge = time.Second
	countsAge  = 30 * time.Second
	// slowAge is for a file that was given up: each try holds a processor for readTimeout.
	slowAge = 10 * time.Minute
)

// readTimeout is how long may be read in a history for one answer, which must be on its way by then. Files come from
// anywhere, and one must not keep the others from being shown.
const readTimeout = ioTimeout

// library knows the histories of a directory.
type library struct {
	recordings Recordings
	clock      clock.PassiveClock
	timeout    time.Duration // readTimeout; tests shorten it

	mu    sync.Mutex
	books map[string]*book
}

// book remembers what was read of one history.
type book struct {
	mu       sync.Mutex // one reader at a time: the others take what it found
	file     os.FileInfo
	summary  History
	summedAt time.Time
	slow     bool // summarizing was given up
	stats    history.Stats
	statsAt  time.Time
	series   *tracker
}

func newLibrary(r Recordings, c clock.PassiveClock) *library {
	return &library{recordings: r, clock: c, timeout: readTimeout, books: map[string]*book{}}
}

// names are all clusters and histories.
func (l *library) names() []string {
	var out []string
	for _, c := range l.recordings.Clusters() {
		out = append(out, c.Name)
	}
	entries, _ := os.ReadDir(l.recordings.Dir()) // what is recorded is listed all the same
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".db"); ok && service.ValidName(name) && e.Type().IsRegular() {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// errUnknown: there is neither a cluster nor a history of that name.
var errUnknown = errors.New("there is no such cluster or history")

// path is the file of a history: a name that is no name, or names a link, is unknown.
func (l *library) path(name string) (string, error) {
	if !service.ValidName(name) {
		return "", errUnknown
	}
	path := l.recordings.HistoryPath(name)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", errUnknown
	}
	return path, nil
}

// list shows everything.
func (l *library) list(ctx context.Context) []Cluster {
	statuses := map[string]service.Status{}
	for _, c := range l.recordings.Clusters() {
		statuses[c.Name] = c
	}
	out := []Cluster{}
	for _, name := range l.names() {
		status, ok := statuses[name]
		out = append(out, l.cluster(ctx, name, status, ok))
	}
	return out
}

// one shows one.
func (l *library) one(ctx context.Context, name string) (Cluster, error) {
	for _, c := range l.recordings.Clusters() {
		if c.Name == name {
			return l.cluster(ctx, name, c, true), nil
		}
	}
	if _, err := l.path(name); err != nil {
		return Cluster{}, err
	}
	return l.cluster(ctx, name, service.Status{}, false), nil
}

func (l *library) cluster(ctx context.Context, name string, s service.Status, recorded bool) Cluster {
	c := Cluster{Name: name, Recorded: recorded, State: stateStored}
	if recorded {
		c.State, c.Reason, c.Since, c.NextTry = string(s.State), s.Reason, utc(s.Since), utc(s.NextTry)
		c.Server, c.NodeGroupsFrom, c.NotRecorded = s.Server, s.Recorder.NodeGroups, s.Refused
		c.Objects, c.Changes, c.Written, c.Queued = s.Recorder.Objects, s.Changes, s.Written, s.Recorder.Queued
		c.Attempts, c.Failures = s.Attempts, s.Failures
	}
	path, err := l.path(name)
	if err != nil {
		return c
	}
	b := l.book(name)
	b.mu.Lock()
	defer b.mu.Unlock()
	fresh, age := b.fresh(path), summaryAge
	switch {
	case b.slow:
		age = slowAge
	case b.summary.Problem != "":
		age = 0
	}
	if !fresh || l.clock.Since(b.summedAt) > age {
		b.summarize(ctx, path, l.timeout)
		b.summedAt = l.clock.Now()
	}
	h := b.summary
	if s.State == service.StateConnecting {
		h.Problem = "" // it may just be coming into being; an attempt that cannot use it fails
	}
	c.History = &h
	return c
}

func (l *library) book(name string) *book {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books[name]
	if b == nil {
		b = &book{}
		l.books[name] = b
	}
	return b
}

// fresh says whether what is remembered is of the file that is there, and forgets it otherwise: a file that replaced
// another is another history.
func (b *book) fresh(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if b.file != nil && os.SameFile(b.file, info) {
		return true
	}
	b.file, b.summary, b.stats, b.statsAt, b.summedAt, b.series, b.slow = info, History{}, history.Stats{}, time.Time{}, time.Time{}, nil, false
	return false
}

// summarize reads what is cheap. What cannot be read is said in Problem.
func (b *book) summarize(ctx context.Context, path string, timeout time.Duration) {
	h := History{Bytes: fileBytes(path)}
	err := withHistory(ctx, path, timeout, func(ctx context.Context, db *history.DB) error {
		h.From, h.To = db.Span()
		meta, err := db.Meta(ctx)
		if err != nil {
			return err
		}
		h.Cluster = meta["cluster"]
		if h.Origin, err = db.Origin(ctx); err != nil {
			return err
		}
		gaps, err := db.Gaps(ctx, time.Time{}, time.Time{})
		if err != nil {
			return err
		}
		gaps = slices.DeleteFunc(gaps, func(g history.Gap) bool {
			return len(g.Kinds) > 0 && !slices.Contains(g.Kinds, "Pod") && !slices.Contains(g.Kinds, "Node")
		})
		h.Gaps, h.GapSeconds = len(gaps), gapTime(gaps).Seconds()
		return nil
	})
	if ctx.Err() != nil {
		return // the client is gone
	}
	b.slow = errors.Is(err, errSlow)
	var empty *dbfile.EmptyError
	if err != nil && !errors.As(err, &empty) {
		h.Problem = namedOnly(err, path)
	}
	b.summary = h
}

// namedOnly is what is wrong with a history, without the directory it is in.
func namedOnly(err error, path string) string {
	return strings.ReplaceAll(err.Error(), path, filepath.Base(path))
}

// unreadable says of errors about a file that they are the file's, not the server's.
func unreadable(err error, path string) error {
	var corrupt *dbfile.CorruptError
	var foreign *dbfile.ForeignError
	var version *history.VersionError
	if errors.As(err, &corrupt) || errors.As(err, &foreign) || errors.As(err, &version) || errors.Is(err, errSlow) {
		return withStatus(http.StatusUnprocessableEntity, "%s", namedOnly(err, path))
	}
	return err
}

// fileBytes is the size of a history with its log.
func fileBytes(path string) (n int64) {
	file, err := dbfile.RealPath(path)
	if err != nil {
		return 0
	}
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(file + suffix); err == nil {
			n += info.Size()
		}
	}
	return n
}

// gapTime adds up gaps, overlaps counted once.
func gapTime(gaps []history.Gap) (sum time.Duration) {
	var end time.Time
	for _, g := range slices.SortedFunc(slices.Values(gaps), func(a, b history.Gap) int { return a.From.Compare(b.From) }) {
		from := g.From
		if from.Before(end) {
			from = end
		}
		if g.To.After(from) {
			sum += g.To.Sub(from)
			end = g.To
		}
	}
	return sum
}

// errSlow: a history was not read to the end of what was asked for.
var errSlow = errors.New("reading it took too long: look at it with 'scalehist doctor'")

// withHistory reads a history, for no longer than a timeout: then what SQLite is at is interrupted, and the error is errSlow.
func withHistory(ctx context.Context, path string, timeout time.Duration, f func(context.Context, *history.DB) error) (err error) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer func() {
		if err != nil && limited.Err() != nil && ctx.Err() == nil {
			err = withStatus(http.StatusUnprocessableEntity, "history %s: %w (%s)", path, errSlow, timeout)
		}
	}()
	db, err := history.Open(limited, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return f(limited, db)
}

// detail is everything about one.
func (l *library) detail(ctx context.Context, name string) (Detail, error) {
	c, err := l.one(ctx, name)
	d := Detail{Cluster: c, Recordings: []history.Recording{}, Gaps: []history.Gap{}, NodeGroups: []observed.NodeGroupSize{},
		Steps: []scalehist.RecordedStep{}, Events: []history.Event{}}
	if err != nil || c.History == nil || c.History.Problem != "" || c.History.From.IsZero() {
		return d, err
	}
	path, err := l.path(name)
	if err != nil {
		return d, err
	}
	err = withHistory(ctx, path, l.timeout, func(ctx context.Context, db *history.DB) error { return d.read(ctx, db) })
	if err != nil {
		return d, unreadable(err, path)
	}
	b := l.book(name)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.fresh(path) || b.statsAt.IsZero() || l.clock.Since(b.statsAt) > countsAge {
		if err := withHistory(ctx, path, l.timeout, func(ctx context.Context, db *history.DB) (err error) {
			b.stats, err = db.Stats(ctx)
			return err
		}); err != nil {
			return d, unreadable(err, path)
		}
		b.statsAt = l.clock.Now()
	}
	d.Stats = b.stats
	return d, nil
}

func (d *Detail) read(ctx context.Context, db *history.DB) error {
	recordings, err := db.Recordings(ctx)
	if err != nil {
		return err
	}
	d.Recordings = append(d.Recordings, recordings...)
	gaps, err := db.Gaps(ctx, time.Time{}, time.Time{})
	if err != nil {
		return err
	}
	d.Gaps = append(d.Gaps, gaps...)
	from, to := db.Span()
	groups, err := observed.NodeGroupSizes(ctx, db, to, to)
	if err != nil {
		return err
	}
	d.NodeGroups = append(d.NodeGroups, groups...)
	steps, source, err := observed.Steps(ctx, db)
	if err != nil {
		return err
	}
	d.Steps, d.StepsFrom = append(d.Steps, last(steps, maxSteps)...), source
	since := to.Add(-time.Hour)
	if !since.After(from) {
		since = time.Time{}
	}
	events, err := db.Events(ctx, history.EventFilter{From: since})
	if err != nil {
		return err
	}
	slices.SortStableFunc(events, func(a, b history.Event) int {
		return cmp.Or(a.LastObservedAt.Compare(b.LastObservedAt), strings.Compare(a.Reason, b.Reason))
	})
	d.Events = append(d.Events, last(events, maxEvents)...)
	return nil
}

func last[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}

// tempIn makes a directory for a copy beside the histories, where there is room for them.
func (l *library) tempIn() (string, error) {
	return os.MkdirTemp(l.recordings.Dir(), filepath.Base(downloadPattern))
}
