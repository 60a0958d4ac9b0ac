package expect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
)

// Replicas are what is wanted of a workload: its replicas, what they ask for, and what became of them for it. Nil fields are not looked at.
type Replicas struct {
	// Final are wanted at the end, Peak at most at any instant.
	Final, Peak *Count
	// ScaledUp and ScaledDown are the sums of the controller's steps.
	ScaledUp, ScaledDown *Count
	// Ready are ready at the end.
	Ready *Count
	// Controller sets them: "hpa".
	Controller string
	// SizedBy sets the requests of its pods: "vpa".
	SizedBy string
	// Requests are those at the end, PeakRequests at most at any instant.
	Requests, PeakRequests Requests
	// Slack limits the share of what was asked for and not used, by resource: "<= 30%".
	Slack map[corev1.ResourceName]string
	// Evicted and Resized pods had other requests than they should; OOMKills are containers that ran out of memory.
	Evicted, Resized, OOMKills *Count
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
	t.AppendHeader([]any{"", "workload", m.what(), "got", "want", "delta"})
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
		row("evicted", w.Evicted, want.Evicted)
		row("resized", w.Resized, want.Resized)
		row("out of memory", int32(len(w.OOMKills)), want.OOMKills)
		text := func(what, got, want string, ok bool) {
			sign := " "
			if !ok {
				sign = "✗"
				m.wrong = append(m.wrong, w.WorkloadRef)
			}
			t.AppendRow([]any{sign, w.String(), what, got, want, ""})
		}
		if want.Controller != "" {
			text("set by", orNobody(w.Controller), want.Controller, w.Controller == want.Controller)
		}
		if want.SizedBy != "" {
			text("requests set by", orNobody(w.SizedBy), want.SizedBy, w.SizedBy == want.SizedBy)
		}
		if err := requestRows(w, want, text); err != nil {
			return false, fmt.Errorf("scenario %q: %w", r.Scenario, err)
		}
	}
	m.table = report.Indent(t.Render(), "  ")
	return len(m.wrong) == 0, nil
}

// what is looked at: "replicas", or "replicas and requests".
func (m *replicasMatcher) what() string {
	for _, w := range m.want {
		if w.SizedBy != "" || w.Requests != nil || w.PeakRequests != nil || w.Slack != nil || w.Evicted != nil || w.Resized != nil || w.OOMKills != nil {
			return "replicas and requests"
		}
	}
	return "replicas"
}

func orNobody(controller string) string {
	if controller == "" {
		return "nobody"
	}
	return controller
}

func (m *replicasMatcher) FailureMessage(any) string {
	lines := []string{fmt.Sprintf("scenario %q: %s differ", m.report.Scenario, m.what()), m.table}
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
	return joinNonEmpty([]string{fmt.Sprintf("scenario %q: %s are as they should not be", m.report.Scenario, m.what()), m.table, report.Where(m.report)})
}
