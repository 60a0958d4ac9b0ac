package recommender

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// benchRequest has nodes of 20 groups in three zones, full of pods, and pods that wait, of so many sizes; every tenth workload
// spreads over zones.
func benchRequest(nodes, pending, sizes int) *Request {
	machines := []string{"4x16", "8x32", "8x64", "16x64", "16x32", "32x128", "2x8"}
	price := map[string]float64{"4x16": 0.19, "8x32": 0.38, "8x64": 0.5, "16x64": 0.77, "16x32": 0.68, "32x128": 1.54, "2x8": 0.1}
	var groups []NodeGroup
	for i := range 20 {
		groups = append(groups, testGroup(fmt.Sprintf("ng-%02d", i), machines[i%len(machines)], 0, 1000, nodes/20, inZone(fmt.Sprintf("z%d", i%3))))
	}
	r := request(groups)
	for i := range nodes {
		g := groups[i%20]
		name := fmt.Sprintf("%s-%d", g.Name, i/20)
		r.Objects.Nodes = append(r.Objects.Nodes, testNode(name, g.Name, g.MachineType, inZone(g.Zone)))
		cores := r.Objects.Nodes[i].Status.Allocatable.Cpu().Value()
		r.Objects.Pods = append(r.Objects.Pods, testPods(fmt.Sprintf("old-%d", i), 8, fmt.Sprintf("%dm", cores*1000/8-5), "500Mi", onNode(name))...)
	}
	for i := range pending {
		s := i % sizes
		var change []func(*corev1.Pod)
		if s%10 == 0 {
			change = append(change, spreadOver(corev1.LabelTopologyZone, 5))
		}
		p := testPods(fmt.Sprintf("new-%d", s), 1, fmt.Sprintf("%dm", 250+37*(s%50)), fmt.Sprintf("%dMi", 300+411*(s%13)), change...)[0]
		p.Name = fmt.Sprintf("new-%d-%d", s, i)
		p.UID = types.UID("pod/" + p.Name)
		r.Objects.Pods = append(r.Objects.Pods, p)
	}
	r.Prices = priced(price)
	r.Parallelism = 0
	return r
}

// BenchmarkRecommend is one recommendation for 1,000 nodes, 20 groups and 2,000 pending pods.
func BenchmarkRecommend(b *testing.B) {
	for _, strategy := range Strategies() {
		for _, sizes := range []int{40, 2000} {
			b.Run(fmt.Sprintf("%s/workloads=%d", strategy, sizes), func(b *testing.B) {
				r := benchRequest(1000, 2000, sizes)
				r.Strategy = strategy
				rec := New()
				b.ReportAllocs()
				for b.Loop() {
					got, err := rec.Recommend(b.Context(), r)
					if err != nil {
						b.Fatal(err)
					}
					if len(got.Unplaced) > 0 {
						b.Fatalf("%d pods are left: %+v", len(got.Unplaced), got.Unplaced[0])
					}
					b.ReportMetric(float64(len(got.Steps)), "steps")
					b.ReportMetric(100*got.Optimality.Gap, "%gap")
				}
			})
		}
	}
}
