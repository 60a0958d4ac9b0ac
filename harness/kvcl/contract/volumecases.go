package contract

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
)

// waits is one pod that found no node.
func waits(pod, message string) kvcl.Settled {
	return kvcl.Settled{Unschedulable: []kvcl.Unschedulable{{Pod: id(pod), Message: message}}}
}

// refused is upstream's message for a pod that no node is looked at for: the plugin that would free claims of devices has then
// no state to go by, and says so in two words.
func refused(nodes int, reason string) string {
	return fmt.Sprintf("0/%d nodes are available: %s. not found", nodes, reason)
}

func bound(b ...kvcl.Binding) kvcl.Settled { return kvcl.Settled{Bindings: b} }

// choosesStaticVolumes: the smallest free volume that is large enough, on a node that reaches it.
func choosesStaticVolumes(s *suite) {
	s.add(class("local", noProvisioner), node("n-0", 4), node("n-1", 4),
		volume("small", "local", "5Gi", reachable(corev1.LabelHostname, "n-0")),
		volume("large", "local", "20Gi", reachable(corev1.LabelHostname, "n-0")),
		volume("medium", "local", "10Gi", reachable(corev1.LabelHostname, "n-0")),
		volume("other", "local", "30Gi", reachable(corev1.LabelHostname, "n-1")),
		volume("foreign", "elsewhere", "9Gi"),
		claim("first", "local", "8Gi"), claim("second", "local", "25Gi"), claim("third", "local", "25Gi"),
		pod("a", 1, uses("first")))
	s.wantSettled(bound(binding("a", "n-0")))
	s.equal("volumes", []string{"small -", "large -", "medium first", "other -", "foreign -"}, s.heldVolumes())
	s.add(pod("b", 1, uses("second")))
	s.wantSettled(bound(binding("b", "n-1")))
	s.add(pod("c", 1, uses("third")))
	s.wantSettled(waits("c", noFit(2, "2 node(s) didn't find available persistent volumes to bind")))
	s.equal("volumes", []string{"small -", "large -", "medium first", "other second", "foreign -"}, s.heldVolumes())
	s.add(volume("late", "local", "25Gi", reachable(corev1.LabelHostname, "n-0")))
	s.wantSettled(bound(binding("c", "n-0")))
}

// needsBoundClaims: nobody binds a claim of an Immediate class for a pod; a pod waits until its claim is bound.
func needsBoundClaims(s *suite) {
	s.add(class("now", csiDriver, immediate), node("n-0", 4), node("n-1", 4),
		volume("ready", "now", "10Gi", heldBy("ready"), reachable(corev1.LabelHostname, "n-1")), claim("ready", "now", "10Gi", boundTo("ready")),
		claim("later", "now", "10Gi"),
		pod("a", 1, uses("ready")), pod("b", 1, uses("later")))
	s.wantSettled(kvcl.Settled{
		Bindings:      []kvcl.Binding{binding("a", "n-1")},
		Unschedulable: []kvcl.Unschedulable{{Pod: id("b"), Message: refused(2, "pod has unbound immediate PersistentVolumeClaims")}},
	})
	// Another claim's change does not wake it.
	s.add(claim("other", "now", "1Gi"))
	s.wantSettled(kvcl.Settled{})
	s.add(volume("later", "now", "10Gi", heldBy("later"), reachable(corev1.LabelHostname, "n-0")))
	s.settle()
	s.apply(scalehist.OpUpdate, claim("later", "now", "10Gi", boundTo("later")))
	s.wantSettled(bound(binding("b", "n-0")))
}

// namesMissingClaims: a claim, a class or a volume that is not there; what comes later helps.
func namesMissingClaims(s *suite) {
	s.add(node("n-0", 4), pod("a", 1, uses("late")))
	s.wantSettled(waits("a", refused(1, `persistentvolumeclaim "late" not found`)))
	s.add(claim("late", "absent", "1Gi"))
	s.wantSettled(waits("a", refused(1, "pod has unbound immediate PersistentVolumeClaims")))
	s.add(class("absent", csiDriver))
	s.wantSettled(bound(binding("a", "n-0")))
	s.equal("volumes", []string{"pvc-default-late late"}, s.heldVolumes())
	s.add(claim("orphan", "absent", "1Gi", boundTo("gone")), pod("b", 1, uses("orphan")))
	s.wantSettled(waits("b", refused(1, `persistentvolume "gone" not found`)))
	s.add(volume("gone", "absent", "1Gi", heldBy("orphan")))
	s.wantSettled(bound(binding("b", "n-0")))
}

