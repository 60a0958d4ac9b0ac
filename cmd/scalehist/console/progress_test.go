package console

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
)

func TestProgressWithoutTerminal(t *testing.T) {
	var out bytes.Buffer
	p := IO{Err: &out}.NewProgress("importing", 10)
	now := p.last
	p.now = func() time.Time { return now }
	for range 10 {
		p.Add(1)
		now = now.Add(4 * time.Second)
	}
	p.Done()
	if want := "importing: 4 of 10\nimporting: 7 of 10\nimporting: 10 of 10\n"; out.String() != want {
		t.Errorf("progress %q, want %q", out.String(), want)
	}
}

// sized is a screen of a size that the test changes.
func sized(out *bytes.Buffer, columns, rows *int) *screen {
	return &screen{w: out, size: func() (int, int) { return *columns, *rows }}
}

// shown plays what was written on a terminal of columns: the lines that are seen. It knows what screen writes and nothing else.
func shown(t *testing.T, written string, columns int) []string {
	t.Helper()
	lines := []string{""}
	for written != "" {
		switch {
		case strings.HasPrefix(written, "\r"):
			written = written[1:]
		case strings.HasPrefix(written, "\x1b[J"):
			written = written[3:]
			lines = append(lines[:len(lines)-1], "")
		case strings.HasPrefix(written, "\x1b["):
			var up int
			if _, err := fmt.Sscanf(written, "\x1b[%dA", &up); err != nil || up >= len(lines) {
				t.Fatalf("cannot go up in %q: %v", written, err)
			}
			lines = lines[:len(lines)-up]
			written = written[strings.Index(written, "A")+1:]
		case strings.HasPrefix(written, "\n"):
			lines, written = append(lines, ""), written[1:]
		default:
			end := strings.IndexAny(written, "\r\n\x1b")
			if end < 0 {
				end = len(written)
			}
			for part := range strings.SplitSeq(ansi.Hardwrap(written[:end], columns, true), "\n") {
				lines[len(lines)-1] = part
				lines = append(lines, "")
			}
			lines, written = lines[:len(lines)-1], written[end:]
		}
	}
	return lines
}

// TestScreen: what is drawn stays the last thing, what is said appears above it, and nothing stays at the end.
func TestScreen(t *testing.T) {
	var out bytes.Buffer
	columns, rows := 40, 24
	s := sized(&out, &columns, &rows)
	draw := func(lines ...string) {
		t.Helper()
		if err := s.draw(func(int) []string { return lines }); err != nil {
			t.Fatal(err)
		}
	}
	say := func(text string) {
		t.Helper()
		if n, err := s.Write([]byte(text)); err != nil || n != len(text) {
			t.Fatal(n, err)
		}
	}
	say("before\n")
	draw("one", "two")
	say("a warning\n")
	draw("three")
	if got := strings.Join(shown(t, out.String(), columns), "|"); got != "before|a warning|three|" {
		t.Errorf("seen: %s", got)
	}
	draw(strings.Repeat("x", 100), "evil\x1b[2Jname", "ノード群ノード群ノード群ノード群ノード群")
	for _, l := range shown(t, out.String(), columns) {
		if ansi.StringWidth(l) >= columns {
			t.Errorf("%q fills %d columns", l, columns)
		}
	}
	rows = 2
	draw("one", "two", "three")
	if got := strings.Join(shown(t, out.String(), columns), "|"); got != "before|a warning|one|" {
		t.Errorf("on two rows: %s", got)
	}
	draw()
	if got := strings.Join(shown(t, out.String(), columns), "|"); got != "before|a warning|" {
		t.Errorf("at the end: %s", got)
	}
}

// TestScreenBecomesNarrower: lines that the terminal broke into several are taken off as a whole.
func TestScreenBecomesNarrower(t *testing.T) {
	var out bytes.Buffer
	columns, rows := 40, 24
	s := sized(&out, &columns, &rows)
	if err := s.draw(func(int) []string { return []string{strings.Repeat("x", 39), "short"} }); err != nil {
		t.Fatal(err)
	}
	columns = 10
	if got := s.erase(columns); got != "\r\x1b[5A\x1b[J" {
		t.Errorf("erased with %q, want five lines up: four of 39 columns on 10, and one", got)
	}
}

// TestReplayView: what is shown of a replay on terminals of several widths, and as a line.
func TestReplayView(t *testing.T) {
	var out bytes.Buffer
	columns, rows := 90, 24
	for _, tt := range []struct {
		columns int
		want    string
	}{
		{90, "replaying  ███████████░░░░░░░░░░░  50%  +12h0m0s of 24h0m0s  4,320x\nnodes 12  pending 3  workers 8/20  ノード群 4/4\nlast +11h59m0s ScaleUpSuccessful {workers 7->8 (max: 20)}\n"},
		{30, "replaying   50%  +12h0m0s of…\nnodes 12  pending 3  workers…\nlast +11h59m0s ScaleUpSucces…\n"},
	} {
		out.Reset()
		columns = tt.columns
		v := NewReplayView(IO{Err: sized(&out, &columns, &rows)})
		play(v)
		if got := strings.Join(shown(t, out.String(), columns), "\n"); got != tt.want {
			t.Errorf("%d columns:\n%swant\n%s", columns, got, tt.want)
		}
		v.Done()
		if got := shown(t, out.String(), columns); len(got) != 1 || got[0] != "" {
			t.Errorf("%d columns: %q stay", columns, got)
		}
	}
	out.Reset()
	play(NewReplayView(IO{Err: &out}))
	want := "replaying: 50%, +12h0m0s of 24h0m0s, 4,320x, 12 nodes, 3 pending, last +11h59m0s ScaleUpSuccessful {workers 7->8 (max: 20)}\n"
	if out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

// play shows a view twelve hours that took ten seconds.
func play(v *replayView) {
	start := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	now := v.progress.last
	v.progress.now = func() time.Time { return now }
	p := harness.Progress{Now: start, Start: start, End: start.Add(24 * time.Hour)}
	v.Step(p)
	now = now.Add(10 * time.Second)
	p.Now, p.Nodes, p.Pending = start.Add(12*time.Hour), 12, 3
	p.LastAction = &scalehist.Decision{
		At: start.Add(12*time.Hour - time.Minute), Outcome: scalehist.ScaleUpSuccessful,
		ScaleUps: []scalehist.ScaleUp{{NodeGroup: "workers", From: 7, To: 8, Max: 20}},
	}
	p.Groups = func() []scalehist.NodeGroup {
		return []scalehist.NodeGroup{{Name: "workers", TargetSize: 8, MaxSize: 20}, {Name: "ノード群", TargetSize: 4, MaxSize: 4}}
	}
	v.Step(p)
}
