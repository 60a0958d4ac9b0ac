package view

import (
	"fmt"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plaintext"
	reports "github.com/scalehist/scalehist/report"
)

// prompt is what a line of input at the bottom asks for.
type prompt int

const (
	promptNone prompt = iota
	promptSearch
	promptExplain
)

// Model is the app: which step is looked at, and how. It is a tea.Model.
type Model struct {
	r       *scalehist.ReplayReport
	moments *moments
	steps   []step
	shown   []int // of steps, ascending
	all     bool  // show steps that did not act too
	only    int   // of whose; steps of others are left out
	cursor  int   // in shown
	top     int   // first line of the list that is drawn

	width, height int
	inDetail      bool // the keys scroll the detail pane
	detail        []string
	detailOf      [2]int // step and width that detail was made of
	detailTop     int

	prompt  prompt
	input   textinput.Model
	query   query
	before  int // the cursor before a search
	message string

	page    []string // covers everything: help, or an explanation
	pageTop int
}

// New is the app on a report, at its first step.
func New(r *scalehist.ReplayReport) *Model {
	r = plaintext.Values(r)
	m := &Model{r: r, moments: newMoments(r), width: 80, height: 24, detailOf: [2]int{-1, 0}}
	for _, e := range reports.Entries(r) {
		m.steps = append(m.steps, newStep(r, e))
	}
	m.input = textinput.New()
	m.list()
	if len(m.shown) == 0 {
		m.all = true
		m.list()
	}
	return m
}

// list makes what is shown and keeps the step that is looked at, or goes to the one before it.
func (m *Model) list() {
	current := m.current()
	m.shown = m.shown[:0]
	m.cursor = 0
	for i := range m.steps {
		if !m.all && !m.steps[i].Acted() || !m.ofWhom(&m.steps[i]) {
			continue
		}
		if i <= current {
			m.cursor = len(m.shown)
		}
		m.shown = append(m.shown, i)
	}
}

// whose are the autoscalers whose steps can be shown alone, after all of them: the node autoscaler, and each controller.
func (m *Model) whose() []string {
	return append([]string{"all autoscalers", "nodes"}, m.r.Controllers...)
}

// ofWhom says whether a step is of the autoscaler that is shown.
func (m *Model) ofWhom(s *step) bool {
	switch m.only {
	case 0:
		return true
	case 1:
		return s.Node != nil
	}
	return s.Controller == m.whose()[m.only]
}

// current is the step that is looked at, -1 when there is none.
func (m *Model) current() int {
	if len(m.shown) == 0 {
		return -1
	}
	return m.shown[m.cursor]
}

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = max(1, msg.Width), max(1, msg.Height)
		m.input.SetWidth(max(1, m.width-12))
		return m, nil
	case tea.KeyPressMsg:
		if msg.String() == "ctrl+c" {
			return m, tea.Quit
		}
		m.message = ""
		switch {
		case m.prompt != promptNone:
			return m, m.promptKey(msg)
		case m.page != nil:
			m.pageKey(msg.String())
			return m, nil
		}
		return m, m.key(msg.String())
	case tea.PasteMsg:
		if m.prompt != promptNone {
			var cmd tea.Cmd
			m.input, cmd = m.input.Update(msg)
			m.typed()
			return m, cmd
		}
	}
	return m, nil
}

// move looks at the n-th step that is shown.
func (m *Model) move(n int) {
	if len(m.shown) == 0 {
		return
	}
	n = min(max(n, 0), len(m.shown)-1)
	if n != m.cursor {
		m.cursor, m.detailTop = n, 0
	}
}

// jump looks for the next step that is shown in a direction and that want says yes to; what names it when there is none.
func (m *Model) jump(direction int, what string, want func(n int) bool) {
	for i := m.cursor + direction; i >= 0 && i < len(m.shown); i += direction {
		if want(m.shown[i]) {
			m.move(i)
			return
		}
	}
	m.message = fmt.Sprintf("no %s %s", what, map[int]string{1: "after this", -1: "before this"}[direction])
}

// matches says whether the n-th step is of what was searched for.
func (m *Model) matches(n int) bool { return m.query.matches(&m.steps[n], m.r) }

// find goes to the first match from a step on, round the end; without any it also shows steps that did not act.
func (m *Model) find(from int) bool {
	for range 2 {
		for k := range m.shown {
			i := (from + k) % len(m.shown)
			if m.matches(m.shown[i]) {
				m.move(i)
				return true
			}
		}
		if m.all {
			return false
		}
		for i := range m.steps {
			if m.ofWhom(&m.steps[i]) && m.matches(i) {
				m.all = true
				m.list()
				break
			}
		}
		if !m.all {
			return false
		}
		from = m.cursor
	}
	return false
}

// found counts the matches among the steps that are shown, and the place of the one that is looked at, 0 for none.
func (m *Model) found() (place, of int) {
	for i, n := range m.shown {
		if m.matches(n) {
			of++
			if i == m.cursor {
				place = of
			}
		}
	}
	return place, of
}
