package expect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
)

// Replicas are what is wanted of a workload's replicas. Nil fields are not looked at.
type Replicas struct {
	// Final are wanted at the end, Peak at most at any instant.
	Final, Peak *Count
	// ScaledUp and ScaledDown are the sums of the controller's steps.
	ScaledUp, ScaledDown *Count
	// Ready are ready at the end.
	Ready *Count
	// Controller sets them: "hpa".
	Controller string
}

// HaveReplicas succeeds when each workload that is named has the replicas wanted. A workload is "Deployment/shop/web", or "shop/web" and "web"
// where one only is called that.
func HaveReplicas(want map[string]Replicas) Matcher { return &replicasMatcher{want: want} }

type replicasMatcher struct {
	want   map[string]Replicas
	report *scalehist.ReplayReport
	table  string
	// wrong are the workloads that have other replicas.
	wrong []scalehist.WorkloadRef
}

func (m *replicasMatcher) Match(actual any) (bool, error) {
	r, err := asReport(actual)
	if err != nil {
		return false, err
	}
	m.report, m.wrong = r, nil
	t := report.NewTable()
	t.AppendHeader([]any{"", "workload", "replicas", "got", "want", "delta"})
	for _, name := range slices.Sorted(maps.Keys(m.want)) {
		w, err := report.FindWorkload(r, name)
		if err != nil {
			return false, err
		}
		want := m.want[name]
		length := r.EndTime.Sub(r.StartTime)
		row := func(what string, got int32, want *Count) {
			if want == nil {
				return
			}
			sign, delta := " ", "="
			if near := want.nearest(int(got)); near != int(got) {
				sign, delta = "✗", fmt.Sprintf("%+d", int(got)-near)
				m.wrong = append(m.wrong, w.WorkloadRef)
			}
			t.AppendRow([]any{sign, w.String(), what, got, want, delta})
		}
		row("final", w.Final, want.Final)
		row("peak", w.Peak, want.Peak)
		row("scaled up", w.ScaledUp, want.ScaledUp)
		row("scaled down", w.ScaledDown, want.ScaledDown)
		row("ready at the end", report.ReplicasAt(w, length).Ready, want.Ready)
		if want.Controller != "" {
			sign := " "
			if w.Controller != want.Controller {
				sign = "✗"
				m.wrong = append(m.wrong, w.WorkloadRef)
			}
			t.AppendRow([]any{sign, w.String(), "set by", orNobody(w.Controller), want.Controller, ""})
		}
	}
	m.table = report.Indent(t.Render(), "  ")
	return len(m.wrong) == 0, nil
}

func orNobody(controller string) string {
	if controller == "" {
		return "nobody"
	}
	return controller
}

func (m *replicasMatcher) FailureMessage(any) string {
	lines := []string{fmt.Sprintf("scenario %q: replicas differ", m.report.Scenario), m.table}
	moment := ""
	if e, ok := m.last(); ok {
		moment = e.Anchor(m.report)
		lines = append(lines, "  last decision about it: "+strings.ReplaceAll(e.Explain(m.report), "\n", "\n  "))
	}
	return joinNonEmpty(append(lines, report.WhereAt(m.report, moment)))
}

// last is the last decision that changed a workload that has other replicas.
func (m *replicasMatcher) last() (report.Entry, bool) {
	for _, e := range slices.Backward(report.Entries(m.report)) {
		if e.Workload != nil && e.Acted() && slices.Contains(m.wrong, *e.Workload) {
			return e, true
		}
	}
	return report.Entry{}, false
}

func (m *replicasMatcher) NegatedFailureMessage(any) string {
	return joinNonEmpty([]string{fmt.Sprintf("scenario %q: replicas are as they should not be", m.report.Scenario), m.table, report.Where(m.report)})
}
