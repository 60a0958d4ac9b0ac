package objectlog_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

func line(at, object string) string {
	return fmt.Sprintf(`{"at":%q,"op":"add","object":%s}`, at, object)
}

const namespace = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"%s"}}`

func readAll(t testing.TB, in io.Reader) ([]objectlog.Line, *objectlog.Reader, error) {
	t.Helper()
	r, err := objectlog.NewReader(in, "x.jsonl")
	if err != nil {
		return nil, nil, err
	}
	var out []objectlog.Line
	for {
		l, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out, r, nil
		}
		if err != nil {
			return out, r, err
		}
		out = append(out, l)
	}
}

func TestTypedDecode(t *testing.T) {
	log := strings.Join([]string{
		line("2026-01-01T00:00:00.123456789Z", `{"apiVersion":"scalehist.io/v1alpha1","kind":"NodeGroup","metadata":{"name":"g"},"spec":{"minSize":1,"maxSize":2,"targetSize":2}}`),
		line("2026-01-01T01:00:01+01:00", `{"apiVersion":"v1","kind":"Event","metadata":{"name":"e"},"message":"core"}`),
		"",
		line("2026-01-01T00:00:02Z", `{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"e"},"note":"new"}`),
	}, "\n")
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte(log)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]io.Reader{"plain": strings.NewReader(log), "gzip": &zipped} {
		t.Run(name, func(t *testing.T) {
			lines, r, err := readAll(t, in)
			if err != nil || len(lines) != 3 {
				t.Fatalf("got %d lines, %v", len(lines), err)
			}
			if g := lines[0].Object.(*v1alpha1.NodeGroup); g.Spec.TargetSize != 2 {
				t.Errorf("node group: %+v", g)
			}
			if e := lines[1].Object.(*corev1.Event); e.Message != "core" {
				t.Errorf("core event: %+v", e)
			}
			if e := lines[2].Object.(*eventsv1.Event); e.Note != "new" {
				t.Errorf("event: %+v", e)
			}
			want := time.Date(2026, 1, 1, 0, 0, 0, 123456789, time.UTC)
			if !lines[0].At.Equal(want) || lines[1].At != time.Date(2026, 1, 1, 0, 0, 1, 0, time.UTC) || lines[2].Number != 4 {
				t.Errorf("times or numbers: %v %v %d", lines[0].At, lines[1].At, lines[2].Number)
			}
			if w := r.Warnings(); len(w) != 0 {
				t.Errorf("warnings: %q", w)
			}
		})
	}
}

const group = `{"apiVersion":"scalehist.io/v1alpha1","kind":"NodeGroup","metadata":{"name":"g"},"spec":{%s}}`

func TestErrorsNameLineAndKey(t *testing.T) {
	ok := line("2026-01-01T00:00:00Z", fmt.Sprintf(namespace, "n")) + "\n"
	for _, c := range []struct{ name, line, want string }{
		{"no JSON", "nonsense", `x.jsonl:2: not JSON`},
		{"unknown key", `{"at":"2026-01-01T00:00:00Z","op":"add","objekt":{}}`, `x.jsonl:2: unknown field "objekt"`},
		{"no at", `{"op":"add","object":{}}`, `x.jsonl:2: key "at" is missing`},
		{"bad at", `{"at":"yesterday","op":"add","object":{}}`, `x.jsonl:2: key "at": "yesterday" is no RFC 3339 time`},
		{"number at", `{"at":5,"op":"add","object":{}}`, `x.jsonl:2: key "at": number where a string is due`},
		{"far at", `{"at":"9999-01-01T00:00:00Z","op":"add","object":{}}`, `outside of the years`},
		{"no op", `{"at":"2026-01-01T00:00:00Z","object":{}}`, `key "op" is missing`},
		{"bad op", `{"at":"2026-01-01T00:00:00Z","op":"upsert","object":{}}`, `key "op": "upsert" is none of add, update, delete`},
		{"no object", `{"at":"2026-01-01T00:00:00Z","op":"add"}`, `key "object" is missing`},
		{"no kind", line("2026-01-01T00:00:00Z", `{"metadata":{}}`), `apiVersion and kind must be given`},
		{"no name", line("2026-01-01T00:00:00Z", `{"apiVersion":"v1","kind":"Pod"}`), `metadata.name is missing`},
		{"array", `[` + ok[:len(ok)-1] + `]`, `x.jsonl:2: a JSON array: an object log has one JSON object in each line`},
		{"array over lines", `[`, `x.jsonl:2: a JSON array`},
		{"string", `"x"`, `x.jsonl:2: string where an object is due`},
		{"string for an object", `{"at":"2026-01-01T00:00:00Z","op":"add","object":"x"}`, `object: string where an object is due`},
		{"group key", line("2026-01-01T00:00:00Z", fmt.Sprintf(group, `"minSzie":1,"maxSize":3`)),
			`object (NodeGroup g): key "spec.minSzie" is not known: choose from minSize, maxSize, targetSize, zone, machineType, template`},
		{"group key by case", line("2026-01-01T00:00:00Z", fmt.Sprintf(group, `"minsize":1`)), `key "spec.minsize" is not known`},
		{"group template key", line("2026-01-01T00:00:00Z", fmt.Sprintf(group, `"template":{"labels":{}}`)), `key "spec.template.labels" is not known`},
		{"group bounds", line("2026-01-01T00:00:00Z", fmt.Sprintf(group, `"minSize":5,"maxSize":3`)), `key "spec.minSize": 5 is more than maxSize 3`},
		{"group below zero", line("2026-01-01T00:00:00Z", fmt.Sprintf(group, `"targetSize":-1`)), `key "spec.targetSize": -1 is negative`},
		{"two values", ok[:len(ok)-1] + `{}`, `more than one JSON value`},
		{"wrong type", line("2026-01-01T00:00:00Z", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"nodeName":["x"]}}`), `object (Pod): key "spec.nodeName": array where a string is due`},
		{"bad quantity", line("2026-01-01T00:00:00Z", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"a"},{"name":"c","resources":{"requests":{"cpu":"much"}}}]}}`),
			`object (Pod): key "spec.containers[1].resources.requests.cpu": quantities must match`},
		{"custom metadata", line("2026-01-01T00:00:00Z", `{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"p","labels":{"a":1}}}`), `object (NodePool): key "metadata.labels`},
		{"custom name", line("2026-01-01T00:00:00Z", `{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{}}`), `object (NodePool): metadata.name is missing`},
		{"bad time", line("2026-01-01T00:00:00Z", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","creationTimestamp":"noon"}}`), `key "metadata.creationTimestamp": parsing time "noon"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := readAll(t, strings.NewReader(ok+c.line+"\n"))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "x.jsonl:2: ") {
				t.Errorf("got %v, want line 2 and %q", err, c.want)
			}
			if located := new(*objectlog.Error); !errors.As(err, located) {
				t.Errorf("got %T, want *objectlog.Error", err)
			}
		})
	}
}