// keepsPodsWithTheirVolumes: a zonal volume keeps its pods in its zone; two of different zones leave no place.
func keepsPodsWithTheirVolumes(s *suite) {
	zonal := func(name, zone string) []scalehist.Object {
		return []scalehist.Object{
			volume(name, "zonal", "10Gi", heldBy(name), reachable(corev1.LabelTopologyZone, zone)), claim(name, "zonal", "10Gi", boundTo(name)),
		}
	}
	s.add(class("zonal", csiDriver), node("n-a", 1, inZone("a")), node("n-b", 9, inZone("b")))
	s.add(zonal("in-a", "a")...)
	s.add(zonal("in-b", "b")...)
	s.add(pod("a", 1, uses("in-a")))
	s.wantSettled(bound(binding("a", "n-a")))
	s.add(pod("a2", 1, uses("in-a")), pod("both", 1, uses("in-a", "in-b")))
	const conflict = "node(s) didn't match PersistentVolume's node affinity"
	s.wantSettled(kvcl.Settled{Unschedulable: []kvcl.Unschedulable{
		{Pod: id("a2"), Message: mixed(2, "1 Insufficient cpu, 1 "+conflict, "1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling")},
		{Pod: id("both"), Message: mixed(2, "1 Insufficient cpu, 1 "+conflict, "1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling")},
	}})
	s.add(node("n-a2", 9, inZone("a")))
	s.wantSettled(kvcl.Settled{
		Bindings: []kvcl.Binding{binding("a2", "n-a2")},
		Unschedulable: []kvcl.Unschedulable{
			{Pod: id("both"), Message: mixed(3, "1 Insufficient cpu, 2 "+conflict, "1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling")},
		},
	})
}

// mixed is a message whose preemption part has reasons of its own.
func mixed(nodes int, reasons, preemption string) string {
	return fmt.Sprintf("0/%d nodes are available: %s. no new claims to deallocate, preemption: 0/%d nodes are available: %s.", nodes, reasons, nodes, preemption)
}

// followsZoneLabels: volumes from before node affinity say their zone by label.
func followsZoneLabels(s *suite) {
	labelled := func(v *corev1.PersistentVolume) { v.Labels = map[string]string{corev1.LabelTopologyZone: "b"} }
	s.add(node("n-a", 4, inZone("a")), volume("old", "zonal", "10Gi", heldBy("old"), labelled), claim("old", "zonal", "10Gi", boundTo("old")),
		pod("a", 1, uses("old")))
	s.wantSettled(waits("a", noFit(1, "1 node(s) had no available volume zone")))
	s.add(node("n-b", 4, inZone("b")))
	s.wantSettled(bound(binding("a", "n-b")))
}

// countsVolumes: a node takes as many volumes of a driver as its CSINode says, those being provisioned included.
func countsVolumes(s *suite) {
	const full = "1 node(s) exceed max volume count"
	s.add(class("disk", csiDriver), node("n-0", 9), csiNode("n-0", csiDriver, 2, ""),
		claim("one", "disk", "1Gi"), claim("two", "disk", "1Gi"), claim("three", "disk", "1Gi"),
		pod("a", 1, uses("one")), pod("b", 1, uses("two")), pod("c", 1, uses("three")), pod("plain", 1))
	s.wantSettled(kvcl.Settled{
		Bindings:      []kvcl.Binding{binding("a", "n-0"), binding("b", "n-0"), binding("plain", "n-0")},
		Unschedulable: []kvcl.Unschedulable{{Pod: id("c"), Message: noVictims(1, full)}},
	})
	// The same volume again is none more.
	s.add(pod("again", 1, uses("one")))
	s.wantSettled(bound(binding("again", "n-0")))
	s.apply(scalehist.OpDelete, pod("plain", 1))
	s.wantSettled(kvcl.Settled{}) // it held no volume
	s.apply(scalehist.OpDelete, pod("b", 1))
	s.wantSettled(bound(binding("c", "n-0")))
	// The driver comes to a node after the node, and raises what it takes.
	s.add(claim("four", "disk", "1Gi"), pod("d", 1, uses("four")))
	s.wantSettled(waits("d", noVictims(1, full)))
	s.add(csiNode("n-9", csiDriver, 9, "")) // upstream has no hint for CSINodes that come
	s.wantSettled(waits("d", noVictims(1, full)))
	s.apply(scalehist.OpUpdate, csiNode("n-9", csiDriver, 10, "")) // and one that takes more wakes them, whosever it is
	s.wantSettled(waits("d", noVictims(1, full)))
	s.apply(scalehist.OpUpdate, csiNode("n-0", csiDriver, 3, ""))
	s.wantSettled(bound(binding("d", "n-0")))
}

// countsMigratedVolumes: volumes of an in-tree plugin count against the driver it was migrated to.
func countsMigratedVolumes(s *suite) {
	const driver, plugin = "ebs.csi.aws.com", "kubernetes.io/aws-ebs"
	s.add(class("gp2", plugin), node("n-0", 9, inZone("a")), csiNode("n-0", driver, 2, plugin),
		volume("old", "gp2", "1Gi", heldBy("old"), func(v *corev1.PersistentVolume) {
			v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}}
		}), claim("old", "gp2", "1Gi", boundTo("old")), claim("new", "gp2", "1Gi"), claim("newer", "gp2", "1Gi"),
		pod("a", 1, uses("old")), pod("b", 1, uses("new")))
	s.wantSettled(bound(binding("a", "n-0"), binding("b", "n-0")))
	// The volume that was made for it counts like the one that is of the plugin's own kind.
	s.add(pod("c", 1, uses("newer")))
	s.wantSettled(waits("c", noVictims(1, "1 node(s) exceed max volume count")))
}

