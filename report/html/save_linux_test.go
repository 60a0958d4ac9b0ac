package html_test

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/report/html"
)

// TestFullDiskLeavesOneReport: where there is no room for all files of a report, those of the report before stay, all of them.
func TestFullDiskLeavesOneReport(t *testing.T) {
	dir := t.TempDir()
	r := sample()
	if err := html.Save(dir, r); err != nil {
		t.Fatal(err)
	}
	before := filesIn(t, dir)
	r.Scenario = "another"
	// As on a full disk, a write beyond the limit is an error: there is room for all files but the page.
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	room := syscall.Rlimit{Cur: uint64(len(before[html.FileName]) / 2), Max: was.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &room); err != nil {
		t.Fatal(err)
	}
	err := html.Save(dir, r)
	if e := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); e != nil {
		t.Fatal(e)
	}
	if err == nil {
		t.Error("there was no room, and no error")
	}
	if diff := cmp.Diff(before, filesIn(t, dir)); diff != "" {
		t.Errorf("files (-before +after):\n%.2000s", diff)
	}
}

// filesIn are the files of a directory.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(b)
	}
	return out
}
