package scenarios

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	. "github.com/scalehist/scalehist/harness/expect"
	"github.com/scalehist/scalehist/harness/report/metrics"
	"github.com/scalehist/scalehist/virtualca/cloudprovider"
)

// Engine is an autoscaler by the name the command line takes.
func Engine(name string) harness.Option {
	GinkgoHelper()
	a, err := engines.Named(name)
	Expect(err).NotTo(HaveOccurred())
	return harness.WithAutoscaler(a)
}

// measured is a metric of a report.
func measured(r *scalehist.ReplayReport, name string) float64 {
	GinkgoHelper()
	v := metrics.Of(r).Get(name)
	Expect(v.Value).NotTo(BeNil(), "%s: %s", name, v.Missing)
	return *v.Value
}

// perHour are prices of the two machines of a spec, in EUR.
func perHour(small, large float64) harness.Option {
	return harness.WithPrices(&cloudprovider.PriceTable{Currency: "EUR", MachineTypes: map[string]float64{"small-2": small, "large-8": large}})
}

// twoSizes is a cluster of small and large machines to which equal pods come, all at once.
func twoSizes(name string, pods workload.Pods, maxSmall, maxLarge int) Source {
	return Scripted(workload.Script{
		Name: name, Duration: 5 * time.Minute, Flags: []string{"--expander=least-waste", "--scan-interval=10s", "--scale-down-enabled=false"},
		Groups: []workload.Group{
			{Name: "small", Machine: workload.Machine{Type: "small-2", CPU: "2", Memory: "8Gi"}, Zone: "z1", Max: maxSmall, Delay: 30 * time.Second},
			{Name: "large", Machine: workload.Machine{Type: "large-8", CPU: "8", Memory: "32Gi"}, Zone: "z1", Max: maxLarge, Delay: 30 * time.Second},
		},
		Steps: []workload.Step{{At: 5 * time.Second, Add: pods}},
	})
}

var _ = Describe("The recommender and the cluster autoscaler", func() {
	// Least waste knows no prices: a small node fits one pod as well as a large one fits four, and costs more for it.
	It("is cheaper where large machines are a bargain", func(ctx SpecContext) {
		from, prices := twoSizes("large-is-a-bargain", workload.Pods{Workload: "web", Count: 4, CPU: "1600m", Memory: "6Gi"}, 8, 4), perHour(0.1, 0.2)
		ca := played(ctx, from, Engine("virtualca"), prices)
		r := played(ctx, from, Engine("recommender"), prices)

		Expect(ca).To(HaveScaledUp(ScaleUps{"small": 4}))
		Expect(r).To(HaveScaledUp(ScaleUps{"large": 1}))
		Expect(r).To(LeaveUnschedulable())
		Expect(measured(r, "cost")).To(BeNumerically("<", 0.6*measured(ca, "cost")))
		Expect(measured(r, "pending.pod-seconds")).To(BeNumerically("==", measured(ca, "pending.pod-seconds")))
	}, SpecTimeout(time.Minute))

	// The best group for each node is not the best for all of them: one small node more than the autoscaler needs.
	It("needs a node more where a preferred group fills up", func(ctx SpecContext) {
		ca := played(ctx, Recording("priority-expander"), ClusterAutoscaler())
		r := played(ctx, Recording("priority-expander"), Engine("recommender"))

		Expect(ca).To(HaveScaledUp(ScaleUps{"spot-std8": 2, "ondemand-std4": 4}))
		Expect(r).To(HaveScaledUp(ScaleUps{"spot-std8": 2, "ondemand-std4": 5}))
		Expect(measured(r, "node-hours")).To(BeNumerically(">", measured(ca, "node-hours")))
	}, SpecTimeout(time.Minute))

	// It puts no value on zones that nothing asks for: the autoscaler balances similar groups when told to.
	It("puts all nodes into one zone where the autoscaler balances", func(ctx SpecContext) {
		ca := played(ctx, Recording("balance-similar-groups"), ClusterAutoscaler())
		r := played(ctx, Recording("balance-similar-groups"), Engine("recommender"))

		Expect(ca).To(HaveScaledUp(ScaleUps{"za": 2, "zb": 1, "zc": 2}))
		Expect(r).To(HaveScaledUp(ScaleUps{"za": 5}))
	}, SpecTimeout(time.Minute))

	// One node at a time, the small one is the better bargain; together two of them cost more than the large one.
	It("greedy takes two small nodes where a large one is cheaper, and says so; optimal takes the large one", func(ctx SpecContext) {
		from, prices := twoSizes("two-small-or-one-large", workload.Pods{Workload: "web", Count: 2, CPU: "1600m", Memory: "6Gi"}, 8, 4), perHour(0.2, 0.3)
		greedy := played(ctx, from, Engine("recommender:greedy"), prices, harness.WithFlags("--scoring=least-waste"))
		optimal := played(ctx, from, Engine("recommender:optimal"), prices, harness.WithFlags("--scoring=least-waste"))

		Expect(greedy).To(HaveScaledUp(ScaleUps{"small": 2}))
		Expect(notes(greedy)).To(ContainElement("new nodes cost 0.4 EUR per hour, 33.3 % above the least there is, 0.3"))
		Expect(optimal).To(HaveScaledUp(ScaleUps{"large": 1}))
		Expect(notes(optimal)).To(ContainElement("new nodes cost 0.3 EUR per hour, which is the least there is"))
		Expect(measured(optimal, "cost")).To(BeNumerically("<", measured(greedy, "cost")))
	}, SpecTimeout(time.Minute))

	// The disks are in zb and zc; the group of za comes first in order and would win every tie.
	DescribeTable("brings nodes to the zones of the volumes", func(ctx SpecContext, engine string) {
		report := played(ctx, zoneBoundVolumes("zb", "zc", "zc"), Engine(engine))

		Expect(report).To(HaveScaledUp(ScaleUps{"zb": 1, "zc": 2}))
		Expect(report).To(LeaveUnschedulable())
		for _, p := range report.End.ScheduledPods {
			Expect(p.NodeName).To(HavePrefix(map[string]string{"db-1": "zb-", "db-2": "zc-", "db-3": "zc-"}[p.Name]))
		}
	},
		Entry("virtualca", "virtualca", SpecTimeout(time.Minute)),
		Entry("greedy", "recommender:greedy", SpecTimeout(time.Minute)),
		Entry("optimal", "recommender:optimal", SpecTimeout(time.Minute)),
	)

	It("leaves a pod whose volume is in a zone without a group, and asks for nothing", func(ctx SpecContext) {
		report := played(ctx, zoneBoundVolumes("zb", "zx"), Engine("recommender"))

		Expect(report).To(HaveScaledUp(ScaleUps{"zb": 1}))
		Expect(report).To(LeaveUnschedulable("db-2"))
	}, SpecTimeout(time.Minute))
})

