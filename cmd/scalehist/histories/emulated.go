package histories

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/curveplot"
	"github.com/scalehist/scalehist/load/emulate"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// emulated is what workers measured.
type emulated struct {
	period  time.Duration
	periods int // most of a host
	samples []emulate.Sample
	of      map[string]int
}

// add keeps a sample that was measured.
func (e *emulated) add(s emulate.Sample) {
	if e.of == nil {
		e.of = map[string]int{}
	}
	e.of[s.Host]++
	e.periods = max(e.periods, e.of[s.Host])
	if s.Measured != nil {
		e.samples = append(e.samples, s)
	}
}

func (e *emulated) hosts() []string { return slices.Sorted(maps.Keys(e.of)) }

// span is from the first registration to the last measurement.
func (e *emulated) span() (from, to time.Time) {
	for i, s := range e.samples {
		if i == 0 || s.From.Before(from) {
			from = s.From
		}
		if s.To.After(to) {
			to = s.To
		}
	}
	return from.UTC(), to.UTC()
}

// The names in a history of an emulation.
const emulatedName, emulatedNode = "emulated", "emulated-0"

// lines are a history: workers as pods of one workload on one node, with usage.
func (e *emulated) lines(yield func(objectlog.Line) error) error {
	from, to := e.span()
	var lines []objectlog.Line
	add := func(at time.Time, o scalehist.Object) {
		lines = append(lines, objectlog.Line{At: at.UTC(), Op: scalehist.OpAdd, Object: o})
	}
	add(from, objectlog.NewRecording(emulatedName, objectlog.RecordingSpec{To: to, Origin: scalehist.OriginScripted}))
	meta := func(kind, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: emulatedName, Name: name, UID: types.UID(kind + "/" + name), CreationTimestamp: metav1.NewTime(from)}
	}
	room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000"), corev1.ResourceMemory: resource.MustParse("10Ti"), corev1.ResourcePods: resource.MustParse("10000")}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: emulatedNode, UID: emulatedNode, CreationTimestamp: metav1.NewTime(from), Labels: map[string]string{corev1.LabelHostname: emulatedNode}},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(from)}}}}
	add(from, node)
	labels := map[string]string{"app": emulatedName}
	container := []corev1.Container{{Name: "worker", Image: "scalehist"}}
	add(from, &appsv1.ReplicaSet{ObjectMeta: meta("ReplicaSet", emulatedName), Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(len(e.of))), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: container}}}})
	for _, name := range e.hosts() {
		p := &corev1.Pod{ObjectMeta: meta("Pod", name), Spec: corev1.PodSpec{NodeName: emulatedNode, Containers: container}, Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: new(metav1.NewTime(from))}}
		p.Labels = labels
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: emulatedName, UID: "ReplicaSet/" + emulatedName, Controller: new(true)}}
		for _, c := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReady} {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(from)})
		}
		add(from, p)
	}
	for _, s := range e.samples {
		add(s.To, objectlog.NewUsage(emulatedName, s.Host, objectlog.UsageSpec{Container: "worker", CPUMilli: s.Measured.CPUMilli, MemoryBytes: s.Measured.MemoryBytes}))
	}
	slices.SortStableFunc(lines, func(a, b objectlog.Line) int { return a.At.Compare(b.At) })
	for _, line := range lines {
		if err := yield(line); err != nil {
			return err
		}
	}
	return nil
}

// difference is how far two series are apart: means, and the mean of the absolute differences in proportion to the mean that was asked for.
type difference struct{ asked, measured, apart, n float64 }

func (d *difference) add(asked, measured float64) {
	d.asked, d.measured, d.apart, d.n = d.asked+asked, d.measured+measured, d.apart+math.Abs(measured-asked), d.n+1
}

func (d *difference) row(unit func(float64) string) []string {
	if d.asked == 0 {
		return []string{unit(0), unit(d.measured / d.n), "-"}
	}
	return []string{unit(d.asked / d.n), unit(d.measured / d.n), fmt.Sprintf("%.1f %%", d.apart/d.asked*100)}
}

// table says for each worker how far apart what was asked for and what was measured are.
func (e *emulated) table() console.Table {
	t := console.Table{Columns: []console.Column{{Name: "worker"}, {Name: "periods", Right: true}, {Name: "cpu asked", Right: true}, {Name: "measured", Right: true}, {Name: "apart", Right: true},
		{Name: "memory asked", Right: true}, {Name: "measured", Right: true}, {Name: "apart", Right: true}}}
	for _, name := range e.hosts() {
		var cpu, memory difference
		for _, s := range e.samples {
			if s.Host == name {
				cpu.add(float64(s.Asked.CPU), float64(s.Measured.CPUMilli))
				memory.add(float64(s.Asked.RAM), float64(s.Measured.MemoryBytes)/(1<<20))
			}
		}
		if cpu.n == 0 {
			continue
		}
		row := []string{name, fmt.Sprintf("%.0f", cpu.n)}
		row = append(row, cpu.row(func(v float64) string { return fmt.Sprintf("%.0fm", v) })...)
		t.Rows = append(t.Rows, append(row, memory.row(func(v float64) string { return fmt.Sprintf("%.0fMi", v) })...))
	}
	return t
}

// drawnHosts is how many workers have panels in a plot.
const drawnHosts = 4

// svg draws what was asked for and what was measured, of the first workers.
func (e *emulated) svg() string {
	from, to := e.span()
	c := curveplot.Chart{Title: "asked for and measured", From: from, To: to}
	for i, name := range e.hosts() {
		if i == drawnHosts {
			break
		}
		var asked, measured [2][]curveplot.Point
		for _, s := range e.samples {
			if s.Host != name {
				continue
			}
			for k, v := range [2][2]float64{{float64(s.Asked.CPU) / 1000, float64(s.Measured.CPUMilli) / 1000}, {float64(s.Asked.RAM) * (1 << 20), float64(s.Measured.MemoryBytes)}} {
				asked[k] = append(asked[k], curveplot.Point{At: s.From, Value: v[0]})
				measured[k] = append(measured[k], curveplot.Point{At: s.From, Value: v[1]})
			}
		}
		for k, title := range []string{"CPU, cores", "Memory"} {
			c.Panels = append(c.Panels, curveplot.Panel{Title: name + ": " + title, Bytes: k == 1, Lines: []curveplot.Line{
				{Name: "asked for", Class: "target", Points: asked[k]}, {Name: "measured", Class: "usage", Points: measured[k]}}})
		}
	}
	return c.SVG(true)
}
