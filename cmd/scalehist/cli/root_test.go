package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// run executes scalehist with buffers and returns what it printed.
func run(t *testing.T, ctx context.Context, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Execute(ctx, args, console.IO{In: strings.NewReader(""), Out: &out, Err: &errs})
	return code, out.String(), errs.String()
}

func TestRootErrors(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"unknown command", []string{"bogus"}, `scalehist: unknown command "bogus"`},
		{"suggestion", []string{"verson"}, "Did you mean this?\n\tversion"},
		{"unknown flag", []string{"version", "--bogus"}, "unknown flag: --bogus: see 'scalehist version --help'"},
		{"bad format", []string{"version", "-o", "xml"}, "must be table, json, wide"},
		{"missing argument", []string{"completion"}, "missing argument SHELL: see 'scalehist completion --help'"},
		{"unknown shell", []string{"completion", "csh"}, `unknown shell "csh"`},
		{"log file", []string{"version", "--log-file", "no/such/dir/log"}, "--log-file: open no/such/dir/log"},
		{"record without file", []string{"record"}, "record: no file to write to: give -o FILE.db"},
		{"record without kubeconfig", []string{"record", "-o", "x.db", "--kubeconfig", "no/such/file"}, "kubeconfig: stat no/such/file"},
		{"record with unknown kind", []string{"record", "-o", "x.db", "--kubeconfig", kubeconfig(t), "--kinds", "Pods"}, `unknown kind "Pods"`},
		{"record with bad groups", []string{"record", "-o", "x.db", "--node-groups", "labels:"}, "the label key is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := run(t, t.Context(), tt.args...)
			if code != console.ExitFailed || !strings.Contains(stderr, tt.want) || stdout != "" {
				t.Errorf("exit %d, printed %q and error %q; want exit %d and an error with %q", code, stdout, stderr, console.ExitFailed, tt.want)
			}
			if n := strings.Count(stderr, "scalehist: "); n != 1 {
				t.Errorf("the error is printed %d times, want once:\n%s", n, stderr)
			}
		})
	}
}

// kubeconfig is a file that names a server nobody answers at.
func kubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	const text = `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}],
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestVersion(t *testing.T) {
	code, stdout, _ := run(t, t.Context(), "version")
	if code != console.ExitOK || !strings.Contains(stdout, "kubernetes v1.") {
		t.Errorf("exit %d, printed %q; want 0 and the version of Kubernetes", code, stdout)
	}
	code, stdout, _ = run(t, t.Context(), "version", "-o", "json")
	if code != console.ExitOK || !strings.Contains(stdout, `"kubernetes": "v1.`) || !strings.Contains(stdout, `"report": "scalehist.io/report/v1"`) || !strings.Contains(stdout, `"history": `) {
		t.Errorf("exit %d, printed %q; want 0 and JSON", code, stdout)
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		code, stdout, stderr := run(t, t.Context(), "completion", shell)
		if code != console.ExitOK || !strings.Contains(stdout, "scalehist") {
			t.Errorf("%s: exit %d, error %q; want a script", shell, code, stderr)
		}
	}
}

func TestReport(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		err  error
		code int
		text string
	}{
		{"done", t.Context(), nil, console.ExitOK, ""},
		{"differed", t.Context(), console.Differed(), console.ExitDiffered, ""},
		{"differed with words", t.Context(), fmt.Errorf("replay: %w", &console.ExitError{Code: console.ExitDiffered, Err: errors.New("two groups differ")}),
			console.ExitDiffered, "scalehist: replay: two groups differ\n"},
		{"failed", t.Context(), errors.New("x.db: not there"), console.ExitFailed, "scalehist: x.db: not there\n"},
		{"interrupted", cancelled, fmt.Errorf("replay: %w", context.Canceled), console.ExitInterrupted, "scalehist: interrupted\n"},
		{"failed while interrupted", cancelled, errors.New("disk full"), console.ExitFailed, "scalehist: disk full\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if code := console.Report(tt.ctx, &out, tt.err); code != tt.code || out.String() != tt.text {
				t.Errorf("exit %d and %q, want %d and %q", code, out.String(), tt.code, tt.text)
			}
		})
	}
}

func TestPrintTable(t *testing.T) {
	table := console.Table{Title: "groups", Columns: []console.Column{{Name: "name"}, {Name: "size", Right: true}, {Name: "zone", Wide: true}},
		Rows: [][]string{{"a-small", "3", "z1"}, {"b", "12", "z2"}}}
	var wide bytes.Buffer
	console.IO{Out: &wide}.PrintTable(console.Table{Columns: table.Columns[:2], Rows: [][]string{{"ノード群", "3"}, {"👩‍👩‍👧‍👦", "12"}, {"e\u0301tage", "4"}}}, console.FormatTable)
	if want := "NAME      SIZE\nノード群     3\n👩‍👩‍👧‍👦          12\ne\u0301tage        4\n"; wide.String() != want {
		t.Errorf("wide characters:\n%swant\n%s", wide.String(), want)
	}
	for format, want := range map[console.Format]string{
		console.FormatTable: "groups\nNAME     SIZE\na-small     3\nb          12\n",
		console.FormatWide:  "groups\nNAME     SIZE  ZONE\na-small     3  z1\nb          12  z2\n",
	} {
		var out bytes.Buffer
		console.IO{Out: &out}.PrintTable(table, format)
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
}

func TestTimeFlag(t *testing.T) {
	start := time.Date(2024, 5, 28, 10, 0, 0, 0, time.UTC)
	end := start.Add(time.Hour)
	tests := []struct {
		value   string
		want    time.Duration // after start
		wantErr string
	}{
		{"2024-05-28T10:30:00Z", 30 * time.Minute, ""},
		{"2024-05-28T12:30:00+02:00", 30 * time.Minute, ""},
		{"+90s", 90 * time.Second, ""},
		{"1h", time.Hour, ""},
		{"-10m", 50 * time.Minute, ""},
		{"0s", 0, ""},
		{"2h", 0, "the recording goes from 2024-05-28T10:00:00Z to 2024-05-28T11:00:00Z"},
		{"yesterday", 0, "neither an instant"},
	}
	for _, tt := range tests {
		t.Run(tt.value, func(t *testing.T) {
			var f console.TimeFlag
			err := f.Set(tt.value)
			var got time.Time
			if err == nil {
				got, err = f.Resolve(start, end, time.Time{})
			}
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Errorf("error %v, want %q", err, tt.wantErr)
				}
				return
			}
			if err != nil || got.Sub(start) != tt.want {
				t.Errorf("%s after the start, error %v; want %s", got.Sub(start), err, tt.want)
			}
		})
	}
	var unset console.TimeFlag
	if got, err := unset.Resolve(start, end, end); err != nil || !got.Equal(end) {
		t.Errorf("unset flag: %s, %v; want the fallback", got, err)
	}
}