// notes are those of all decisions.
func notes(r *scalehist.ReplayReport) []string {
	var out []string
	for _, d := range r.Decisions {
		out = append(out, d.Notes...)
	}
	return out
}

// zoneBoundVolumes is a cluster of three zones, empty at first, to which pods db-1, db-2 and so on come, each with a disk
// that is in a zone already. A node takes one of them.
func zoneBoundVolumes(zones ...string) Source {
	s := workload.Script{
		Name: "zone-bound-volumes", Duration: 4 * time.Minute, Flags: []string{"--expander=least-waste", "--scan-interval=10s", "--scale-down-enabled=false"},
		Steps: []workload.Step{{At: 5 * time.Second, Add: workload.Pods{Workload: "db", Count: len(zones), CPU: "3", Memory: "4Gi"}}},
	}
	for _, z := range []string{"za", "zb", "zc"} {
		s.Groups = append(s.Groups, workload.Group{Name: z, Machine: workload.Machine{Type: "std-4", CPU: "4", Memory: "16Gi"}, Zone: z, Max: 4, Delay: 20 * time.Second})
	}
	return Source{s.Name, "", func(ctx context.Context, opts ...harness.Option) (*harness.Replayer, error) {
		in, err := s.Input()
		if err != nil {
			return nil, err
		}
		n := 0
		for _, c := range in.Changes {
			if p, ok := c.Object.(*corev1.Pod); ok && c.Op == scalehist.OpAdd {
				in.Initial = append(in.Initial, disk(in.Start, n+1, zones[n])...)
				p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprintf("disk-%d", n+1)}}})
				n++
			}
		}
		return harness.NewInputReplayer(ctx, in, opts...)
	}}
}

// disk is a bound volume of a zone with its claim.
func disk(at time.Time, number int, zone string) []scalehist.Change {
	volume, claim := fmt.Sprintf("volume-%d", number), fmt.Sprintf("disk-%d", number)
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(at)}
	}
	bound := meta("default", claim)
	bound.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"} // what the volume controller leaves behind
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	return []scalehist.Change{
		{At: at, Op: scalehist.OpAdd, Object: &corev1.PersistentVolume{
			ObjectMeta: meta("", volume),
			Spec: corev1.PersistentVolumeSpec{
				Capacity: size, AccessModes: modes, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
				PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk.example.com", VolumeHandle: volume}},
				ClaimRef:               &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "default", Name: claim, UID: types.UID(claim)},
				NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
				}}}},
			},
			Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
		}},
		{At: at, Op: scalehist.OpAdd, Object: &corev1.PersistentVolumeClaim{
			ObjectMeta: bound,
			Spec: corev1.PersistentVolumeClaimSpec{AccessModes: modes, VolumeName: volume, StorageClassName: new(""),
				Resources: corev1.VolumeResourceRequirements{Requests: size}},
			Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, AccessModes: modes, Capacity: size},
		}},
	}
}
