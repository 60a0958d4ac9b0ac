package engines

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/internal/goldentest"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

var update = flag.Bool("update", false, "rewrite the table of docs/verdict.md")

// recording is what the verdict is tested on.
type recording struct {
	name, db string
	in       *trace.Input
	// shared: it is not one of the repository's fixtures.
	shared bool
}

// recordings are all fixtures, and the logs of real autoscalers beside the repository that are no fixtures, in which
// something scaled.
func recordings(t *testing.T) []recording {
	t.Helper()
	var out []recording
	add := func(r recording) {
		db, err := history.Open(t.Context(), r.db)
		if err != nil {
			t.Fatal(err)
		}
		r.in, err = trace.FromHistory(t.Context(), db, trace.Window{})
		if cerr := db.Close(); cerr != nil {
			t.Fatal(cerr)
		}
		if err != nil {
			t.Fatalf("%s: %v", r.name, err)
		}
		if r.in.Truth != nil && len(r.in.Truth.Steps) > 0 {
			out = append(out, r)
		}
	}
	names := map[string]bool{}
	for _, db := range fixtures(t) {
		name := filepath.Base(filepath.Dir(db))
		names[name] = true
		add(recording{name: name, db: db})
	}
	logs, err := filepath.Glob(filepath.Join("..", "..", "shared", "recordings", "*.jsonl*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range logs {
		name, _, _ := strings.Cut(filepath.Base(path), ".")
		if names[name] {
			continue
		}
		log, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		db := filepath.Join(t.TempDir(), name+".db")
		_, err = transfer.Import(t.Context(), log, db, transfer.ImportOptions{Name: name})
		if cerr := log.Close(); cerr != nil {
			t.Error(cerr)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		add(recording{name: name, db: db, shared: true})
	}
	return out
}

// judged replays a recording, each change at its own instant as it was recorded.
func judged(t *testing.T, r recording, opts []harness.Option) (*scalehist.Agreement, error) {
	opts = append([]harness.Option{harness.OnControlPlane(harness.Memory), harness.WithBatchInterval(0)}, opts...)
	replayer, err := harness.NewReplayer(t.Context(), r.db, opts...)
	if err != nil {
		return nil, err
	}
	report, err := replayer.Replay(t.Context(), replayer.RecordDuration())
	if cerr := replayer.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, err
	}
	if report.Agreement == nil {
		return nil, fmt.Errorf("%s scaled, and its replay has no verdict", r.name)
	}
	return report.Agreement, nil
}

// TestVerdictSeesWhatIsBroken: autoscalers that are broken on purpose differ, on every recording that can show it, in the question
// that names what is broken. docs/verdict.md has what differs.
func TestVerdictSeesWhatIsBroken(t *testing.T) {
	all := recordings(t)
	table := make([][]string, len(all))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, r := range all {
		table[i] = make([]string, 2+len(defects))
		table[i][0] = fmt.Sprintf("[%s](../fixtures/%s/README.md)", r.name, r.name)
		group.Go(func() error {
			a, err := judged(t, r, with(ClusterAutoscaler()))
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			table[i][1] = cell(a, nil)
			return nil
		})
		for j, d := range defects {
			must := d.must(r.in)
			if len(must) == 0 {
				table[i][2+j] = "-"
				continue
			}
			group.Go(func() error {
				a, err := judged(t, r, d.play(r.in))
				if err != nil {
					return fmt.Errorf("%s, %s: %w", r.name, d.name, err)
				}
				differing := a.Differing()
				for _, q := range must {
					if !slices.Contains(differing, q) {
						t.Errorf("%s, %s: differs in %v, want %s among them", r.name, d.name, differing, q)
					}
				}
				table[i][2+j] = cell(a, must)
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for j, d := range defects {
		if !slices.ContainsFunc(table, func(row []string) bool { return row[2+j] != "-" }) {
			t.Errorf("no recording can show an autoscaler that %s", d.name)
		}
	}
	var rows [][]string
	for i, r := range all {
		if r.shared {
			t.Logf("%s: %s", r.name, strings.Join(table[i][1:], " | "))
			continue
		}
		rows = append(rows, table[i])
	}
	path := filepath.Join("..", "docs", "verdict.md")
	goldentest.Text(t, path, page(t, path, rows), *update)
}

// cell names the questions that differ, those that had to in bold, and says where the verdict agrees all the same: none of them
// decides.
func cell(a *scalehist.Agreement, must []scalehist.Question) string {
	var parts []string
	for _, q := range a.Differing() {
		word := string(q)
		if slices.Contains(must, q) {
			word = "**" + word + "**"
		}
		parts = append(parts, word)
	}
	text := strings.Join(parts, ", ")
	switch {
	case text == "" && a.Agreed:
		return "agrees"
	case a.Agreed:
		return "agrees; " + text
	}
	return text
}

// The part of docs/verdict.md that this test writes.
const (
	tableBegins = "<!-- table: go test ./engines -run Verdict -update -->\n\n"
	tableEnds   = "\n<!-- end of table -->\n"
)

// page is docs/verdict.md with the table in it.
func page(t *testing.T, path string, rows [][]string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table: want the lines %q and %q", path, strings.TrimSpace(tableBegins), strings.TrimSpace(tableEnds))
	}
	var b strings.Builder
	b.WriteString(before + tableBegins)
	for _, d := range defects {
		fmt.Fprintf(&b, "- **%s**: %s\n", d.name, d.doc)
	}
	b.WriteString("\n")
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	head, rule := []string{"recording", "nothing broken"}, []string{"---", "---"}
	for _, d := range defects {
		head, rule = append(head, d.name), append(rule, "---")
	}
	line(head)
	line(rule)
	for _, row := range rows {
		line(row)
	}
	return b.String() + tableEnds + after
}
