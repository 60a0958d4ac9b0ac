package doctor_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist/doctor"
	"github.com/scalehist/scalehist/internal/goldentest"
	"github.com/scalehist/scalehist/recorder/history"
)

var update = flag.Bool("update", false, "rewrite docs/doctor.md and the golden files of this package")

func golden(t *testing.T, path, got string) {
	t.Helper()
	goldentest.Text(t, path, got, *update)
}

func TestDocumentation(t *testing.T) { golden(t, "../docs/doctor.md", doctor.Markdown()) }

// TestTable: codes are unique and in order, and every rule says all a reader needs.
func TestTable(t *testing.T) {
	last := ""
	for _, r := range doctor.Rules() {
		if len(r.Code) != 5 || r.Code <= last {
			t.Errorf("code %q after %q: want SHnnn, in order", r.Code, last)
		}
		last = r.Code
		if r.Title == "" || !strings.HasSuffix(r.Doc, ".") || r.Advice == "" || strings.HasSuffix(r.Advice, ".") || !slices.Contains(doctor.Severities(), r.Severity) {
			t.Errorf("%s: title, a doc of whole sentences, an advice without a full stop and a severity are needed: %+v", r.Code, r)
		}
		if found, err := doctor.FindRule(strings.ToLower(r.Code)); err != nil || found.Title != r.Title {
			t.Errorf("FindRule(%s): %v", r.Code, err)
		}
		if e := r.Explain(); !strings.HasPrefix(e, r.Code+": "+r.Title) {
			t.Errorf("explanation of %s: %s", r.Code, e)
		}
	}
}

// sick has findings of every severity, and one rule that finds more than text shows.
func sick() *story {
	s := flags("--scale-down-enabled=false", "--a-b=1%")
	s.gaps = []history.Gap{{From: at(70), To: at(80), Kinds: []string{"Node", "Pod"}, Why: "cut off"}}
	for i := range 7 {
		s.add(60, pod(fmt.Sprintf("p-%d", i), bound(fmt.Sprintf("lost-%d", i))))
	}
	return s
}

func TestText(t *testing.T) {
	r := check(t, sick().write(t), doctor.Options{})
	r.File = "sick.db"
	var text, github bytes.Buffer
	if err := r.Text(&text, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.GitHub(&github); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/sick.txt", text.String())
	golden(t, "testdata/sick.github", github.String())
}

// TestSame: the same file gives the same findings in the same order.
func TestSame(t *testing.T) {
	path := sick().write(t)
	first := check(t, path, doctor.Options{})
	for range 3 {
		if diff := cmp.Diff(first, check(t, path, doctor.Options{})); diff != "" {
			t.Fatalf("findings differ:\n%s", diff)
		}
	}
}

func TestOptions(t *testing.T) {
	path := sick().write(t)
	codes := func(o doctor.Options) string {
		var out []string
		for _, f := range check(t, path, o).Findings {
			out = append(out, f.Code)
		}
		return strings.Join(slices.Compact(out), " ")
	}
	for _, tt := range []struct {
		name string
		o    doctor.Options
		want string
	}{
		{"all", doctor.Options{}, "SH101 SH206 SH402 SH403"},
		{"warnings", doctor.Options{MinSeverity: doctor.Warning}, "SH101 SH206 SH402"},
		{"errors", doctor.Options{MinSeverity: doctor.Error}, "SH101"},
		{"disabled", doctor.Options{Disable: []string{"sh101", "SH206"}}, "SH402 SH403"},
		{"window", doctor.Options{Window: window(0, 30)}, "SH402 SH403"},
	} {
		if got := codes(tt.o); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	for _, tt := range []struct {
		path, want string
		o          doctor.Options
	}{
		{path, `there is no rule "SH999"`, doctor.Options{Disable: []string{"SH999"}}},
		{path, "ends before it begins", doctor.Options{Window: window(30, 10)}},
		{filepath.Join(t.TempDir(), "no.db"), "does not exist", doctor.Options{}},
	} {
		if _, err := doctor.Check(t.Context(), tt.path, tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}

func window(from, to float64) func(a, b time.Time) (time.Time, time.Time, error) {
	return func(time.Time, time.Time) (time.Time, time.Time, error) { return at(from), at(to), nil }
}

// TestUntouched: a check writes nothing, not beside the file either.
func TestUntouched(t *testing.T) {
	path := sick().write(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(path), 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(path), 0o755) })
	check(t, path, doctor.Options{})
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) || len(files) != 1 {
		t.Errorf("the file changed, or there are others beside it: %v", files)
	}
}

// TestFixtures: what is checked in has no errors, and no scale-up in it came out of nowhere.
func TestFixtures(t *testing.T) {
	paths, err := filepath.Glob("../fixtures/*/recording.db")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures (%v)", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Parallel()
			for _, f := range check(t, path, doctor.Options{}).Findings {
				if f.Severity != doctor.Error && f.Code != "SH501" {
					continue
				}
				t.Errorf("%s %s %s", f.Code, f.Object, f.Message)
			}
		})
	}
}

