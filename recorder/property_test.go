package recorder

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scalehist/scalehist/recorder/history"
)

// lab records a world by a recorder in a process of its own, behind a gate.
type lab struct {
	*world
	t      *testing.T
	gate   *gate
	path   string
	rec    *process
	known  []moment
	starts int
}

func newLab(t *testing.T) *lab {
	t.Helper()
	c, ns := client(t)
	l := &lab{world: &world{c: c, ns: ns}, t: t, gate: newGate(t), path: filepath.Join(t.TempDir(), "h.db")}
	l.start()
	return l
}

func (l *lab) start() {
	l.t.Helper()
	l.starts++
	rec, err := launch(l.t, l.gate.config("one"), l.path, 0)
	if err != nil {
		l.t.Fatal(err)
	}
	l.rec = rec
}

// quiet notes what is true while nothing happens. The state is asked for twice, with a flush before and after: nothing
// may differ.
func (l *lab) quiet() {
	l.t.Helper()
	m := moment{from: l.rec.flush()}
	var err error
	if m.state, err = l.live(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	if m.events, err = l.events(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	m.to = l.rec.flush()
	l.known = append(l.known, m)
}

// check ends the recording and compares the file with all that was noted.
func (l *lab) check() (compared, inGap int) {
	l.t.Helper()
	l.rec.end()
	db, err := history.Open(l.t.Context(), l.path)
	if err != nil {
		l.t.Fatal(err)
	}
	defer db.Close()
	if err := db.Check(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	compared, inGap = l.checkMoments(l.t, db, l.known)
	if compared == 0 {
		l.t.Error("nothing was compared")
	}
	recordings, err := db.Recordings(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	if len(recordings) != l.starts {
		l.t.Errorf("%d recordings, want one of each of %d starts", len(recordings), l.starts)
	}
	for i := 1; i < len(recordings); i++ {
		gaps, err := db.Gaps(l.t.Context(), recordings[i-1].To.Add(1), recordings[i].From.Add(-1))
		if err != nil {
			l.t.Fatal(err)
		}
		if len(gaps) == 0 {
			l.t.Errorf("no gap between the recordings that end %s and begin %s", recordings[i-1].To, recordings[i].From)
		}
	}
	return compared, inGap
}

// number is an environment variable's, or the default.
func number(t testing.TB, name string, usual int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestHistoryIsTheTruth: whatever happens to the cluster and to the recorder, the state in the history is that of the
// API server at every instant outside of a gap. SCALEHIST_LIVES sets how many random lives are played (3).
func TestHistoryIsTheTruth(t *testing.T) {
	lives := number(t, "SCALEHIST_LIVES", 3)
	if f := flag.Lookup("rapid.checks"); f != nil {
		was := f.Value.String()
		if err := f.Value.Set(strconv.Itoa(lives)); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Value.Set(was) }()
	}
	life := 0
	rapid.Check(t, func(r *rapid.T) {
		life++
		t.Run(fmt.Sprint(life), func(t *testing.T) {
			l := newLab(t)
			for range rapid.IntRange(3, 8).Draw(r, "chapters") {
				l.chapter(r)
			}
			l.quiet()
			compared, inGap := l.check()
			t.Logf("%d steps, %d starts, %d instants compared, %d in a gap", l.step, l.starts, compared, inGap)
		})
		if t.Failed() {
			r.Fatalf("see the subtest")
		}
	})
}

// chapter is some changes, a fault in their midst, and a quiet moment.
func (l *lab) chapter(r *rapid.T) {
	l.t.Helper()
	happen := func(n int) {
		for range n {
			if err := l.act(l.t.Context(), rapid.IntRange(0, acts-1).Draw(r, "act"), rapid.IntRange(0, 3).Draw(r, "name")); err != nil {
				l.t.Fatal(err)
			}
		}
	}
	happen(rapid.IntRange(0, 15).Draw(r, "before"))
	fault := rapid.SampledFrom([]string{"none", "kill", "stop", "cut", "expire", "kill and stay away"}).Draw(r, "fault")
	switch fault {
	case "kill", "kill and stay away":
		l.rec.kill()
	case "stop":
		l.rec.end()
	case "cut":
		l.gate.CloseClientConnections()
	case "expire":
		l.gate.expired.Store(true)
		l.gate.CloseClientConnections()
	}
	happen(rapid.IntRange(0, 15).Draw(r, "during"))
	switch fault {
	case "kill", "stop", "kill and stay away":
		l.start()
	case "expire":
		asked := l.gate.asked.Load()
		l.waitFor(func() bool { return l.gate.asked.Load() > asked })
		l.gate.expired.Store(false)
	}
	happen(rapid.IntRange(0, 15).Draw(r, "after"))
	l.quiet()
}

func (l *lab) waitFor(f func() bool) {
	l.t.Helper()
	until(l.t, "a state of the recorder", f)
}

// TestKillNine: a recorder that is killed at any moment under load loses nothing it has committed, and the next one
// goes on. SCALEHIST_KILLS sets how often (5).
func TestKillNine(t *testing.T) {
	kills := number(t, "SCALEHIST_KILLS", 5)
	seed := uint64(number(t, "SCALEHIST_SEED", int(time.Now().UnixNano()&0xffffff)))
	t.Logf("SCALEHIST_SEED=%d SCALEHIST_KILLS=%d", seed, kills)
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test's
	l := newLab(t)
	var worst time.Duration
	for range kills {
		load, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		seed := random.Uint64()
		go func() { done <- l.rush(load, seed) }()
		began := time.Now()
		time.Sleep(time.Duration(random.IntN(600)) * time.Millisecond) // the moment of the kill is what varies
		before := l.rec.ask("stats").Stats
		l.rec.kill()
		// While it was flushed nothing of the file was known to be lost: what was written is there.
		l.written(before.Counts)
		l.start() // under load too
		worst = max(worst, time.Since(began))
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		l.quiet()
	}
	compared, inGap := l.check()
	t.Logf("%d kills, %d steps, %d instants compared, %d in a gap, %s at most from load to recording again", kills, l.step, compared, inGap, worst)
}

// rush makes changes as fast as it can until ctx ends.
func (l *lab) rush(ctx context.Context, seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test's
	for ctx.Err() == nil {
		if err := l.act(ctx, random.IntN(acts), random.IntN(6)); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// written says that the file of a killed recorder is whole and has at least as many versions as it was known to have.
func (l *lab) written(c history.WriteCounts) {
	l.t.Helper()
	db, err := history.Open(l.t.Context(), l.path)
	if err != nil {
		l.t.Fatal(err)
	}
	defer db.Close()
	if err := db.Check(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	s, err := db.Stats(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	var versions int64
	for _, k := range s.Kinds {
		versions += k.Versions
	}
	if want := c.Added + c.Updated; versions < want {
		l.t.Errorf("%d versions in the file after the kill, but %d were committed", versions, want)
	}
}
