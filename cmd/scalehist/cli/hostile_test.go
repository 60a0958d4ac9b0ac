package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	domain "github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/cli"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/recorder"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/snapshot"
	"github.com/scalehist/scalehist/recorder/sources"
)

// importedHistory makes a history of a log, and gives the names of both.
func importedHistory(t *testing.T, text string) (log, db string) {
	t.Helper()
	dir := t.TempDir()
	log, db = filepath.Join(dir, "x.jsonl"), filepath.Join(dir, "x.db")
	if err := os.WriteFile(log, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := scalehist(t, "", "import", log, "-o", db); code != console.ExitOK {
		t.Fatalf("import: %d\n%s", code, errs)
	}
	return log, db
}

func TestInputIsNeverTheOutput(t *testing.T) {
	log, db := importedHistory(t, historyLog)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(db, link); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"redact", db, "-f", db, "--overwrite"}, {"redact", db, "-f", link, "--overwrite"}, {"cut", db, "-f", db},
		{"export", db, "-o", db}, {"export", link, "-o", db}, {"import", log, "-o", log, "--overwrite"}} {
		file := args[1]
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code, out, errs := scalehist(t, "", args...)
		after, err := os.ReadFile(file)
		if code != console.ExitFailed || out != "" || !strings.Contains(errs, "another name") || err != nil || !bytes.Equal(before, after) {
			t.Errorf("%v: code %d, %v, unchanged %t\n%s%s", args, code, err, bytes.Equal(before, after), out, errs)
		}
	}
}

// A finished file takes the place of the one with its name: that must not be a device or a pipe.
func TestOutputThatIsNoFile(t *testing.T) {
	log, db := importedHistory(t, historyLog)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("this file system has no pipes: %v", err)
	}
	for _, args := range [][]string{{"redact", db, "-f", pipe, "--overwrite"}, {"import", log, "-o", pipe, "--overwrite"}} {
		code, _, errs := scalehist(t, "", args...)
		if code != console.ExitFailed || !strings.Contains(errs, "no regular file") {
			t.Errorf("%v: %d\n%s", args, code, errs)
		}
	}
	read := make(chan string, 1)
	go func() {
		b, err := os.ReadFile(pipe)
		read <- string(b) + map[bool]string{true: "", false: "unreadable"}[err == nil]
	}()
	code, _, errs := scalehist(t, "", "export", db, "-o", pipe)
	_, want, _ := scalehist(t, "", "export", db)
	if diff := cmp.Diff(want, <-read); code != console.ExitOK || diff != "" {
		t.Errorf("export to a pipe: %d\n%s%s", code, errs, diff)
	}
	if info, err := os.Stat(pipe); err != nil || info.Mode().IsRegular() {
		t.Errorf("the pipe is gone: %v %v", info, err)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
}

func TestOutputThatDoesNotArrive(t *testing.T) {
	_, db := importedHistory(t, historyLog)
	for _, args := range [][]string{{"inspect", db}, {"inspect", db, "-o", "json"}, {"export", db}, {"compact", db}, {"version"}, {"doctor", db}, {"--help"}} {
		var errs bytes.Buffer
		code := cli.Execute(t.Context(), args, console.IO{In: strings.NewReader(""), Out: fullDisk{}, Err: &errs})
		if code != console.ExitFailed || strings.Count(errs.String(), "no space left on device") != 1 {
			t.Errorf("%v: %d\n%s", args, code, errs.String())
		}
	}
}

func TestImportOfWhatIsNoLog(t *testing.T) {
	_, db := importedHistory(t, historyLog)
	to := filepath.Join(t.TempDir(), "y.db")
	for file, want := range map[string]string{db: "needs no import", t.TempDir(): "it is a directory", to: "give a log", "": "FILE is empty"} {
		code, _, errs := scalehist(t, "", "import", file, "-o", to)
		if _, err := os.Stat(to); code != console.ExitFailed || !strings.Contains(errs, want) || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("import %q: %d, %v; want %q\n%s", file, code, err, want, errs)
		}
	}
}

