package scenario

import (
	"bytes"
	"fmt"
	"go/format"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"
	"unicode"

	"github.com/scalehist/scalehist"
)

// Go is the scenario as the file of a Go test: it compiles by itself, in any package, and runs with go test. pkg is the package
// clause. Prices are refused: a Go spec reads its table itself.
func (s *Scenario) Go(r *scalehist.ReplayReport, pkg string) (string, error) {
	if s.Optimal {
		return "", fmt.Errorf("the Go form does not judge scale-ups: call engines.JudgeScaleUps in it yourself, or take the YAML form")
	}
	if s.Prices != nil {
		return "", fmt.Errorf("the Go form has no prices: add harness.WithPrices to it yourself, or take the YAML form")
	}
	if s.Vertical != "" || s.Horizontal != "" || s.Load != "" {
		return "", fmt.Errorf("the Go form has no controllers: add the options of engines.Controls to it yourself, or take the YAML form")
	}
	o := observe(r)
	data := map[string]any{
		"Package": pkg, "Test": goName(s.Name), "Name": s.Name, "History": s.History, "PerEvent": o.perEvent, "Recording": o.recording, "Time": false,
		"Up": goSizes("ScaleUps", o.up), "Down": goSizes("ScaleDowns", o.down), "Slug": s.Slug(),
		"Settings": s.goSettings(r), "Autoscaler": s.Autoscaler, "MaxWait": o.maxWait.String(), "Peak": o.peak,
	}
	var pods, faults []string
	for _, p := range o.pods {
		pods = append(pods, strconv.Quote(p))
	}
	data["Pods"], data["PodCount"] = strings.Join(pods, ", "), 0
	if len(pods) > mostNames {
		data["PodCount"] = len(pods)
	}
	if o.first != nil {
		at := o.firstAt()
		data["Group"], data["Nodes"], data["From"], data["To"] = o.grown.NodeGroup, o.grownBy(), goDuration(at.From), goDuration(at.To)
	}
	all, err := s.AllFaults(s.Path)
	if err != nil {
		return "", fmt.Errorf("faultFile: %w", err)
	}
	for _, f := range all {
		faults = append(faults, f.String())
	}
	data["Faults"] = faults
	data["Time"] = strings.Contains(fmt.Sprint(data), "time.")
	var b bytes.Buffer
	if err := goSpec.Execute(&b, data); err != nil {
		return "", fmt.Errorf("write the spec of %s: %w", s.Name, err)
	}
	out, err := format.Source(b.Bytes())
	if err != nil {
		return "", fmt.Errorf("write the spec of %s: %w", s.Name, err)
	}
	return string(out), nil
}

var goSpec = template.Must(template.New("spec").Funcs(template.FuncMap{"quote": strconv.Quote}).Parse(`package {{.Package}}

import (
	"path/filepath"
	"testing"
{{- if .Time}}
	"time"
{{- end}}

	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/artifacts"
	. "github.com/scalehist/scalehist/harness/expect"
{{- if .Faults}}
	"github.com/scalehist/scalehist/harness/trace"
{{- end}}
)

// What a replay showed when this was written. Change what should be different, and take out what you do not care about.
func Test{{.Test}}(t *testing.T) {
	g := NewWithT(t)
	report := replay{{.Test}}(t,
		// Other settings change the question: flags, bounds, faults, a window; and so does WithPrices.
		harness.With(func(s *harness.Settings) {
			s.Name = {{quote .Name}}{{range .Settings}}
			{{.}}{{end}}
		}),
	)

	// Nodes each group grew by. A group that is not named must not have moved; HaveChanged takes ranges.
	g.Expect(report).To(HaveScaledUp({{.Up}}))
{{- if not .PerEvent}}
	g.Expect(report).To(HaveScaledDown({{.Down}}))
	// Pods without a node at the end.
	{{if .PodCount}}g.Expect(report).To(LeaveUnschedulableCount(Exactly({{.PodCount}}))){{else}}g.Expect(report).To(LeaveUnschedulable({{.Pods}})){{end}}
{{- end}}
{{- if eq .Recording "agrees"}}
	g.Expect(report).To(AgreeWithRecording())
{{- else if eq .Recording "differs"}}
	g.Expect(report).NotTo(AgreeWithRecording())
{{- end}}
{{- if .Group}}
	// What the autoscaler decided first, and when.
	nodes := Exactly({{.Nodes}})
	g.Expect(report).To(Decide(Decided{Which: FirstScaleUp, Timed: true, From: {{.From}}, To: {{.To}}, NodeGroup: {{quote .Group}}, Nodes: &nodes}))
{{- end}}
{{- if not .PerEvent}}
	// Limits of metrics: what the replay needed.
	g.Expect(report).To(KeepMetric("pending.max", "<= {{.MaxWait}}"))
	g.Expect(report).To(KeepMetric("nodes.peak", "<= {{.Peak}}"))
{{- end}}
}

// replay{{.Test}} replays the history on a virtual cluster of its own, and leaves the report under gen/ beside this file.
func replay{{.Test}}(t *testing.T, opts ...harness.Option) *scalehist.ReplayReport {
	t.Helper()
	const recording = {{quote .History}}
	engine, err := engines.Named({{quote .Autoscaler}})
	if err != nil {
		t.Fatal(err)
	}
	opts = append([]harness.Option{harness.WithAutoscaler(engine), harness.OnControlPlane(harness.Memory)}, opts...)
{{- range .Faults}}
	opts = append(opts, fault{{$.Test}}(t, {{quote .}}))
{{- end}}
	report, err := harness.Play(t.Context(), recording, nil, opts...)
	if err != nil {
		t.Fatal(err)
	}
	report.Run.Artifacts = filepath.Join("gen", {{quote .Slug}})
	report.Run.Rerun = "go test -run '^" + t.Name() + "$'"
	if err := artifacts.Save(t.Context(), report.Run.Artifacts, recording, report); err != nil {
		t.Fatal(err)
	}
	return report
}
{{- if .Faults}}

// fault{{.Test}} is a fault as the command line takes it.
func fault{{.Test}}(t *testing.T, text string) harness.Option {
	t.Helper()
	fault, err := trace.ParseFault(text)
	if err != nil {
		t.Fatal(err)
	}
	return harness.WithFaults(fault)
}
{{- end}}
`))