// TestRecordings: what is known to be found in the fixtures that others recorded, by code. Flags of the autoscaler are left out: what
// is modelled of them changes.
func TestRecordings(t *testing.T) {
	for name, want := range map[string][]string{
		"aws-burst":            {"SH207", "SH207", "SH207", "SH207", "SH505"},
		"openb-100":            {"SH207"},
		"ca-balance-zones":     nil,
		"ca-burst-then-idle":   nil,
		"ca-burst-two-sizes":   nil,
		"ca-pdb-blocks-drain":  nil,
		"ca-scale-from-zero":   nil,
		"ca-staggered-burst":   {"SH503"},
		"ca-stockout-fallback": {"SH224"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("..", "fixtures", name, "recording.db")
			var got []string
			for _, f := range check(t, path, doctor.Options{Disable: []string{"SH402", "SH403", "SH404", "SH407"}}).Findings {
				got = append(got, f.Code)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhileWritten: a recorder at work does not keep the doctor from looking, nor the other way round.
func TestWhileWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	w, err := history.Create(t.Context(), path, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Begin(t.Context(), start, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), healthy().entries); err != nil {
		t.Fatal(err)
	}
	r := check(t, path, doctor.Options{MinSeverity: doctor.Warning})
	if len(of(r, "SH103")) != 1 || len(r.Findings) != 1 {
		t.Errorf("findings %+v, want a recording without an end", r.Findings)
	}
	if err := w.Write(t.Context(), (&story{}).add(60, pod("later", func(p *corev1.Pod) {})).entries); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestReportedOnce: what a rule of its own reports is not reported again as a replay's warning.
func TestReportedOnce(t *testing.T) {
	s := healthy().add(0, pod("lost", bound("n9")))
	s.gaps = []history.Gap{{From: at(30), To: at(40), Kinds: []string{"Job"}, Why: "cut off"}}
	r := check(t, s.write(t), doctor.Options{})
	if len(of(r, "SH102")) != 1 || len(of(r, "SH206")) != 1 || len(of(r, "SH224")) != 0 {
		t.Errorf("findings %+v, want SH102 and SH206, each once, and no SH224", r.Findings)
	}
}

// TestAnyDamage: whatever bytes of a file are wrong, the check ends with findings or says why it could not look.
func TestAnyDamage(t *testing.T) {
	whole, err := os.ReadFile(healthy().write(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "h.db")
	rapid.Check(t, func(t *rapid.T) {
		b := slices.Clone(whole)
		for range rapid.IntRange(1, 20).Draw(t, "places") {
			b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		if rapid.IntRange(0, 9).Draw(t, "cut") == 0 {
			b = b[:rapid.IntRange(len(b)/2, len(b)).Draw(t, "length")]
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if r, err := doctor.Check(context.Background(), path, doctor.Options{}); err == nil && r == nil {
			t.Fatal("neither a report nor an error")
		}
	})
}
