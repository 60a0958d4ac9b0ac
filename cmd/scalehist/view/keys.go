package view

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	reports "github.com/scalehist/scalehist/report"
)

// help is the page of '?'.
var help = []string{
	"Keys",
	"",
	"  up, k / down, j     the step before, the next one",
	"  PgUp, b / PgDn, f   a page of steps",
	"  Home, g / End, G    the first step, the last one",
	"  u / U               the next scale-up, the one before",
	"  d / D               the next scale-down, the one before",
	"  a                   steps that acted only, or every decision of the report",
	"  Tab, Enter          scroll the reasons instead of the steps, and back",
	"  /                   search; pod:, group:, node: and reason: look among those",
	"  n / N               the next match, the one before",
	"  x                   explain a pod, node or node group: its whole story",
	"  v                   the verdict: what differs from the recording",
	"  Esc                 close this, end the search",
	"  q, Ctrl-C           quit",
	"",
	"The line under the title is the cluster at that step: pods that waited, and of each node group the nodes it had,",
	"those on their way (+2) or going (-1), and its max size: workers 3+2/10.",
	"",
	"The list has the loops that mattered: those that acted, or whose reasons changed. The others decided as the one before.",
}

// help is the page of '?' for this report.
func (m *Model) help() []string {
	if len(m.r.Controllers) == 0 {
		return help
	}
	return append(slices.Clone(help), "",
		"With controllers of workloads:", "",
		"  c                   decisions of all autoscalers, of nodes only, of each controller only",
		"  /                   workload: looks among workloads and their controllers",
		"", "After the node groups come the replicas that are ready, and those that are wanted and not ready yet: shop/web 19+3.")
}

// nextAutoscaler shows the decisions of the next autoscaler alone, and those of all after the last.
func (m *Model) nextAutoscaler() {
	if len(m.r.Controllers) == 0 {
		m.message = "there is one autoscaler only: no controllers of workloads ran"
		return
	}
	m.only = (m.only + 1) % len(m.whose())
	m.list()
	m.detailTop = 0
	m.message = "decisions of " + m.whose()[m.only]
	if len(m.shown) == 0 {
		m.message = fmt.Sprintf("no step of %s acted: a shows every decision, c the next autoscaler", m.whose()[m.only])
	}
}

// key answers a key on the steps. It returns what the program does about it.
func (m *Model) key(k string) tea.Cmd {
	page := max(1, m.layout().list-1)
	if m.inDetail {
		if m.detailKey(k) {
			return nil
		}
	}
	switch k {
	case "q":
		return tea.Quit
	case "up", "k":
		m.move(m.cursor - 1)
	case "down", "j":
		m.move(m.cursor + 1)
	case "pgup", "b":
		m.move(m.cursor - page)
	case "pgdown", "f", "space":
		m.move(m.cursor + page)
	case "home", "g":
		m.move(0)
	case "end", "G":
		m.move(len(m.shown) - 1)
	case "u":
		m.jump(1, "scale-up", m.isUp)
	case "U":
		m.jump(-1, "scale-up", m.isUp)
	case "d":
		m.jump(1, "scale-down", m.isDown)
	case "D":
		m.jump(-1, "scale-down", m.isDown)
	case "n":
		m.again(1)
	case "N":
		m.again(-1)
	case "a":
		m.all = !m.all
		m.list()
		if len(m.shown) == 0 {
			m.message = "no step acted: a shows every decision"
		}
	case "c":
		m.nextAutoscaler()
	case "tab", "enter":
		m.inDetail = !m.inDetail
	case "esc":
		m.query, m.inDetail = query{}, false
	case "/":
		return m.ask(promptSearch, "/")
	case "x":
		return m.ask(promptExplain, "explain: ")
	case "v":
		m.verdict()
	case "?":
		m.page, m.pageTop = m.help(), 0
	}
	return nil
}

func (m *Model) isUp(n int) bool   { return m.steps[n].Up }
func (m *Model) isDown(n int) bool { return m.steps[n].Down }