func TestUnknownKindsAreSkippedAndCounted(t *testing.T) {
	log := line("2026-01-01T00:00:00Z", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}}`) + "\n" +
		line("2026-01-01T00:00:00Z", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"v"}}`) + "\n" +
		line("2026-01-01T00:00:00Z", `{"apiVersion":"v1","kind":"PodList","items":[]}`) + "\n"
	lines, r, err := readAll(t, strings.NewReader(log))
	if err != nil || len(lines) != 0 {
		t.Fatalf("got %d lines, %v", len(lines), err)
	}
	want := []string{"skipped 2 lines of kind example.com/v1/Widget: not a kind that scaling depends on", "skipped 1 line of kind v1/PodList: not a kind that scaling depends on"}
	if diff := cmp.Diff(want, r.Warnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestLateLinesAreSortedStably(t *testing.T) {
	log := strings.Join([]string{
		line("2026-01-01T00:00:02Z", fmt.Sprintf(namespace, "c")),
		line("2026-01-01T00:00:01Z", fmt.Sprintf(namespace, "a")),
		line("2026-01-01T00:00:01Z", fmt.Sprintf(namespace, "b")),
		line("2026-01-01T00:00:02Z", fmt.Sprintf(namespace, "d")),
	}, "\n")
	lines, r, err := readAll(t, strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range lines {
		got = append(got, l.Object.GetName())
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{`2 lines out of order by "at", sorted`}, r.Warnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestUnsortedLogIsRefused(t *testing.T) {
	var log strings.Builder
	for i := range 3000 {
		fmt.Fprintln(&log, line(time.Unix(int64(1e9+i), 0).UTC().Format(time.RFC3339), fmt.Sprintf(namespace, "n")))
	}
	fmt.Fprintln(&log, line(time.Unix(1e9, 0).UTC().Format(time.RFC3339), fmt.Sprintf(namespace, "n")))
	_, _, err := readAll(t, strings.NewReader(log.String()))
	if err == nil || !strings.Contains(err.Error(), `x.jsonl:3001: key "at": 2001-09-09T01:46:40Z is more than 1024 lines late: sort the log by "at"`) {
		t.Errorf("got %v", err)
	}
}

func TestDamagedGzipIsNamed(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	for i := range 5000 {
		fmt.Fprintln(z, line("2026-01-01T00:00:00Z", fmt.Sprintf(namespace, fmt.Sprint(i*7919))))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, err := readAll(t, bytes.NewReader(zipped.Bytes()[:zipped.Len()/2]))
	if err == nil || !strings.Contains(err.Error(), "the gzip file is cut short") {
		t.Errorf("got %v", err)
	}
}

// FuzzReader: no input makes the reader panic or loop, and what it reads it writes and reads again the same.
func FuzzReader(f *testing.F) {
	f.Add([]byte(line("2026-01-01T00:00:00Z", fmt.Sprintf(namespace, "n")) + "\n"))
	f.Add([]byte(line("2026-01-01T00:00:00Z", `{"apiVersion":"scalehist.io/v1alpha1","kind":"Gap","metadata":{"name":"1"},"spec":{"to":"2026-01-01T00:00:01Z","why":"x"}}`)))
	f.Add([]byte(line("2026-01-01T00:00:00Z", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b"}},"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}}`)))
	f.Add([]byte(line("2026-01-01T00:00:00Z", `{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"p"},"spec":{"weight":1,"limits":{"cpu":1.5}}}`)))
	f.Add([]byte(line("2026-01-01T00:00:00Z", `{"apiVersion":"machine.sapcloud.io/v1alpha1","kind":"Machine","metadata":{"name":"m"},"items":[]}`)))
	f.Add([]byte{0x1f, 0x8b, 0x08, 0x00})
	f.Add([]byte("{\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, _, err := readAll(t, bytes.NewReader(data))
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		write(t, &first, lines)
		again, _, err := readAll(t, bytes.NewReader(first.Bytes()))
		if err != nil {
			t.Fatalf("what was written is not read: %v\n%s", err, first.Bytes())
		}
		write(t, &second, again)
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("not the same after a round trip:\n%s\n%s", first.Bytes(), second.Bytes())
		}
	})
}

func write(t testing.TB, to io.Writer, lines []objectlog.Line) {
	t.Helper()
	w := objectlog.NewWriter(to, false)
	for _, l := range lines {
		if err := w.Write(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
