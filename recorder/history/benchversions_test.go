package history_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
)

// BenchmarkVersions reports what one more version takes in the file, of the kinds that say how workloads are made and scaled:
// 2,000 of each, in transactions of 100.
func BenchmarkVersions(b *testing.B) {
	deployment := func(i int) *appsv1.Deployment {
		d := workloads()[0].(*appsv1.Deployment)
		d.Spec.Replicas = new(int32(i % 20))
		return d
	}
	kinds := map[string]func(i int) scalehist.Object{
		"deployment scaled": func(i int) scalehist.Object { return deployment(i) },
		"deployment with a new template": func(i int) scalehist.Object {
			d := deployment(i)
			d.Spec.Template.Spec.Containers[0].Image = fmt.Sprint("registry.example.com/web:", i)
			return d
		},
		"HPA decided": func(i int) scalehist.Object {
			h := hpa(int32(i%20), time.Duration(i))
			h.Status.LastScaleTime = new(metav1.NewTime(at(time.Duration(i) * time.Minute)))
			return h
		},
		"VPA recommended": func(i int) scalehist.Object {
			return custom(b, fmt.Sprintf(`
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: web, namespace: shop, uid: vpa-1}
spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
status: {recommendation: {containerRecommendations: [{containerName: web, target: {cpu: 126m, memory: "%[1]d"}, uncappedTarget: {cpu: 126m, memory: "%[1]d"},
  lowerBound: {cpu: 25m, memory: "262144000"}, upperBound: {cpu: 1017m, memory: "1262144123"}}]}}`, 262144000+i))
		},
		"VPA's checkpoint": func(i int) scalehist.Object {
			var buckets []string
			for n := range 30 {
				buckets = append(buckets, fmt.Sprintf(`"%d": %d`, n, (n*i*7919)%10000))
			}
			histogram := fmt.Sprintf(`{referenceTimestamp: "2026-03-01T00:00:00Z", totalWeight: %d.5, bucketWeights: {%s}}`, i, strings.Join(buckets, ", "))
			return custom(b, fmt.Sprintf(`
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscalerCheckpoint
metadata: {name: web-web, namespace: shop, uid: vpac-1}
spec: {vpaObjectName: web, containerName: web}
status: {version: v3, cpuHistogram: %[1]s, memoryHistogram: %[1]s, totalSamplesCount: %[2]d}`, histogram, i))
		},
		"pod restarted": func(i int) scalehist.Object {
			c := up(int32(i), i)
			c.LastTerminationState.Terminated = killed(time.Duration(i)*time.Minute, time.Duration(i+1)*time.Minute)
			return pod("web-1", uid(1), bound("node"), running, status(c))
		},
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		version := kinds[name]
		b.Run(name, func(b *testing.B) {
			const versions = 2000
			for b.Loop() {
				size := func(n int) int64 {
					path := filepath.Join(b.TempDir(), fmt.Sprint(n, ".db"))
					w := create(b, path)
					var batch []history.Entry
					for i := range n {
						if batch = append(batch, change(time.Duration(i)*time.Minute, scalehist.OpUpdate, version(i))); len(batch) == 100 || i == n-1 {
							if err := w.Write(b.Context(), batch); err != nil {
								b.Fatal(err)
							}
							batch = batch[:0]
						}
					}
					if err := w.Close(); err != nil {
						b.Fatal(err)
					}
					info, err := os.Stat(path)
					if err != nil {
						b.Fatal(err)
					}
					return info.Size()
				}
				b.ReportMetric(float64(size(versions)-size(1))/(versions-1), "bytes/version")
			}
		})
	}
}