// countsNoVolumesWithoutCSINode: a node whose driver has not come yet takes any number, as a new node does.
func countsNoVolumesWithoutCSINode(s *suite) {
	s.add(class("disk", csiDriver), node("n-0", 9), claim("one", "disk", "1Gi"), claim("two", "disk", "1Gi"),
		pod("a", 1, uses("one")), pod("b", 1, uses("two")))
	s.wantSettled(bound(binding("a", "n-0"), binding("b", "n-0")))
}

// sharesNoExclusiveClaims: a ReadWriteOncePod claim is for one pod; a more important pod takes it from another.
func sharesNoExclusiveClaims(s *suite) {
	const taken = "1 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
	s.add(class("disk", csiDriver), node("n-0", 9), claim("mine", "disk", "1Gi", oncePerPod),
		pod("a", 1, uses("mine"), withPriority(5)))
	s.wantSettled(bound(binding("a", "n-0")))
	s.add(pod("same", 1, uses("mine"), withPriority(5)))
	s.wantSettled(waits("same", noVictims(1, taken)))
	s.add(pod("high", 1, uses("mine"), withPriority(10)))
	s.wantPreempted([]kvcl.Victim{victim("a", "n-0")}, kvcl.Settled{
		Bindings:      []kvcl.Binding{binding("high", "n-0")},
		Unschedulable: []kvcl.Unschedulable{{Pod: id("same"), Message: noVictims(1, taken)}},
	})
	s.apply(scalehist.OpDelete, pod("high", 1))
	s.wantSettled(bound(binding("same", "n-0")))
}

// keepsNodeLocalVolumes: what a node-local provisioner makes holds its pods on the node; a claim may serve two pods.
func keepsNodeLocalVolumes(s *suite) {
	s.add(class("path", "rancher.io/local-path"), node("n-0", 2, inZone("a")), claim("data", "path", "1Gi"),
		pod("a", 1, uses("data")), pod("b", 1, uses("data")))
	s.wantSettled(bound(binding("a", "n-0"), binding("b", "n-0")))
	s.equal("volumes", []string{"pvc-default-data data"}, s.heldVolumes())
	s.add(node("n-1", 9, inZone("a")), pod("c", 1, uses("data")))
	s.wantSettled(waits("c", mixed(2, "1 Insufficient cpu, 1 node(s) didn't match PersistentVolume's node affinity",
		"1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling")))
	// One that comes back finds its volume.
	s.apply(scalehist.OpDelete, pod("a", 1))
	s.wantSettled(bound(binding("c", "n-0")))
}

// keepsToAllowedTopologies: a class may say where it can provision.
func keepsToAllowedTopologies(s *suite) {
	only := func(zone string) func(*storagev1.StorageClass) {
		return func(c *storagev1.StorageClass) {
			c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
				{Key: corev1.LabelTopologyZone, Values: []string{zone}},
			}}}
		}
	}
	s.add(class("b-only", csiDriver, only("b")), node("n-a", 4, inZone("a")), claim("data", "b-only", "1Gi"), pod("a", 1, uses("data")))
	s.wantSettled(waits("a", noFit(1, "1 node(s) didn't find available persistent volumes to bind")))
	s.add(node("n-a2", 4, inZone("a")))
	s.wantSettled(waits("a", noFit(2, "2 node(s) didn't find available persistent volumes to bind")))
	s.add(node("n-b", 4, inZone("b")))
	s.wantSettled(bound(binding("a", "n-b")))
}

// waitsForEphemeralClaims: the claim of a generic ephemeral volume is made by a controller, which a control plane is not.
// A claim of the name that belongs to another pod is refused.
func waitsForEphemeralClaims(s *suite) {
	p := pod("e", 1, func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
				StorageClassName: ptr.To("disk"), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
			}},
		}}}}
	})
	s.add(class("disk", csiDriver), node("n-0", 4), p)
	s.wantSettled(waits("e", refused(1, `waiting for ephemeral volume controller to create the persistentvolumeclaim "e-scratch"`)))
	owned := func(uid types.UID) *corev1.PersistentVolumeClaim {
		return claim("e-scratch", "disk", "1Gi", func(c *corev1.PersistentVolumeClaim) {
			c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "e", UID: uid, Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}}
		})
	}
	s.add(owned("another"))
	s.wantSettled(waits("e", refused(1, "PVC default/e-scratch was not created for pod default/e (pod is not owner)")))
	s.apply(scalehist.OpDelete, owned("another"))
	s.settle()
	s.add(owned(s.pod(namespace, "e").UID))
	s.wantSettled(bound(binding("e", "n-0")))
	s.equal("volumes", []string{"pvc-default-e-scratch e-scratch"}, s.heldVolumes())
}
