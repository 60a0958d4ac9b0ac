package engines

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/recommender/horizontal/hpa"
	"github.com/scalehist/scalehist/recommender/vertical/vpa"
)

// BenchmarkControlledDay is a day of 200 nodes and 200 services of four to twelve replicas, whose load has two peaks: as recorded, with an autoscaler of
// replicas for each, and with one of requests as well.
func BenchmarkControlledDay(b *testing.B) {
	const services = 200
	script := workload.Script{
		Name: "controlled-day", Duration: 24 * time.Hour,
		Groups: []workload.Group{{Name: "std", Machine: workload.Machine{Type: "std-4", CPU: "4", Memory: "16Gi"}, Zone: "z1", Min: 1, Max: 600, Nodes: 200, Delay: time.Minute}},
	}
	var series []load.Series
	var horizontal, vertical []scalehist.Object
	for i := range services {
		name := fmt.Sprintf("svc-%d", i)
		script.Standing = append(script.Standing, workload.Standing{Node: fmt.Sprintf("std-%d", i), Pods: workload.Pods{Workload: name, Count: 4, CPU: "500m", Memory: "512Mi"}})
		ref := scalehist.WorkloadRef{Kind: "ReplicaSet", Namespace: "default", Name: name}
		cpu := load.Series{Workload: ref, Metric: load.CPU, Sharing: load.Divided}
		for at := time.Duration(0); at < script.Duration; at += 5 * time.Minute {
			peak := time.Duration(i) * time.Minute
			into := (at + peak) % (12 * time.Hour)
			cpu.Points = append(cpu.Points, load.Point{At: workload.Epoch.Add(at), Value: 0.5 + 3*(1-max(0, 1-into.Hours()/3))*max(0, 1-into.Hours()/9)})
		}
		series = append(series, cpu, load.Series{Workload: ref, Metric: load.Memory, Sharing: load.Each, Points: []load.Point{{At: workload.Epoch, Value: 300 << 20}}})
		objects, err := ParseObjects([]byte(fmt.Sprintf(`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: %[1]s}, spec: {
			scaleTargetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: %[1]s}, minReplicas: 4, maxReplicas: 12,
			metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]}}
---
{apiVersion: autoscaling.k8s.io/v1, kind: VerticalPodAutoscaler, metadata: {name: %[1]s}, spec: {targetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: %[1]s},
	updatePolicy: {updateMode: Recreate}, resourcePolicy: {containerPolicies: [{containerName: "*", controlledResources: [memory]}]}}}`, name)))
		if err != nil {
			b.Fatal(err)
		}
		horizontal, vertical = append(horizontal, objects[0]), append(vertical, objects[1])
	}
	for _, c := range []struct {
		name string
		opts []harness.Option
	}{
		{"recorded", nil},
		{"hpa", []harness.Option{harness.WithController(HPA(hpa.Defaults())), harness.WithObjects(horizontal...)}},
		{"vpa+hpa", []harness.Option{harness.WithController(VPA(vpa.DefaultFlags())), harness.WithController(HPA(hpa.Defaults())), harness.WithObjects(append(vertical, horizontal...)...)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				in, err := script.Input()
				if err != nil {
					b.Fatal(err)
				}
				r, err := harness.NewInputReplayer(b.Context(), in, append([]harness.Option{
					harness.WithAutoscaler(ClusterAutoscaler()), harness.OnControlPlane(harness.Memory), harness.WithLoad(load.Given(series...)),
				}, c.opts...)...)
				if err != nil {
					b.Fatal(err)
				}
				report, err := r.Replay(b.Context(), script.Duration)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(report.WorkloadDecisions)), "decisions")
				if err := r.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFullDay is the fixture full-day as recorded, and with the autoscalers of the examples on its service: replicas by CPU, requests by memory.
func BenchmarkFullDay(b *testing.B) {
	read := func(path string, into func([]byte)) {
		data, err := os.ReadFile(filepath.Join("..", "examples", path))
		if err != nil {
			b.Fatal(err)
		}
		into(data)
	}
	var objects []scalehist.Object
	for _, path := range []string{"vertical/web.yaml", "horizontal/web.yaml"} {
		read(path, func(data []byte) {
			more, err := ParseObjects(data)
			if err != nil {
				b.Fatal(err)
			}
			if v, ok := more[0].(*vpav1.VerticalPodAutoscaler); ok {
				v.Spec.ResourcePolicy = &vpav1.PodResourcePolicy{ContainerPolicies: []vpav1.ContainerResourcePolicy{{
					ContainerName: vpav1.DefaultContainerResourcePolicy, ControlledResources: &[]corev1.ResourceName{corev1.ResourceMemory},
				}}}
			}
			objects = append(objects, more...)
		})
	}
	var source load.Source
	read("vertical/load.yaml", func(data []byte) {
		var err error
		if source, err = load.Parse(data); err != nil {
			b.Fatal(err)
		}
	})
	for _, c := range []struct {
		name string
		opts []harness.Option
	}{
		{"recorded", nil},
		{"vpa+hpa", []harness.Option{harness.WithController(VPA(vpa.DefaultFlags())), harness.WithController(HPA(hpa.Defaults())), harness.WithObjects(objects...), harness.WithLoad(source)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				r, err := harness.NewReplayer(b.Context(), filepath.Join("..", "fixtures", "full-day", "recording.db"),
					append([]harness.Option{harness.WithAutoscaler(ClusterAutoscaler()), harness.OnControlPlane(harness.Memory)}, c.opts...)...)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := r.Replay(b.Context(), 24*time.Hour); err != nil {
					b.Fatal(err)
				}
				if err := r.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