// goSettings are the settings that differ, as statements that change them.
func (s *Scenario) goSettings(r *scalehist.ReplayReport) []string {
	var out []string
	add := func(given bool, format string, args ...any) {
		if given {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	from, to := s.Window.From.IsSet(), s.Window.To.IsSet() && s.For == 0
	if from || to {
		bounds := [2]string{"time.Time{}", "time.Time{}"}
		if from {
			bounds[0] = goTime(r.StartTime)
		}
		if to {
			bounds[1] = goTime(r.EndTime)
		}
		add(true, "s.Window = harness.Between(%s, %s)", bounds[0], bounds[1])
	}
	add(s.For != 0, "s.For = %s", goDuration(s.For))
	add(s.perEvent(), "s.Playback = string(scalehist.PlaybackPerEvent)")
	add(len(s.Flags) > 0, "s.Flags = []string{%s}", quotedList(s.Flags))
	add(s.NoScaleDown, "s.NoScaleDown = true")
	add(s.Seed != 0, "s.Seed = %d", s.Seed)
	add(s.Ties != "", "s.Ties = %q", s.Ties)
	add(s.Scheduler != "", "s.Scheduler = %q", s.Scheduler)
	add(s.BatchInterval != 0, "s.BatchInterval = %s", goDuration(s.BatchInterval))
	for _, d := range []struct {
		name  string
		value *time.Duration
	}{{"ProvisionDelay", s.ProvisionDelay}, {"DeletionDelay", s.DeletionDelay}, {"Termination", s.Termination}} {
		if d.value != nil {
			add(true, "s.%s = new(time.Duration(%s))", d.name, goDuration(*d.value))
		}
	}
	add(s.GPULabel != "", "s.GPULabel = %q", s.GPULabel)
	add(s.Signs, "s.Signs = true")
	add(s.SkipUnsupported, "s.SkipUnsupported = true")
	add(s.FullSnapshots, "s.FullSnapshots = true")
	add(s.RecordedFaults != nil, "s.RecordedFaults = new(%t)", value(s.RecordedFaults))
	for _, name := range slices.Sorted(maps.Keys(s.NodeGroups)) {
		g := s.NodeGroups[name]
		add(g.MinSize != nil, "s.SetBounds(%q, %d, %d)", name, value(g.MinSize), value(g.MaxSize))
		add(g.ProvisionDelay != nil, "s.SetProvisionDelay(%q, %s)", name, goDuration(value(g.ProvisionDelay)))
	}
	return out
}

func quotedList(texts []string) string {
	quoted := make([]string, 0, len(texts))
	for _, t := range texts {
		quoted = append(quoted, strconv.Quote(t))
	}
	return strings.Join(quoted, ", ")
}

func goSizes(kind string, sizes map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		parts = append(parts, fmt.Sprintf("%q: %d", name, sizes[name]))
	}
	return kind + "{" + strings.Join(parts, ", ") + "}"
}

// goDuration is a duration as Go source.
func goDuration(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "time.Hour"}, {time.Minute, "time.Minute"}, {time.Second, "time.Second"}, {time.Millisecond, "time.Millisecond"}} {
		if d != 0 && d%unit.of == 0 {
			return fmt.Sprintf("%d*%s", d/unit.of, unit.name)
		}
	}
	if d == 0 {
		return "0"
	}
	return fmt.Sprintf("time.Duration(%d)", d)
}

// goTime is an instant as Go source.
func goTime(t time.Time) string {
	t = t.UTC()
	return fmt.Sprintf("time.Date(%d, %d, %d, %d, %d, %d, %d, time.UTC)", t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond())
}

// goName makes a name part of a Go identifier: "from-zero" is FromZero.
func goName(name string) string {
	var b strings.Builder
	up := true
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			up = true
			continue
		}
		if up {
			r = unicode.ToUpper(r)
		}
		b.WriteRune(r)
		up = false
	}
	if b.Len() == 0 {
		return "Scenario"
	}
	return b.String()
}
