package history_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
)

func entryNames(t *testing.T, dir string) []string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		out = append(out, f.Name())
	}
	return out
}

func TestCloseLeavesOneFile(t *testing.T) {
	path := writeFile(t, change(0, scalehist.OpAdd, pod("a", uid(1))))
	if diff := cmp.Diff([]string{"h.db"}, entryNames(t, filepath.Dir(path))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestSecondWriterIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	w := create(t, path)
	_, err := history.Create(t.Context(), path, history.Options{})
	var locked *dbfile.LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Fatalf("got %v, want a LockedError with PID %d", err, os.Getpid())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	create(t, path)
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	good, err := os.ReadFile(writeFile(t, change(0, scalehist.OpAdd, pod("a", uid(1)))))
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(good)
	for i := 100; i < len(damaged); i++ {
		damaged[i] = 0xAA
	}
	foreign := sqliteFile(t, `CREATE TABLE t(x)`)
	older := sqliteFile(t, `PRAGMA application_id = 1396919368`, `PRAGMA user_version = 3`, `CREATE TABLE t(x)`)
	newer := sqliteFile(t, `PRAGMA application_id = 1396919368`, `PRAGMA user_version = 99`, `CREATE TABLE t(x)`)
	unmarked := sqliteFile(t, `PRAGMA application_id = 1396919368`, `CREATE TABLE t(x)`)
	other := sqliteFile(t, `PRAGMA application_id = 1396919368`, fmt.Sprintf(`PRAGMA user_version = %d`, history.SchemaVersion), `CREATE TABLE t(x)`)
	for _, c := range []struct {
		name     string
		content  []byte
		want     any
		wantText string
	}{
		{"empty file", []byte{}, new(*dbfile.EmptyError), "nothing was recorded"},
		{"truncated", good[:len(good)/2], new(*dbfile.CorruptError), "damaged or cut short"},
		{"header only", good[:50], new(*dbfile.CorruptError), "less than a header"},
		{"damaged", damaged, new(*dbfile.CorruptError), "damaged"},
		{"text", []byte("hello\n"), new(*dbfile.ForeignError), "not a scalehist history"},
		{"object log", []byte("{\"at\":1}\n"), new(*dbfile.ForeignError), "scalehist import"},
		{"gzip", []byte{0x1f, 0x8b, 8, 0}, new(*dbfile.ForeignError), "scalehist import"},
		{"other database", foreign, new(*dbfile.ForeignError), "another SQLite database"},
		{"older", older, new(*history.VersionError), "has schema version 3, this scalehist reads version 4 only: use the scalehist that wrote it, or record again"},
		{"newer", newer, new(*history.VersionError), "has schema version 99, this scalehist reads version 4 only"},
		{"no version", unmarked, new(*history.VersionError), "has schema version 0"},
		{"other schema", other, new(*dbfile.ForeignError), "table t is not part of schema version 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db")
			if err := os.WriteFile(path, c.content, 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := history.Open(t.Context(), path)
			if err == nil || !errors.As(err, c.want) || !strings.Contains(err.Error(), c.wantText) || !strings.Contains(err.Error(), path) {
				t.Fatalf("got %T %v, want %T with %q and the path", err, err, c.want, c.wantText)
			}
			if c.name == "empty file" {
				return
			}
			if w, err := history.Create(t.Context(), path, history.Options{}); err == nil {
				t.Errorf("Create took the file: %v", w.Close())
			}
			after, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(after, c.content) {
				t.Errorf("the file was changed (%v)", err)
			}
			if diff := cmp.Diff([]string{"x.db"}, entryNames(t, filepath.Dir(path))); diff != "" {
				t.Errorf("left behind (-want +got):\n%s", diff)
			}
		})
	}
	_, err = history.Open(t.Context(), filepath.Join(t.TempDir(), "none.db"))
	if missing := new(*dbfile.MissingError); !errors.As(err, missing) {
		t.Errorf("missing file: got %v", err)
	}
	empty := filepath.Join(t.TempDir(), "h.db")
	if err := create(t, empty).Close(); err != nil {
		t.Fatal(err)
	}
	_, err = history.Open(t.Context(), empty)
	if want := new(*dbfile.EmptyError); !errors.As(err, want) {
		t.Errorf("nothing recorded: got %v", err)
	}
}

