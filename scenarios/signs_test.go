package scenarios

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
)

// withSigns writes the status and the events of the autoscaler into the virtual cluster.
var withSigns = harness.With(func(s *harness.Settings) { s.Signs = true })

var _ = Describe("The signs of an autoscaler in the virtual cluster", func() {
	It("status ConfigMap and events are there for tools that watch it, and change nothing", func(ctx SpecContext) {
		if controlPlane() != harness.EnvTest {
			Skip("tools watch through a client, and only a real API server has any")
		}
		report, client, decided := watched(ctx, "stockout-fallback", time.Minute) // the stock-out is over, the group still backed off

		said := statusIn(ctx, client)
		Expect(said.AutoscalerStatus).To(Equal("Running"))
		Expect(said.targets()).To(Equal(finalSizes(report)))
		Expect(said.backedOff()).To(Equal(map[string]string{"first": "RESOURCE_POOL_EXHAUSTED"}))
		seen := eventsIn(ctx, client)
		Expect(seen).To(ConsistOf(decided))
		Expect(seen).To(ContainElement(ContainSubstring("Warning ScaleUpFailed ConfigMap/kube-system/cluster-autoscaler-status: Failed adding")))
		alone, err := replay(ctx, time.Minute, Recording("stockout-fallback"), ClusterAutoscaler())
		Expect(err).NotTo(HaveOccurred())
		Expect(sameReport("alone", alone, "watched", report)).To(Succeed())
	}, SpecTimeout(2*time.Minute))

	// The recording has the recorded autoscaler's own, which are an effect and not played.
	DescribeTable("are there if asked for, and not by default", func(ctx SpecContext, want []string, more ...harness.Option) {
		r, err := Recording("stockout-fallback").open(ctx, append(more, onPlane(), ClusterAutoscaler())...)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() error { return r.Close() })
		_, err = r.Replay(ctx, r.RecordDuration())
		Expect(err).NotTo(HaveOccurred())
		var got []string
		for _, c := range r.Plane().Objects().ConfigMaps {
			got = append(got, c.Name)
		}
		Expect(got).To(Equal(want))
	},
		Entry("by default", nil, SpecTimeout(time.Minute)),
		Entry("with signs", []string{"cluster-autoscaler-status"}, withSigns, SpecTimeout(time.Minute)),
	)
})

// watched replays a stretch of a recording with signs. It returns a client of the cluster as it is then, and the events that were decided, as eventsIn has them.
func watched(ctx SpecContext, name string, length time.Duration) (*scalehist.ReplayReport, kubernetes.Interface, []string) {
	GinkgoHelper()
	var decided []string
	observer := harness.Observer{Decided: func(_ context.Context, d scalehist.Decision) error {
		for _, e := range d.Events {
			kind := corev1.EventTypeNormal
			if e.Reason == "ScaleUpFailed" {
				kind = corev1.EventTypeWarning
			}
			decided = append(decided, eventLine(d.At, kind, e.Reason, e.Object, e.Message))
		}
		return nil
	}}
	r, err := Recording(name).open(ctx, onPlane(), ClusterAutoscaler(), withSigns, harness.WithObserver(observer))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error { return r.Close() })
	report, err := r.Replay(ctx, length)
	Expect(err).NotTo(HaveOccurred())
	client, ok := r.Plane().Client()
	Expect(ok).To(BeTrue())
	return report, client, decided
}

func eventLine(at time.Time, kind, reason, object, message string) string {
	return at.UTC().Format(time.RFC3339) + " " + kind + " " + reason + " " + object + ": " + message
}

// eventsIn are the events of the cluster autoscaler that a cluster has.
func eventsIn(ctx SpecContext, client kubernetes.Interface) []string {
	GinkgoHelper()
	list, err := client.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	var seen []string
	for _, e := range list.Items {
		if e.Source.Component == "cluster-autoscaler" {
			object := e.InvolvedObject.Kind + "/" + e.InvolvedObject.Namespace + "/" + e.InvolvedObject.Name
			seen = append(seen, eventLine(e.LastTimestamp.Time, e.Type, e.Reason, object, e.Message))
		}
	}
	return seen
}

// autoscalerStatus is what tools read in the status of the cluster autoscaler.
type autoscalerStatus struct {
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

// statusIn is the status of the cluster autoscaler that a cluster has.
func statusIn(ctx SpecContext, client kubernetes.Interface) autoscalerStatus {
	GinkgoHelper()
	status, err := client.CoreV1().ConfigMaps("kube-system").Get(ctx, "cluster-autoscaler-status", metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	Expect(status.Annotations).To(HaveKey("cluster-autoscaler.kubernetes.io/last-updated"))
	var said autoscalerStatus
	Expect(yaml.Unmarshal([]byte(status.Data["status"]), &said)).To(Succeed())
	return said
}

// targets are the target sizes by node group.
func (s autoscalerStatus) targets() map[string]int {
	targets := map[string]int{}
	for _, g := range s.NodeGroups {
		targets[g.Name] = g.Health.CloudProviderTarget
	}
	return targets
}

// backedOff are the error codes of node groups that are backed off.
func (s autoscalerStatus) backedOff() map[string]string {
	codes := map[string]string{}
	for _, g := range s.NodeGroups {
		if g.ScaleUp.Status == "Backoff" {
			codes[g.Name] = g.ScaleUp.BackoffInfo.ErrorCode
		}
	}
	return codes
}

// finalSizes are the target sizes at the end by node group.
func finalSizes(r *scalehist.ReplayReport) map[string]int {
	final := map[string]int{}
	for _, g := range r.NodeGroups {
		final[g.Name] = g.Final
	}
	return final
}
