package cli_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

var updateConformance = flag.Bool("update-conformance", false, "rewrite testdata/conformance/want-*")

const ownCases = "testdata/conformance/cases.jsonl"

// timing is what differs from run to run.
var timing = regexp.MustCompile(`(?m)^(\d+ cases? in |  "seconds": ).*$`)

func goldenConformance(t *testing.T, name, got string) {
	t.Helper()
	got = timing.ReplaceAllString(got, "${1}0")
	path := filepath.Join("testdata", "conformance", name)
	if *updateConformance {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: write it with go test ./cmd/scalehist/cli -run Conformance -update-conformance", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestConformanceOutput(t *testing.T) {
	for _, tt := range []struct {
		want string
		code int
		args []string
	}{
		{"want-table.txt", console.ExitDiffered, nil},
		{"want.json", console.ExitDiffered, []string{"-o", "json"}},
		{"want-case.txt", console.ExitDiffered, []string{"--case", "wants-large"}},
		{"want-case.json", console.ExitOK, []string{"--case", "open", "-o", "json"}},
	} {
		code, out, errs := scalehist(t, "", append([]string{"conformance", ownCases}, tt.args...)...)
		if code != tt.code || errs != "" {
			t.Errorf("conformance %v: exit %d, want %d; error %q", tt.args, code, tt.code, errs)
		}
		goldenConformance(t, tt.want, out)
	}
}

// TestConformanceOfUpstream: without a file the measured cases are run, and the JSON has exactly the promised keys.
//
//scalehist:unraced
func TestConformanceOfUpstream(t *testing.T) {
	code, out, errs := scalehist(t, "", "conformance", "-o", "json")
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != console.ExitOK {
		t.Fatalf("exit %d, %v, error %q", code, err, errs)
	}
	want := []string{"agreed", "agreement", "cases", "categories", "disagreements", "seconds"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if got["cases"] != 459.0 || len(got["categories"].(map[string]any)) != 21 {
		t.Errorf("%v cases in %d categories, want 459 in 21", got["cases"], len(got["categories"].(map[string]any)))
	}
}

func TestConformanceExitCodes(t *testing.T) {
	for _, tt := range []struct {
		least string
		code  int
	}{{"0.33", console.ExitOK}, {"0.34", console.ExitDiffered}, {"1", console.ExitDiffered}, {"0", console.ExitOK}} {
		if code, _, errs := scalehist(t, "", "conformance", ownCases, "--min-agreement", tt.least); code != tt.code {
			t.Errorf("one of three agrees, --min-agreement %s: exit %d, want %d; %s", tt.least, code, tt.code, errs)
		}
	}
	if code, _, errs := scalehist(t, "", "conformance", ownCases, "--case", "fits-small"); code != console.ExitOK {
		t.Errorf("a case that agrees: exit %d, %s", code, errs)
	}
}

func TestConformanceGzip(t *testing.T) {
	plain, err := os.ReadFile(ownCases)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cases") // the content says what it is, not the name
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	_, out, errs := scalehist(t, "", "conformance", path, ownCases)
	if !slices.ContainsFunc(strings.Split(out, "\n"), func(l string) bool { return slices.Equal(strings.Fields(l), []string{"all", "6", "2", "33.3%"}) }) {
		t.Errorf("two files, one of them gzip:\n%s%s", out, errs)
	}
}

func TestConformanceErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct {
		want string
		args []string
	}{
		{`x1.jsonl:2: unknown field "inputs"`, []string{file("x1.jsonl", "{\"name\":\"a\",\"input\":{}}\n{\"name\":\"b\",\"inputs\":{}}\n")}},
		{"x2.jsonl:1: not JSON: it ends in the middle of a value", []string{file("x2.jsonl", `{"name":"a"`)}},
		{"x3.jsonl:1: not JSON: invalid character 'h'", []string{file("x3.jsonl", "hello\n")}},
		{"x4.jsonl: there is no case in it", []string{file("x4.jsonl", "\n\n")}},
		{"x5.jsonl:1: case a: mode \"down\" is unknown", []string{file("x5.jsonl", `{"name":"a","input":{"mode":"down"}}`)}},
		{"x6.gz:", []string{file("x6.gz", "\x1f\x8b\x08\x00\x00\x00")}},
		{"no/such", []string{"no/such"}},
		{"--case nowhere: there is no such case among the 4 from fits-small to open", []string{ownCases, "--case", "nowhere"}},
		{"--min-agreement 98: must be from 0 to 1", []string{ownCases, "--min-agreement", "98"}},
		{"flag --scan-interval=x", []string{ownCases, "--case", "bad-flag"}},
	} {
		code, out, errs := scalehist(t, "", append([]string{"conformance"}, tt.args...)...)
		if code != console.ExitFailed || out != "" || !strings.Contains(errs, tt.want) {
			t.Errorf("conformance %v: exit %d, %q, error %q; want 2 and %q", tt.args, code, out, errs, tt.want)
		}
	}
}
