package view

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/goldentest"
	reports "github.com/scalehist/scalehist/report"
)

var update = flag.Bool("update", false, "write the golden files")

func saved(t *testing.T, name string) *scalehist.ReplayReport {
	t.Helper()
	r, err := reports.Read(filepath.Join("..", "..", "..", "report", "testdata", "explain", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// keyCodes are the keys that have names.
var keyCodes = map[string]rune{
	"up": tea.KeyUp, "down": tea.KeyDown, "enter": tea.KeyEnter, "tab": tea.KeyTab, "esc": tea.KeyEscape,
	"pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "home": tea.KeyHome, "end": tea.KeyEnd,
}

// press turns "down", "/", "a" or "ctrl+c" into the key.
func press(k string) tea.KeyPressMsg {
	if code, ok := keyCodes[k]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	if letter, ok := strings.CutPrefix(k, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: rune(letter[0]), Mod: tea.ModCtrl}
	}
	return tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
}

// app is a model of that size after some keys; "/text" types each letter.
func app(t *testing.T, r *scalehist.ReplayReport, width, height int, keys ...string) *Model {
	t.Helper()
	m := New(r)
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	for _, k := range keys {
		if text, ok := strings.CutPrefix(k, "type "); ok {
			for _, c := range text {
				m.Update(press(string(c)))
			}
			continue
		}
		m.Update(press(k))
	}
	return m
}

// screen is what is seen, without colours; it checks that it fits.
func screen(t testing.TB, m *Model) string {
	t.Helper()
	lines := strings.Split(m.View().Content, "\n")
	if len(lines) != m.height {
		t.Fatalf("%d lines on a screen of %d", len(lines), m.height)
	}
	for i, l := range lines {
		if w := ansi.StringWidth(l); w > m.width {
			t.Fatalf("line %d is %d columns wide on a screen of %d: %q", i, w, m.width, l)
		}
		lines[i] = strings.TrimRight(ansi.Strip(l), " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestScreens(t *testing.T) {
	tests := []struct {
		golden, report string
		width, height  int
		keys           []string
	}{
		{"first", "idle", 80, 24, nil},
		{"second", "idle", 80, 24, []string{"down"}},
		{"scale-down", "idle", 80, 24, []string{"d"}},
		{"all", "idle", 80, 24, []string{"a", "G"}},
		{"wide", "idle", 140, 30, []string{"d"}},
		{"detail", "idle", 80, 24, []string{"tab", "down", "down"}},
		{"search", "pending", 80, 24, []string{"/", "type reason:backoff", "enter"}},
		{"typing", "idle", 80, 24, []string{"/", "type small"}},
		{"explain", "pending", 80, 24, []string{"x", "type web-12", "enter"}},
		{"help", "idle", 80, 24, []string{"?"}},
		{"verdict", "idle", 80, 24, []string{"v"}},
		{"small", "idle", 40, 8, nil},
		{"small-detail", "idle", 40, 8, []string{"enter"}},
		{"workloads", "hpa60", 100, 24, []string{"down", "down"}},
		{"workloads-only", "hpa60", 100, 30, []string{"c", "c", "a", "end", "up", "up"}},
		{"workloads-help", "hpa60", 100, 40, []string{"?"}},
		{"workloads-explain", "hpa60", 100, 24, []string{"x", "type default/web", "enter"}},
	}
	for _, tt := range tests {
		t.Run(tt.golden, func(t *testing.T) {
			goldentest.Text(t, filepath.Join("testdata", tt.golden+".txt"), screen(t, app(t, saved(t, tt.report), tt.width, tt.height, tt.keys...)), *update)
		})
	}
}

// TestWhose: decisions are those of all autoscalers, of nodes, of each controller in turn.
func TestWhose(t *testing.T) {
	for keys, want := range map[int]int{0: 36, 1: 20, 2: 16, 3: 36} {
		m := app(t, saved(t, "hpa60"), 80, 24, append([]string{"a"}, slices.Repeat([]string{"c"}, keys)...)...)
		if len(m.shown) != want {
			t.Errorf("after %d times c there are %d decisions, want %d\n%s", keys, len(m.shown), want, screen(t, m))
		}
	}
	if s := screen(t, app(t, saved(t, "idle"), 80, 24, "c")); !strings.Contains(s, "there is one autoscaler only") {
		t.Errorf("without controllers:\n%s", s)
	}
}

func TestPlain(t *testing.T) {
	goldentest.Text(t, filepath.Join("testdata", "plain-workloads.txt"), Plain(saved(t, "hpa60")), *update)
	goldentest.Text(t, filepath.Join("testdata", "plain.txt"), Plain(saved(t, "pending")), *update)
}

func TestKeys(t *testing.T) {
	tests := []struct {
		name   string
		keys   []string
		cursor int
		all    bool
	}{
		{"begins at the first", nil, 0, false},
		{"down and up", []string{"down", "j", "k"}, 1, false},
		{"not before the first", []string{"up"}, 0, false},
		{"home", []string{"end", "home"}, 0, false},
		{"a scale-down and the scale-up before it", []string{"d", "U"}, 3, false},
		{"all keeps the step", []string{"a"}, 0, true},
		{"Esc restores the step of before the search", []string{"/", "type removing", "esc"}, 0, false},
		{"in the reasons the keys scroll", []string{"tab", "down"}, 0, false},
		{"and in the list again they step", []string{"tab", "down", "tab", "down"}, 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := app(t, saved(t, "idle"), 80, 24, tt.keys...)
			if m.cursor != tt.cursor || m.all != tt.all {
				t.Errorf("step %d, all %t; want %d, %t", m.cursor, m.all, tt.cursor, tt.all)
			}
		})
	}
	m := app(t, saved(t, "idle"), 80, 24)
	for _, k := range []string{"q", "ctrl+c"} {
		if _, cmd := m.Update(press(k)); cmd == nil {
			t.Errorf("%s does not quit", k)
		}
	}
}

// TestSearch: what is searched for is found where it is, in hidden decisions too, and what is nowhere is said.
func TestSearch(t *testing.T) {
	for text, want := range map[string]bool{
		"default/web-1": true, "pod:WEB-1": true, "group:std": true, "node:std-1": true, "reason:out of stock": true,
		"group:web-1": false, "pod:std-1": false, "nothing of the kind": false,
	} {
		m := app(t, saved(t, "pending"), 80, 24, "/", "type "+text, "enter")
		place, _ := m.found()
		if (place > 0) != want {
			t.Errorf("%q: found %t, want %t\n%s", text, place > 0, want, screen(t, m))
		}
		if said := strings.Contains(screen(t, m), "nothing matches"); said == want {
			t.Errorf("%q: the screen says that nothing matches: %t\n%s", text, said, screen(t, m))
		}
	}
	m := app(t, saved(t, "pending"), 80, 24, "/", "type max node group size reached", "enter")
	if !m.all {
		t.Error("a search for what only loops that did not act say does not show them")
	}
	before := m.cursor
	m.Update(press("n"))
	m.Update(press("N"))
	if m.cursor != before {
		t.Errorf("next match and back: step %d, want %d", m.cursor, before)
	}
	for text, want := range map[string]int{"workload:hpa": 16, "workload:replicaset/default/web": 16, "reason:scaledownstabilized": 8, "workload:std": 0, "group:std": 4} {
		if _, of := app(t, saved(t, "hpa60"), 80, 24, "a", "/", "type "+text, "enter").found(); of != want {
			t.Errorf("%q: %d matches, want %d", text, of, want)
		}
	}
	if s := screen(t, app(t, saved(t, "hpa60"), 80, 24, "x", "type nobody", "enter")); !strings.Contains(s, `"nobody" is no node group, no node and no workload`) {
		t.Errorf("a name that is not there is not said:\n%s", s)
	}
	if s := screen(t, app(t, saved(t, "idle"), 80, 24, "x", "type nobody", "enter")); !strings.Contains(s, `"nobody" is no node group`) {
		t.Errorf("a name that is not there is not said:\n%s", s)
	}
}

// TestEmptyReport: a report without decisions is a screen that says so, whatever is pressed.
func TestEmptyReport(t *testing.T) {
	r := &scalehist.ReplayReport{Scenario: "empty", Autoscaler: "none", StartTime: time.Unix(0, 0).UTC()}
	m := app(t, r, 80, 24, "down", "d", "U", "n", "a", "/", "type x", "enter", "tab", "down", "tab", "G", "pgup")
	if s := screen(t, m); !strings.Contains(s, "no decisions") {
		t.Errorf("the screen does not say that there is nothing:\n%s", s)
	}
}

// TestEverySizeAndKey: no size and no order of keys makes it panic or write past the screen.
func TestEverySizeAndKey(t *testing.T) {
	names := []string{"up", "down", "pgup", "pgdown", "home", "end", "u", "U", "d", "D", "a", "tab", "enter", "/", "n", "N", "x", "esc", "?", "w", "e", "c"}
	list := []*scalehist.ReplayReport{saved(t, "idle"), saved(t, "pending"), saved(t, "hpa60"), wide(), {Scenario: "empty"}}
	rapid.Check(t, func(rt *rapid.T) {
		m := New(rapid.SampledFrom(list).Draw(rt, "report"))
		for range rapid.IntRange(1, 12).Draw(rt, "n") {
			if rapid.Bool().Draw(rt, "resize") {
				m.Update(tea.WindowSizeMsg{Width: rapid.IntRange(0, 150).Draw(rt, "width"), Height: rapid.IntRange(0, 40).Draw(rt, "height")})
			} else {
				m.Update(press(rapid.SampledFrom(names).Draw(rt, "key")))
			}
			lines := strings.Split(m.View().Content, "\n")
			if len(lines) != m.height {
				rt.Fatalf("%d lines on a screen of %d", len(lines), m.height)
			}
			for _, l := range lines {
				if w := ansi.StringWidth(l); w > m.width {
					rt.Fatalf("%d columns on a screen of %d: %q", w, m.width, l)
				}
			}
		}
	})
}

// wide is a report whose names take two columns, one, none, and would move the cursor.
func wide() *scalehist.ReplayReport {
	start := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	r := &scalehist.ReplayReport{Scenario: "広い", Autoscaler: "virtualca", StartTime: start, EndTime: start.Add(time.Hour)}
	for _, name := range []string{"ノード群", "👩‍👩‍👧‍👦-family", "e\u0301tage", "evil\x1b[2J\r\n"} {
		r.NodeGroups = append(r.NodeGroups, scalehist.NodeGroupResult{Name: name, MaxSize: 9, Initial: 1, Sizes: []scalehist.SizeAt{{Size: 1}}})
		r.Decisions = append(r.Decisions, scalehist.Decision{
			At: start.Add(time.Minute), Loop: 1, Outcome: scalehist.ScaleUpSuccessful, UnschedulablePods: []string{"既定/ウェブ-1"},
			ScaleUps: []scalehist.ScaleUp{{NodeGroup: name, From: 1, To: 3, Max: 9}},
			Skipped:  []scalehist.GroupReason{{NodeGroup: name, Reason: strings.Repeat("満員 ", 60)}},
		})
	}
	return r
}

func TestWideCharacters(t *testing.T) {
	for _, width := range []int{30, 80, 140} {
		s := screen(t, app(t, wide(), width, 24, "/", "type ノード", "enter"))
		if !strings.Contains(s, "ノード群") || strings.ContainsAny(s, "\x1b\r") {
			t.Errorf("width %d:\n%s", width, s)
		}
	}
}

// TestMoment: sizes and waiting pods are those of the instant.
func TestMoment(t *testing.T) {
	start := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	r := &scalehist.ReplayReport{
		StartTime: start, EndTime: start.Add(time.Hour),
		NodeGroups: []scalehist.NodeGroupResult{
			{Name: "a", MaxSize: 5, Initial: 1, Sizes: []scalehist.SizeAt{{Offset: 0, Size: 1}, {Offset: scalehist.Duration(time.Minute), Size: 3}}},
			{Name: "b", MaxSize: 2},
		},
		Start:         scalehist.ClusterSnapshot{Nodes: []scalehist.NodeInfo{{Name: "a-0", NodeGroup: "a"}}},
		ScaledUpNodes: []scalehist.ScaledNode{{Name: "a-1", NodeGroup: "a", ReadyAt: start.Add(2 * time.Minute)}},
		Batches:       []scalehist.Batch{{At: start.Add(time.Minute), Unschedulable: 7}, {At: start.Add(3 * time.Minute), NodesGone: []string{"a-0"}}},
	}
	m := newMoments(r)
	for after, want := range map[time.Duration]string{
		0: "pending 0  a 1/5  b 0/2", time.Minute: "pending 7  a 1+2/5  b 0/2", 2 * time.Minute: "pending 7  a 2+1/5  b 0/2", 3 * time.Minute: "pending 0  a 1+2/5  b 0/2",
	} {
		if diff := cmp.Diff([]string{want}, m.strip(start.Add(after), 80, 1)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", after, diff)
		}
	}
	if got := m.strip(start, 20, 1)[0]; got != "pending 0  2 more" {
		t.Errorf("in 20 columns: %q", got)
	}
}

// day is a report of a day of loops, ten seconds apart, all of which mattered.
func day() *scalehist.ReplayReport {
	start := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	r := &scalehist.ReplayReport{Scenario: "day", Autoscaler: "virtualca", StartTime: start, EndTime: start.Add(24 * time.Hour)}
	for i := range 8_640 {
		d := scalehist.Decision{At: start.Add(time.Duration(i) * 10 * time.Second), Loop: i + 1, Outcome: scalehist.ScaleUpNotNeeded}
		for n := range 20 {
			d.Unremovable = append(d.Unremovable, scalehist.NodeReason{Node: fmt.Sprintf("workers-%d", (i+n)%500), Reason: "NotUnderutilized"})
		}
		if i%100 == 99 {
			d.ScaleUps = []scalehist.ScaleUp{{NodeGroup: "workers", From: i / 100, To: i/100 + 1, Max: 100}}
		}
		r.Decisions = append(r.Decisions, d)
		r.Batches = append(r.Batches, scalehist.Batch{At: d.At, Unschedulable: i % 7})
	}
	return r
}

// TestHugeReport: every key works on a day of loops, and drawing makes only what is seen.
func TestHugeReport(t *testing.T) {
	m := app(t, day(), 80, 24, "a", "G", "pgup", "u", "U", "D", "/", "type node:workers-499", "enter", "n", "home")
	if got, want := len(m.shown), 8_640; got != want {
		t.Errorf("%d steps are shown, want %d", got, want)
	}
	m.Update(press("esc"))
	if n := testing.AllocsPerRun(50, func() {
		m.Update(press("down"))
		_ = m.View()
	}); n > 5_000 {
		t.Errorf("a step allocates %.0f times on a report of 8,640 loops: it must not depend on their number", n)
	}
}

func BenchmarkStepOfADay(b *testing.B) {
	m := New(day())
	m.Update(press("a"))
	for b.Loop() {
		m.Update(press("down"))
		_ = m.View()
	}
}