// again goes to the next match of the search, or the one before.
func (m *Model) again(direction int) {
	if m.query.empty() {
		m.message = "nothing was searched for: / searches"
		return
	}
	m.jump(direction, "match", m.matches)
}

// detailKey scrolls the reasons; false when the key is not for that.
func (m *Model) detailKey(k string) bool {
	if !scroll(&m.detailTop, k, m.layout().detail) {
		return false
	}
	m.detailTop = min(m.detailTop, max(0, len(m.detailLines())-m.layout().detail))
	return true
}

// scroll moves the top line of a text of which height lines are seen. The caller bounds it.
func scroll(top *int, k string, height int) bool {
	page := max(1, height-1)
	switch k {
	case "up", "k":
		*top--
	case "down", "j":
		*top++
	case "pgup", "b":
		*top -= page
	case "pgdown", "f", "space":
		*top += page
	case "home", "g":
		*top = 0
	case "end", "G":
		*top = 1 << 30
	default:
		return false
	}
	*top = max(0, *top)
	return true
}

// verdict shows how the replay compares with what was recorded.
func (m *Model) verdict() {
	text := reports.VerdictPage(m.r)
	if text == "" {
		m.message = "nothing was recorded to compare with"
		return
	}
	m.page, m.pageTop = strings.Split(strings.TrimSuffix(text, "\n"), "\n"), 0
}

// pageKey answers a key on a page that covers everything.
func (m *Model) pageKey(k string) {
	if scroll(&m.pageTop, k, m.height-1) {
		m.pageTop = min(m.pageTop, max(0, len(m.pageLines())-(m.height-1)))
		return
	}
	m.page = nil
}

// ask opens the line of input.
func (m *Model) ask(p prompt, words string) tea.Cmd {
	m.prompt, m.before = p, m.cursor
	m.input = textinput.New()
	m.input.Prompt = words
	m.input.SetVirtualCursor(true)
	m.input.SetWidth(max(1, m.width-12))
	return m.input.Focus()
}

// promptKey answers a key on the line of input.
func (m *Model) promptKey(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "esc":
		if m.prompt == promptSearch {
			m.query = query{}
			m.move(min(m.before, len(m.shown)-1))
		}
		m.prompt = promptNone
		return nil
	case "enter":
		p, text := m.prompt, strings.TrimSpace(m.input.Value())
		m.prompt = promptNone
		if p == promptExplain && text != "" {
			m.explain(text)
		}
		if p == promptSearch && !m.query.empty() {
			if place, _ := m.found(); place == 0 {
				m.message = fmt.Sprintf("nothing matches %q", text)
			}
		}
		return nil
	}
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(msg)
	m.typed()
	return cmd
}

// typed searches while somebody types.
func (m *Model) typed() {
	if m.prompt != promptSearch {
		return
	}
	m.query = parseQuery(m.input.Value())
	if !m.query.empty() {
		m.find(min(m.before, max(0, len(m.shown)-1)))
	}
}

// explain shows the story of a node group, a node or a pod, whichever has that name, as 'scalehist explain' prints it.
func (m *Model) explain(name string) {
	var (
		e   *reports.Explanation
		err error
	)
	switch {
	case slices.Contains(reports.NodeGroupNames(m.r), name):
		e, err = reports.ExplainNodeGroup(m.r, name, nil)
	case slices.Contains(reports.NodeNames(m.r), name):
		e, err = reports.ExplainNode(m.r, name)
	default:
		what := fmt.Sprintf("%q is no node group and no node", name)
		if len(m.r.Workloads) > 0 {
			if e, err = reports.ExplainWorkload(m.r, name, nil); err == nil {
				break
			}
			what = fmt.Sprintf("%q is no node group, no node and no workload", name)
		}
		if e, err = reports.ExplainPod(m.r, name); err != nil {
			err = fmt.Errorf("%s; %w", what, err)
		}
	}
	if err != nil {
		m.message = err.Error()
		return
	}
	m.page, m.pageTop = strings.Split(strings.TrimRight(e.String(), "\n"), "\n"), 0
}
