package redact

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

var (
	saltA = []byte("a salt for tests, not secret: A")
	saltB = []byte("a salt for tests, not secret: B")
)

// fixtures are the histories that are checked in.
func fixtures(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("../../../fixtures/*/recording.db")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	return paths
}

func redacted(t *testing.T, src string, o Options) (string, *Result) {
	t.Helper()
	if o.Salt == nil {
		o.Salt = saltA
	}
	dst := filepath.Join(t.TempDir(), "out.db")
	result, err := File(t.Context(), src, dst, o)
	if err != nil {
		t.Fatal(err)
	}
	return dst, result
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func exported(t *testing.T, path string) string {
	t.Helper()
	db, err := history.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	from, to := db.Span()
	var b bytes.Buffer
	if err := transfer.Export(context.Background(), db, &b, from, to, transfer.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// eachLine calls f for each line of a history.
func eachLine(t *testing.T, path string, f func(objectlog.Line)) {
	t.Helper()
	db, err := history.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = each(t.Context(), db, func(l objectlog.Line) error {
		f(l)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSaltDecides: the same salt makes the same file, byte for byte; another one makes other pseudonyms.
func TestSaltDecides(t *testing.T) {
	for _, src := range fixtures(t)[:2] {
		first, a := redacted(t, src, Options{})
		again, _ := redacted(t, src, Options{})
		other, b := redacted(t, src, Options{Salt: saltB})
		if !bytes.Equal(contents(t, first), contents(t, again)) {
			t.Errorf("%s: the same salt gave different files", src)
		}
		if bytes.Equal(contents(t, first), contents(t, other)) {
			t.Errorf("%s: another salt gave the same file", src)
		}
		for old, pseudonym := range a.Mapping.Words {
			if b.Mapping.Words[old] == pseudonym {
				t.Errorf("%s: word %q is %q under either salt", src, old, pseudonym)
			}
		}
	}
}

// restores: with the mapping, the redacted log says what the original says.
func restores(t *testing.T, src, was, is string, m *Mapping) {
	t.Helper()
	want, got := strings.Split(was, "\n"), strings.Split(is, "\n")
	if len(want) != len(got) {
		t.Fatalf("%s: %d lines, want %d", src, len(got), len(want))
	}
	for i := range want {
		if d := cmp.Diff(decoded(t, want[i], func(s string) string { return s }), decoded(t, got[i], m.Restore)); d != "" {
			t.Errorf("%s, line %d (-want +got):\n%s", src, i+1, d)
		}
	}
}

// decoded is a line as JSON values, with every key and text rewritten.
func decoded(t *testing.T, line string, rewrite func(string) string) any {
	t.Helper()
	if line == "" {
		return nil
	}
	var v any
	if err := json.Unmarshal([]byte(line), &v); err != nil {
		t.Fatal(err)
	}
	var each func(v any) any
	each = func(v any) any {
		switch v := v.(type) {
		case string:
			return rewrite(v)
		case []any:
			for i := range v {
				v[i] = each(v[i])
			}
		case map[string]any:
			out := map[string]any{}
			for k, e := range v {
				out[rewrite(k)] = each(e)
			}
			return out
		}
		return v
	}
	return each(v)
}
