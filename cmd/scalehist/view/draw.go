package view

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/internal/plural"
	reports "github.com/scalehist/scalehist/report"
)

// The looks. What they say is said by words and signs too, so that nothing is lost without colours.
var (
	titleStyle  = lipgloss.NewStyle().Bold(true)
	cursorStyle = lipgloss.NewStyle().Reverse(true)
	partStyle   = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Cyan)
	upStyle     = lipgloss.NewStyle().Foreground(lipgloss.Green)
	downStyle   = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	matchStyle  = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Magenta)
	dimStyle    = lipgloss.NewStyle().Faint(true)
)

const (
	// sideBySide is from which width on the steps are beside their reasons.
	sideBySide = 120
	// small is below which height there is one pane only.
	small = 10
)

// layout is how many lines each pane has, and how wide it is.
type layout struct {
	strip, list, detail     int
	listWidth, detailWidth  int
	beside, oneBelowAnother bool
}

// layout shares the screen: the title, the cluster, the steps and their reasons, the line at the bottom.
func (m *Model) layout() layout {
	l := layout{strip: 1, listWidth: m.width, detailWidth: m.width}
	if m.height >= 20 {
		l.strip = 2
	}
	rest := max(0, m.height-2-l.strip)
	switch {
	case m.height < small:
		l.list, l.detail = rest, rest
	case m.width >= sideBySide:
		l.beside, l.list, l.detail = true, rest, rest
		l.listWidth = m.width * 9 / 20
		l.detailWidth = m.width - l.listWidth - 3
	default:
		l.oneBelowAnother = true
		l.list = min(max(3, rest*2/5), max(3, len(m.shown)))
		l.detail = max(0, rest-l.list-1)
	}
	return l
}

// View implements tea.Model.
func (m *Model) View() tea.View {
	v := tea.NewView(strings.Join(m.lines(), "\n"))
	v.AltScreen = true
	v.WindowTitle = "scalehist view " + clean(m.r.Scenario)
	return v
}

// lines is the screen: m.height lines of at most m.width columns.
func (m *Model) lines() []string {
	if m.page != nil {
		return m.pageView()
	}
	l := m.layout()
	lines := []string{m.title()}
	if m.height > 2 {
		lines = append(lines, m.cluster(l.strip)...)
	}
	switch {
	case len(m.steps) == 0:
		lines = append(lines, clip("This report has no decisions: no loop of the autoscaler mattered.", m.width))
	case l.beside:
		left, right := m.listView(l), m.detailView(l)
		for i := range left {
			gap := max(0, l.listWidth-ansi.StringWidth(left[i]))
			lines = append(lines, left[i]+strings.Repeat(" ", gap)+dimStyle.Render(" │ ")+right[i])
		}
	case l.oneBelowAnother:
		lines = append(lines, m.listView(l)...)
		lines = append(lines, dimStyle.Render(strings.Repeat("─", m.width)))
		lines = append(lines, m.detailView(l)...)
	case m.inDetail:
		lines = append(lines, m.detailView(l)...)
	default:
		lines = append(lines, m.listView(l)...)
	}
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	lines = lines[:min(len(lines), max(0, m.height-1))]
	return append(lines, m.bottom())
}

func (m *Model) title() string {
	head := m.r.Scenario
	switch {
	case len(m.steps) == 0:
	case len(m.shown) == 0:
		head += fmt.Sprintf("  0 of %s acted", plural.Of(len(m.steps), "decision"))
	default:
		what := "steps that acted"
		if m.all {
			what = "decisions"
		}
		if m.only > 0 {
			what += " of " + m.whose()[m.only]
		}
		n := m.current()
		head += fmt.Sprintf("  %d/%d %s  %s", m.cursor+1, len(m.shown), what, m.steps[n].offset)
		for _, more := range []string{m.steps[n].At.UTC().Format("2006-01-02T15:04:05Z"), m.r.Autoscaler, verdictLine(m.r)} {
			if more != "" && ansi.StringWidth(head)+2+ansi.StringWidth(more) <= m.width {
				head += "  " + more
			}
		}
	}
	return titleStyle.Render(clip(head, m.width))
}

// verdictLine is the verdict in a few words; empty where there is none.
func verdictLine(r *scalehist.ReplayReport) string {
	line := reports.VerdictLine(r)
	if line == "" {
		return ""
	}
	return "verdict: " + line
}

// cluster is the strip, always that many lines.
func (m *Model) cluster(lines int) []string {
	at := m.r.StartTime
	if n := m.current(); n >= 0 {
		at = m.steps[n].At
	}
	out := m.moments.strip(at, m.width, lines)
	for len(out) < lines {
		out = append(out, "")
	}
	return out
}

// listView draws the steps around the one that is looked at; nothing but what is seen is made.
func (m *Model) listView(l layout) []string {
	m.top = min(m.top, m.cursor)
	m.top = max(m.top, m.cursor-l.list+1, 0)
	m.top = min(m.top, max(0, len(m.shown)-l.list))
	out := make([]string, 0, l.list)
	for i := m.top; i < len(m.shown) && len(out) < l.list; i++ {
		n := m.shown[i]
		s := &m.steps[n]
		mark, style := " ", lipgloss.NewStyle()
		switch {
		case s.Up && s.Down:
			mark = "±"
		case s.Up:
			mark, style = "+", upStyle
		case s.Down:
			mark, style = "-", downStyle
		}
		if !m.query.empty() && m.matches(n) {
			mark, style = "/", matchStyle
		}
		pointer := "  "
		if i == m.cursor {
			pointer, style = "> ", cursorStyle
		}
		line := clip(fmt.Sprintf("%s%s %-10s %s", pointer, mark, s.offset, s.Summary), l.listWidth)
		out = append(out, style.Render(line))
	}
	for len(out) < l.list {
		out = append(out, "")
	}
	return out
}

