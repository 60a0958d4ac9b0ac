package scenarios

import (
	"context"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/report"
)

var _ = Describe("The signs of an autoscaler in the virtual cluster", func() {
	It("status ConfigMap and events are there for tools that watch it, and change nothing", func(ctx SpecContext) {
		if controlPlane() != harness.EnvTest {
			Skip("tools watch through a client, and only a real API server has any")
		}
		var decided []scalehist.Event
		var at []time.Time
		r, err := Recording("stockout-fallback").open(ctx, onPlane(), ClusterAutoscaler(), harness.With(func(s *harness.Settings) { s.Signs = true }),
			harness.WithObserver(harness.Observer{Decided: func(_ context.Context, d scalehist.Decision) error {
				decided = append(decided, d.Events...)
				for range d.Events {
					at = append(at, d.At)
				}
				return nil
			}}))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() error { return r.Close() })
		watched, err := r.Replay(ctx, time.Minute) // the stock-out is over, the group still backed off
		Expect(err).NotTo(HaveOccurred())
		client, ok := r.Plane().Client()
		Expect(ok).To(BeTrue())

		status, err := client.CoreV1().ConfigMaps("kube-system").Get(ctx, "cluster-autoscaler-status", metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(status.Annotations).To(HaveKey("cluster-autoscaler.kubernetes.io/last-updated"))
		var said struct {
			AutoscalerStatus string
			NodeGroups       []struct {
				Name    string
				Health  struct{ CloudProviderTarget int }
				ScaleUp struct {
					Status      string
					BackoffInfo struct{ ErrorCode string }
				}
			}
		}
		Expect(yaml.Unmarshal([]byte(status.Data["status"]), &said)).To(Succeed())
		Expect(said.AutoscalerStatus).To(Equal("Running"))
		targets, codes := map[string]int{}, map[string]string{}
		for _, g := range said.NodeGroups {
			targets[g.Name] = g.Health.CloudProviderTarget
			if g.ScaleUp.Status == "Backoff" {
				codes[g.Name] = g.ScaleUp.BackoffInfo.ErrorCode
			}
		}
		final := map[string]int{}
		for _, g := range watched.NodeGroups {
			final[g.Name] = g.Final
		}
		Expect(targets).To(Equal(final))
		Expect(codes).To(Equal(map[string]string{"first": "RESOURCE_POOL_EXHAUSTED"}))

		list, err := client.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		Expect(err).NotTo(HaveOccurred())
		var seen, want []string
		for _, e := range list.Items {
			if e.Source.Component == "cluster-autoscaler" {
				object := e.InvolvedObject.Kind + "/" + e.InvolvedObject.Namespace + "/" + e.InvolvedObject.Name
				seen = append(seen, e.LastTimestamp.UTC().Format(time.RFC3339)+" "+e.Type+" "+e.Reason+" "+object+": "+e.Message)
			}
		}
		for i, e := range decided {
			kind := corev1.EventTypeNormal
			if e.Reason == "ScaleUpFailed" {
				kind = corev1.EventTypeWarning
			}
			want = append(want, at[i].UTC().Format(time.RFC3339)+" "+kind+" "+e.Reason+" "+e.Object+": "+e.Message)
		}
		Expect(seen).To(ConsistOf(want))
		Expect(seen).To(ContainElement(ContainSubstring("Warning ScaleUpFailed ConfigMap/kube-system/cluster-autoscaler-status: Failed adding")))

		alone, err := replay(ctx, time.Minute, Recording("stockout-fallback"), ClusterAutoscaler())
		Expect(err).NotTo(HaveOccurred())
		a, err := report.Canonical(alone)
		Expect(err).NotTo(HaveOccurred())
		b, err := report.Canonical(watched)
		Expect(err).NotTo(HaveOccurred())
		Expect(cmp.Diff(string(a), string(b))).To(BeEmpty())
	}, SpecTimeout(2*time.Minute))

	// The recording has the recorded autoscaler's own, which are an effect and not played.
	DescribeTable("are there if asked for, and not by default", func(ctx SpecContext, want []string, more ...harness.Option) {
		r, err := Recording("stockout-fallback").open(ctx, append(more, onPlane(), ClusterAutoscaler())...)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() error { return r.Close() })
		_, err = r.Replay(ctx, r.RecordDuration())
		Expect(err).NotTo(HaveOccurred())
		var got []string
		for _, c := range r.Plane().Cluster().ConfigMaps {
			got = append(got, c.Name)
		}
		Expect(got).To(Equal(want))
	},
		Entry("by default", nil, SpecTimeout(time.Minute)),
		Entry("with signs", []string{"cluster-autoscaler-status"}, harness.With(func(s *harness.Settings) { s.Signs = true }), SpecTimeout(time.Minute)),
	)
})