// sqliteFile makes a database by SQL and gives its bytes.
func sqliteFile(t *testing.T, statements ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A path with characters that mean something in a URI is a path all the same.
func TestAnyPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?c#d%20e.db")
	w := create(t, path)
	if err := w.Write(t.Context(), []history.Entry{change(0, scalehist.OpAdd, pod("a", uid(1)))}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(snapshotAt(t, reopen(t, path), 0).Objects.Pods); n != 1 {
		t.Errorf("got %d pods, want 1", n)
	}
	if diff := cmp.Diff([]string{filepath.Base(path)}, entryNames(t, filepath.Dir(path))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestReadOnlyFileInReadOnlyDirectory(t *testing.T) {
	path := writeFile(t, change(0, scalehist.OpAdd, pod("a", uid(1))))
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(path)
	if err := errors.Join(os.Chmod(path, 0o444), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Error(err)
		}
	})
	db := reopen(t, path)
	if n := len(snapshotAt(t, db, 0).Objects.Pods); n != 1 {
		t.Errorf("got %d pods, want 1", n)
	}
	if _, err := db.Hash(t.Context()); err != nil {
		t.Error(err)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed (%v)", err)
	}
	if diff := cmp.Diff([]string{"h.db"}, entryNames(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// A reader sees what a recorder at work has written so far.
func TestReadWhileWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	w := create(t, path)
	for i := range 3 {
		if err := w.Write(t.Context(), []history.Entry{change(time.Duration(i)*time.Second, scalehist.OpAdd, pod(fmt.Sprint("p", i), uid(i)))}); err != nil {
			t.Fatal(err)
		}
		if n := len(snapshotAt(t, reopen(t, path), time.Hour).Objects.Pods); n != i+1 {
			t.Errorf("got %d pods, want %d", n, i+1)
		}
	}
}

func TestFailedWriteLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	w := create(t, path)
	if err := w.Write(t.Context(), []history.Entry{change(0, scalehist.OpAdd, pod("a", uid(1)))}); err != nil {
		t.Fatal(err)
	}
	bad := []history.Entry{change(time.Second, scalehist.OpAdd, pod("b", uid(2))), change(time.Second, "frobnicate", pod("c", uid(3)))}
	if err := w.Write(t.Context(), bad); err == nil || !strings.Contains(err.Error(), `Pod/default/c: unknown operation "frobnicate"`) {
		t.Fatalf("got %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Write(cancelled, bad[:1]); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context.Canceled", err)
	}
	// What failed can be tried again, and counts as new.
	if err := w.Write(t.Context(), bad[:1]); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(history.WriteCounts{Added: 2}, w.Counts()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"0s add Pod/a", "1s add Pod/b"}
	if diff := cmp.Diff(want, changes(t, reopen(t, path), time.Time{}, time.Time{})); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestUnknownAndLateChangesAreCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	w := create(t, path)
	if err := w.Write(t.Context(), []history.Entry{
		change(time.Second, scalehist.OpDelete, pod("never", uid(1))),
		change(time.Second, scalehist.OpUpdate, pod("a", uid(2))),
		change(0, scalehist.OpAdd, pod("late", uid(3))),
		change(2*time.Second, scalehist.OpDelete, pod("a", uid(99))),
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(history.WriteCounts{Added: 2, UnknownDeletes: 2, UnknownUpdates: 1, Clamped: 1}, w.Counts()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// The prototypes never said when no recorder ran, and never found out what was deleted meanwhile.
func TestRestartMakesAGapAndReconciles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	ctx := t.Context()
	w := create(t, path)
	if _, err := w.Begin(ctx, start, []string{"Pod"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(ctx, []history.Entry{change(time.Second, scalehist.OpAdd, pod("a", uid(1))), change(time.Second, scalehist.OpAdd, pod("b", uid(2)))}); err != nil {
		t.Fatal(err)
	}
	if err := w.Alive(ctx, at(10*time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil { // no End: it died
		t.Fatal(err)
	}
	w = create(t, path)
	if _, err := w.Begin(ctx, at(-time.Hour), nil); err == nil {
		t.Error("a recording that begins before the history's end was taken")
	}
	if _, err := w.Begin(ctx, at(time.Minute), []string{"Pod"}); err != nil {
		t.Fatal(err)
	}
	gone, err := w.Reconcile(ctx, at(time.Minute), "Pod", []scalehist.Object{pod("b", uid(2))})
	if err != nil || gone != 1 {
		t.Fatalf("reconcile: got %d, %v, want 1", gone, err)
	}
	if err := w.Gap(ctx, history.Gap{From: at(2 * time.Minute), To: at(3 * time.Minute), Kinds: []string{"Node"}, Why: "watch failed"}); err != nil {
		t.Fatal(err)
	}
	if err := w.End(ctx, at(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	db := reopen(t, path)
	recordings, err := db.Recordings(ctx)
	if err != nil {
		t.Fatal(err)
	}
	wantRecordings := []history.Recording{{ID: 1, From: start, To: at(10 * time.Second), Kinds: []string{"Pod"}}, {ID: 2, From: at(time.Minute), To: at(time.Hour), Kinds: []string{"Pod"}}}
	if diff := cmp.Diff(wantRecordings, recordings); diff != "" {
		t.Errorf("recordings (-want +got):\n%s", diff)
	}
	gaps, err := db.Gaps(ctx, time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	wantGaps := []history.Gap{{From: at(10 * time.Second), To: at(time.Minute), Why: "no recorder was running"},
		{From: at(2 * time.Minute), To: at(3 * time.Minute), Kinds: []string{"Node"}, Why: "watch failed"}}
	if diff := cmp.Diff(wantGaps, gaps); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	if gaps, err = db.Gaps(ctx, at(90*time.Second), at(100*time.Second)); err != nil || len(gaps) != 0 {
		t.Errorf("gaps in a stretch without: %v, %v", gaps, err)
	}
	want := []string{"1s add Pod/a", "1s add Pod/b", "1m0s delete Pod/a"}
	if diff := cmp.Diff(want, changes(t, db, time.Time{}, time.Time{})); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if from, to := db.Span(); !from.Equal(start) || !to.Equal(at(time.Hour)) {
		t.Errorf("span: %s to %s", from, to)
	}
}

func TestChangesWindowIsHalfOpenTheOtherWay(t *testing.T) {
	db := write(t, change(0, scalehist.OpAdd, pod("a", uid(1))), change(time.Second, scalehist.OpAdd, pod("b", uid(2))), change(2*time.Second, scalehist.OpDelete, pod("a", uid(1))))
	for _, c := range []struct {
		from, to time.Duration
		want     []string
	}{
		{0, time.Second, []string{"1s add Pod/b"}},
		{-1, 0, []string{"0s add Pod/a"}},
		{time.Second, 2 * time.Second, []string{"2s delete Pod/a"}},
		{2 * time.Second, time.Hour, nil},
	} {
		if diff := cmp.Diff(c.want, changes(t, db, at(c.from), at(c.to))); diff != "" {
			t.Errorf("(%s, %s] (-want +got):\n%s", c.from, c.to, diff)
		}
	}
	// A caller may stop early.
	for _, err := range db.Changes(t.Context(), time.Time{}, time.Time{}) {
		if err != nil {
			t.Error(err)
		}
		break
	}
}

func TestObjectsKeepCreationOrder(t *testing.T) {
	older := func(d time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.CreationTimestamp.Time = start.Add(-d) }
	}
	db := write(t, change(0, scalehist.OpAdd, pod("a", uid(1), older(time.Minute))), change(0, scalehist.OpAdd, pod("b", uid(2), older(time.Hour))), change(0, scalehist.OpAdd, pod("c", uid(3), older(time.Minute))))
	var got []string
	for _, p := range snapshotAt(t, db, 0).Objects.Pods {
		got = append(got, p.Name)
	}
	if diff := cmp.Diff([]string{"b", "a", "c"}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