// A file that is not there does not keep doctor from reporting the others.
func TestDoctorGoesOn(t *testing.T) {
	_, db := importedHistory(t, historyLog)
	code, out, errs := scalehist(t, "", "doctor", filepath.Join(t.TempDir(), "none.db"), db, "-o", "json")
	var reports []map[string]any
	if err := json.Unmarshal([]byte(out), &reports); err != nil || code != console.ExitFailed || len(reports) != 1 || !strings.Contains(errs, "none.db does not exist") {
		t.Errorf("%d %v\n%s%s", code, err, out, errs)
	}
}

func TestInspectNotes(t *testing.T) {
	db := filepath.Join(t.TempDir(), "x.db")
	w, err := history.Create(t.Context(), db, history.Options{Source: "test"})
	if err != nil {
		t.Fatal(err)
	}
	at := func(s int) time.Time { return time.Date(2026, 1, 1, 0, 0, s, 0, time.UTC) }
	group := snapshot.NodeGroupObject(domain.NodeGroup{Name: "g", MinSize: 1, MaxSize: 5, TargetSize: 1})
	group.Annotations = map[string]string{sources.BoundsFrom: sources.FromFlags, sources.TargetSizeFrom: sources.FromNodes}
	if err := errors.Join(w.Write(t.Context(), []history.Entry{{ObservedAt: at(0), Change: domain.Change{At: at(0), Op: domain.OpAdd, Object: group}}}), w.Sample(t.Context(), []history.Sample{
		{Series: recorder.SkewSeries, At: at(1), Value: 2.5}, {Series: recorder.JumpSeries, At: at(2), Value: -3}, {Series: recorder.SkewSeries, At: at(3)},
		{Series: "rps", At: at(2), Value: 7, Labels: map[string]string{"app": "a"}}, {Series: "rps", At: at(3), Value: 8, Labels: map[string]string{"app": "b"}}}), w.Close()); err != nil {
		t.Fatal(err)
	}
	_, out, _ := scalehist(t, "", "inspect", db)
	for _, want := range []string{"BOUNDS FROM         SIZE FROM", "cluster-autoscaler  nodes", "2.5s behind the API server's", "set back by 3s", "agrees with the API server's again"} {
		if !strings.Contains(out, want) {
			t.Errorf("inspect lacks %q:\n%s", want, out)
		}
	}
	var got struct {
		Notes struct {
			Clock  []map[string]any `json:"clock"`
			Missed []map[string]any `json:"missedDeletions"`
			Series []struct {
				Name    string `json:"name"`
				Samples int    `json:"samples"`
			} `json:"series"`
		} `json:"notes"`
	}
	_, out, _ = scalehist(t, "", "inspect", db, "-o", "json")
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Notes.Clock) != 3 || got.Notes.Missed == nil || len(got.Notes.Series) != 3 || got.Notes.Series[2].Samples != 2 {
		t.Errorf("inspect -o json: %v\n%+v\n%s", err, got, out)
	}
}

// What a file holds may be quoted in a message, but not whole, however long it is: the rest of the message says what to do.
func TestMessagesAreBounded(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"policy.yaml": "limits:\n  cost: " + strings.Repeat("a", 1<<20) + "\n",
		"keys.yaml":   strings.Repeat("x", 1<<20) + ": 1\n",
		"lines.yaml":  "limits:\n" + strings.Repeat("  nothing-of-the-kind: +0\n  \"\\n\": +0\n", 5_000),
	} {
		policy := filepath.Join(dir, name)
		if err := os.WriteFile(policy, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		code, _, errs := scalehist(t, "", "gate", "--baseline", dir, "--candidate", dir, "--policy", policy)
		if code != console.ExitFailed || len(errs) > 16<<10 || !strings.Contains(errs, name) {
			t.Errorf("%s: %d, %d bytes: %.300s", name, code, len(errs), errs)
		}
	}
}
