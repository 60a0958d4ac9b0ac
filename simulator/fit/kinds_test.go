package fit

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
)

// allKinds are the pods of the random programs: those of kinds, and more that reach the other filters and what the
// checker treats apart.
var allKinds = append([]string{
	"tolerant", "disk", "antiteam", "elsewhere", "claim", "waiting", "exclusive", "disk-inline", "iscsi", "token", "terminating", "twofold", "soft",
	"pinned", "resized", "sidecar", "udp", "lonely", "empty",
}, kinds...)

// anyPod makes a pod of any kind.
func anyPod(name, kind, cpu string) *corev1.Pod {
	p := pod(name, kind, cpu)
	c := &p.Spec.Containers[0]
	claim := func(name string) {
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
	}
	like := func(app string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	}
	switch kind {
	case "tolerant":
		p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	case "disk":
		c.Resources.Requests[corev1.ResourceEphemeralStorage] = resource.MustParse("4Gi")
	case "antiteam":
		// Keeps pods of namespaces with a label away, which a Reset may put on another.
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{}, NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}, TopologyKey: corev1.LabelHostname,
		}}}}
	case "elsewhere":
		// Distinguished from plain pods by its namespace only.
		p.Namespace, p.Labels["app"] = "other", "plain"
	case "claim":
		claim("bound")
	case "waiting":
		claim("waiting")
	case "exclusive":
		claim("exclusive")
	case "disk-inline":
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "d" + cpu, ReadOnly: true}}}}
	case "iscsi":
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{TargetPortal: "1.2.3.4", IQN: "iqn", Lun: 1}}}}
	case "token":
		v := "kube-api-access-" + name
		p.Spec.Volumes = []corev1.Volume{{Name: v, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}}}
		c.VolumeMounts, c.Env, p.Spec.Hostname = []corev1.VolumeMount{{Name: v, MountPath: "/t"}}, []corev1.EnvVar{{Name: "SELF", Value: name}}, name
	case "terminating":
		// It spreads, too, so that such pods are asked about and counted.
		p = pod(name, "zonespread", cpu)
		now := metav1.Unix(1e9, 0)
		p.DeletionTimestamp = &now
	case "twofold":
		for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelHostname} {
			p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
				MaxSkew: 2, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{
					MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}},
				},
			})
		}
	case "empty":
		// An empty selector, which PodTopologySpread counts in one way in PreFilter and in another in AddPod.
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{},
		}}
	case "soft":
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: like("soft")}}
	case "pinned":
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{"n1"}}},
		}}}}}
	case "resized":
		// Its status has more than its spec: on a node it takes that.
		more := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("900m")}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", Resources: &corev1.ResourceRequirements{Requests: more}, AllocatedResources: more}}
		p.Labels["app"] = "plain"
	case "sidecar":
		always := corev1.ContainerRestartPolicyAlways
		p.Spec.InitContainers = []corev1.Container{{Name: "s", RestartPolicy: &always, Resources: *c.Resources.DeepCopy()}}
		p.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m")}
	case "udp":
		c.Ports = []corev1.ContainerPort{{HostPort: 80, HostIP: "10.0.0.1", Protocol: corev1.ProtocolUDP}, {HostPort: 80, HostIP: "10.0.0.1", Protocol: corev1.ProtocolTCP}}
	case "lonely":
		// No other pod on its node, of any kind, and none that comes later.
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{}, TopologyKey: corev1.LabelHostname,
		}}}}
	}
	return p
}

// storage are the objects behind the pods: claims in a zone of their own, and namespaces with a label or without.
func storage(zone string, team bool) *scalehist.Objects {
	meta := func(ns, name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns, Name: name} }
	o := &scalehist.Objects{}
	for _, name := range []string{"default", "other"} {
		ns := &corev1.Namespace{ObjectMeta: meta("", name)}
		if team && name == "other" {
			ns.Labels = map[string]string{"team": "a"}
		}
		o.Namespaces = append(o.Namespaces, ns)
	}
	// Nodes that may attach one disk each of the kind of inline disks.
	for i := range 40 {
		limit := int32(1)
		o.CSINodes = append(o.CSINodes, &storagev1.CSINode{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i), Annotations: map[string]string{corev1.MigratedPluginsAnnotationKey: "kubernetes.io/gce-pd"}},
			Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "pd.csi.storage.gke.io", Allocatable: &storagev1.VolumeNodeResources{Count: &limit}}}},
		})
	}
	wait, class := storagev1.VolumeBindingWaitForFirstConsumer, "wait"
	o.StorageClasses = []*storagev1.StorageClass{{ObjectMeta: meta("", class), Provisioner: "disk.example", VolumeBindingMode: &wait, AllowedTopologies: []corev1.TopologySelectorTerm{{
		MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: []string{zone, "z2"}}},
	}}}}
	for _, name := range []string{"bound", "exclusive", "waiting"} {
		size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		mode := corev1.ReadWriteOnce
		if name == "exclusive" {
			mode = corev1.ReadWriteOncePod
		}
		pvc := &corev1.PersistentVolumeClaim{ObjectMeta: meta("default", name), Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{mode}, StorageClassName: &class, Resources: corev1.VolumeResourceRequirements{Requests: size},
		}}
		o.PersistentVolumeClaims = append(o.PersistentVolumeClaims, pvc)
		if name == "waiting" {
			continue
		}
		pvc.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		pvc.Spec.VolumeName, pvc.Status.Phase = "pv-"+name, corev1.ClaimBound
		pv := &corev1.PersistentVolume{ObjectMeta: meta("", pvc.Spec.VolumeName), Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: pvc.Spec.AccessModes, StorageClassName: class, ClaimRef: &corev1.ObjectReference{Namespace: "default", Name: name},
		}}
		if name == "bound" {
			pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
			}}}}
		}
		o.PersistentVolumes = append(o.PersistentVolumes, pv)
	}
	return o
}

// oddNode is a node that may be closed, tainted, without a zone, with a GPU, or small.
func oddNode(name string, zone, odd int) *corev1.Node {
	n := node(name, fmt.Sprintf("z%d", zone), 1+odd%3)
	n.Status.Allocatable[corev1.ResourceEphemeralStorage] = resource.MustParse("10Gi")
	switch odd {
	case 1:
		n.Spec.Unschedulable = true
	case 2, 3:
		n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	case 4:
		delete(n.Labels, corev1.LabelTopologyZone)
	case 5, 6:
		n.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("1")
	case 7:
		n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("2")
	}
	return n
}