// detailLines are the reasons of the step that is looked at, wrapped; made once for a step and a width.
func (m *Model) detailLines() []string {
	n, width := m.current(), m.layout().detailWidth
	if n < 0 {
		return nil
	}
	if key := [2]int{n, width}; m.detailOf != key {
		m.detail, m.detailOf = wrapParts(m.steps[n].Parts(m.r), width), key
	}
	return m.detail
}

// longest bounds what is wrapped of one line, in bytes: ten thousand pods are read elsewhere.
const longest = 20_000

func wrapParts(parts []reports.Part, width int) []string {
	var out []string
	for _, p := range parts {
		out = append(out, partStyle.Render(clip(p.Title, width)))
		for _, line := range p.Lines {
			out = append(out, wrap("  ", clean(line), width)...)
		}
	}
	return out
}

// wrap breaks a line into lines of at most width columns, each behind indent where that leaves room.
func wrap(indent, line string, width int) []string {
	if len(line) > longest {
		line = strings.ToValidUTF8(line[:longest], "") + " ... (the report has the rest)"
	}
	if width <= 3*len(indent) {
		indent = ""
	}
	room := max(1, width-len(indent))
	var out []string
	text, used := "", 0
	flush := func() {
		out = append(out, indent+text)
		text, used = "", 0
	}
	for i, word := range strings.Split(line, " ") {
		wide := ansi.StringWidth(word)
		if i > 0 && used+1+wide <= room {
			text, used = text+" "+word, used+1+wide
			continue
		}
		if i > 0 {
			flush()
		}
		for wide > room {
			part := ansi.Truncate(word, room, "")
			if part == "" {
				break // a character that is wider than the room
			}
			text = part
			flush()
			word = word[len(part):]
			wide = ansi.StringWidth(word)
		}
		text, used = clip(word, room), min(wide, room)
	}
	flush()
	return out
}

func (m *Model) detailView(l layout) []string {
	lines := m.detailLines()
	out := make([]string, 0, l.detail)
	for i := m.detailTop; i < len(lines) && len(out) < l.detail; i++ {
		out = append(out, lines[i])
	}
	if rest := len(lines) - m.detailTop - l.detail; rest > 0 && l.detail > 1 {
		out[l.detail-1] = dimStyle.Render(clip(fmt.Sprintf("  ... %d more lines: Tab, then down", rest+1), l.detailWidth))
	}
	for len(out) < l.detail {
		out = append(out, "")
	}
	return out
}

// bottom is the line of input, else what there is to say, else the keys.
func (m *Model) bottom() string {
	if m.prompt != promptNone {
		line := m.input.View()
		if m.prompt == promptSearch && !m.query.empty() {
			place, of := m.found()
			line += fmt.Sprintf("  %d of %d", place, of)
		}
		return ansi.Truncate(line, m.width, "…")
	}
	text := "↑↓ step  u d up/down  / search  x explain  a all  Tab scroll  ? help  q quit"
	switch {
	case m.message != "":
		text = m.message
	case !m.query.empty():
		place, of := m.found()
		text = fmt.Sprintf("%q: match %d of %d  n/N next, before  Esc ends the search", m.query.text, place, of)
	case m.inDetail:
		text = "↑↓ scroll the reasons  Tab back to the steps  ? help  q quit"
	}
	return dimStyle.Render(clip(text, m.width))
}

// pageLines is the page that covers everything, wrapped.
func (m *Model) pageLines() []string {
	var out []string
	for _, line := range m.page {
		trimmed := strings.TrimLeft(line, " ")
		out = append(out, wrap(line[:len(line)-len(trimmed)], clean(trimmed), m.width)...)
	}
	return out
}

func (m *Model) pageView() []string {
	lines := m.pageLines()
	top := min(m.pageTop, max(0, len(lines)-1))
	lines = lines[top:]
	height := max(0, m.height-1)
	text := "any other key closes this"
	if len(lines) > height {
		text = fmt.Sprintf("%d more lines: down  %s", len(lines)-height, text)
		lines = lines[:height]
	}
	out := append([]string{}, lines...)
	for len(out) < height {
		out = append(out, "")
	}
	return append(out, dimStyle.Render(clip(text, m.width)))
}

// Plain is the steps as lines, for where no terminal is.
func Plain(r *scalehist.ReplayReport) string {
	r = plaintext.Values(r)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %d of %s mattered\n", clean(r.Scenario), clean(r.Autoscaler), len(r.Decisions), plural.Of(r.Loops, "loop"))
	if line := verdictLine(r); line != "" {
		b.WriteString(clean(line) + "\n")
	}
	moments := newMoments(r)
	for _, e := range reports.Entries(r) {
		s := newStep(r, e)
		fmt.Fprintf(&b, "\n%s %s\n", s.offset, clean(s.Summary))
		fmt.Fprintf(&b, "  %s\n", moments.strip(s.At, 1<<20, 1)[0])
		for _, p := range s.Parts(r) {
			fmt.Fprintf(&b, "  %s\n", p.Title)
			for _, line := range p.Lines {
				fmt.Fprintf(&b, "    %s\n", clean(line))
			}
		}
	}
	return b.String()
}
