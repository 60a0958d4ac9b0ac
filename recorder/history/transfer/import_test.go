package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
	"github.com/scalehist/scalehist/recorder/history/transfer"
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

// pods are those of a history at noon plus d.
func pods(t *testing.T, path string, d time.Duration) []*corev1.Pod {
	t.Helper()
	db, err := history.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := db.SnapshotAt(t.Context(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(d))
	if err != nil {
		t.Fatal(err)
	}
	return s.Objects.Pods
}

const podLine = `{"at":"2026-03-01T12:00:%02dZ","op":"%s","object":{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"default","name":"%s"},"spec":{"containers":[{"name":"c"}]}}}` + "\n"

func TestImportNeverOverwrites(t *testing.T) {
	dst := filepath.Join(t.TempDir(), "h.db")
	if err := os.WriteFile(dst, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	log := fmt.Sprintf(podLine, 0, "add", "a")
	_, err := transfer.Import(t.Context(), strings.NewReader(log), dst, transfer.ImportOptions{Name: "x.jsonl"})
	if exists := new(*dbfile.ExistsError); !errors.As(err, exists) {
		t.Fatalf("got %v, want ExistsError", err)
	}
	if b, err := os.ReadFile(dst); err != nil || string(b) != "precious" {
		t.Errorf("the file was changed: %q, %v", b, err)
	}
	if _, err := transfer.Import(t.Context(), strings.NewReader(log), dst, transfer.ImportOptions{Name: "x.jsonl", Force: true}); err != nil {
		t.Fatal(err)
	}
	if n := len(pods(t, dst, 0)); n != 1 {
		t.Errorf("got %d pods, want 1", n)
	}
	if diff := cmp.Diff([]string{"h.db"}, entryNames(t, filepath.Dir(dst))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// A file that is being written is not replaced, forced or not.
func TestForcedImportRespectsAWriter(t *testing.T) {
	dst := filepath.Join(t.TempDir(), "h.db")
	w, err := history.Create(t.Context(), dst, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	_, err = transfer.Import(t.Context(), strings.NewReader(fmt.Sprintf(podLine, 0, "add", "a")), dst, transfer.ImportOptions{Name: "x", Force: true})
	if locked := new(*dbfile.LockedError); !errors.As(err, locked) {
		t.Fatalf("got %v, want LockedError", err)
	}
}

func TestFailedImportLeavesNothing(t *testing.T) {
	good := strings.Repeat(fmt.Sprintf(podLine, 0, "add", "a"), 3000)
	for _, c := range []struct {
		name, log, want string
	}{
		{"empty", "", "no objects"},
		{"blank", "\n\n", "no objects that a history is made of in its 2 lines"},
		{"bad line at the end", good + "{oops\n", "log.jsonl:3001: not JSON"},
		{"cut short", good + `{"at":"2026-03-01T12:00:00Z","op":"add","obj`, "log.jsonl:3001: the line ends in the middle"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := transfer.Import(t.Context(), strings.NewReader(c.log), filepath.Join(dir, "h.db"), transfer.ImportOptions{Name: "log.jsonl"})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if diff := cmp.Diff([]string(nil), entryNames(t, dir)); diff != "" {
				t.Errorf("left behind (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCancelledImportLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	log := strings.Repeat(fmt.Sprintf(podLine, 0, "add", "a"), 10000)
	_, err := transfer.Import(ctx, strings.NewReader(log), filepath.Join(dir, "h.db"), transfer.ImportOptions{Name: "log", Progress: func(int64) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if diff := cmp.Diff([]string(nil), entryNames(t, dir)); diff != "" {
		t.Errorf("left behind (-want +got):\n%s", diff)
	}
}

// Logs without UIDs: each life of a name is an object of its own.
func TestImportWithoutUIDs(t *testing.T) {
	var log strings.Builder
	for i, op := range []string{"add", "add", "delete", "update", "delete", "delete", "add"} {
		fmt.Fprintf(&log, podLine, i, op, "a")
	}
	dst := filepath.Join(t.TempDir(), "h.db")
	report, err := transfer.Import(t.Context(), strings.NewReader(log.String()), dst, transfer.ImportOptions{Name: "log"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1 update of unknown objects, taken as adds", "1 delete of unknown objects, ignored"}
	if diff := cmp.Diff(want, report.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		at   time.Duration
		want types.UID
	}{{0, "Pod/default/a#1"}, {3 * time.Second, "Pod/default/a#2"}, {6 * time.Second, "Pod/default/a#3"}} {
		if got := pods(t, dst, c.at)[0].UID; got != c.want {
			t.Errorf("at %s: UID %s, want %s", c.at, got, c.want)
		}
	}
}
