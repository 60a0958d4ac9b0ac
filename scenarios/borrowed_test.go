package scenarios

import (
	"context"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/scalehist/scalehist/fixtures/workload"
	. "github.com/scalehist/scalehist/harness/expect"
	"github.com/scalehist/scalehist/internal/docstore"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/virtualca/discovery"
	"github.com/scalehist/scalehist/virtualca/nodemanager/multicluster"
)

// sharing is a list of clusters that share capacity.
type sharing []discovery.Cluster

func (s sharing) Clusters(context.Context) ([]discovery.Cluster, error) { return s, nil }

// noted peers at once, and notes with whom.
type noted struct{ clusters []string }

func (n *noted) Peer(_ context.Context, s multicluster.Share) (bool, error) {
	n.clusters = append(n.clusters, s.Cluster.Name)
	return true, nil
}

func (n *noted) Unpeer(context.Context, multicluster.Share) error { return nil }

var _ = Describe("Capacity borrowed from other clusters", func() {
	It("serves a burst from the cheapest cluster that fits once the local group is at its maximum", func(ctx SpecContext) {
		peering := &noted{}
		pool, remote := borrowed(ctx, peering, sharing{shares("too-small", "3", 0.01), shares("cheap", "5", 0.02), shares("dear", "32", 0.05)})
		remote.Delay = 2 * time.Minute // peering is slow
		local := workload.Group{Name: "local", Machine: workload.Machine{Type: "m5.xlarge", CPU: "4", Memory: "16Gi"}, Zone: "z1", Min: 1, Max: 2, Nodes: 1, Delay: 30 * time.Second}
		burst := newService("borrowed-burst", 6*time.Minute, workload.Pods{Count: 4, CPU: "2500m", Memory: "2Gi"}, local, remote)

		report := Replay(ctx, Scripted(burst), ClusterAutoscaler("least-waste"))

		Expect(report).To(HaveScaledUp(ScaleUps{"local": 1, "remote": 2}))
		Expect(report).To(LeaveUnschedulable())
		Expect(pool.IncreaseSize(ctx, "remote", 2)).To(Succeed())
		pool.Step(ctx)
		Expect(peering.clusters).To(Equal([]string{"cheap", "dear"}), "the cheapest that fits gives what it has, the next one the rest")
	}, SpecTimeout(2*time.Minute))
})

// shares is a cluster that shares cores at a price, and more memory than anybody asks for.
func shares(name, cpu string, price float64) discovery.Cluster {
	return discovery.Cluster{Name: name, Prices: &prices.PodPrices{CPU: price},
		Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("64Gi")}}
}

// borrowed is a pool of nodes that are shares of other clusters, and its group remote as an autoscaler sees it.
func borrowed(ctx SpecContext, peering multicluster.Peering, clusters sharing) (*multicluster.Pool, workload.Group) {
	GinkgoHelper()
	config, err := multicluster.Parse([]byte(`groups: [{name: remote, maxSize: 4, policy: cheapest, resources: {min: {cpu: "4", memory: 16Gi}}}]`))
	Expect(err).NotTo(HaveOccurred())
	store, err := docstore.Open(ctx, filepath.Join(GinkgoT().TempDir(), "nodes.db"), multicluster.Kind)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(store.Close)
	clock := clocktesting.NewFakeClock(time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC))
	pool, err := multicluster.New(ctx, multicluster.Options{Config: config, Clusters: clusters, Peering: peering, Store: store, Clock: clock})
	Expect(err).NotTo(HaveOccurred())
	template, err := pool.Template(ctx, "remote")
	Expect(err).NotTo(HaveOccurred())
	machine := workload.Machine{Type: "share", CPU: template.Status.Allocatable.Cpu().String(), Memory: template.Status.Allocatable.Memory().String()}
	return pool, workload.Group{Name: "remote", Machine: machine, Zone: "z1", Max: config.Groups[0].MaxSize}
}
