package sources

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

func custom(t *testing.T, docs ...string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for _, d := range docs {
		data, err := yaml.YAMLToJSON([]byte(d))
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(data); err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

// Objects as Gardener's worker controller and the provider extensions write them (docs/extensions/resources/worker.md).
const gardenerWorker = `
apiVersion: extensions.gardener.cloud/v1alpha1
kind: Worker
metadata: {name: web, namespace: shoot--dev--web}
spec:
  type: aws
  region: eu-west-1
  pools:
  - name: workers
    machineType: m5.large
    minimum: 3
    maximum: 8
    maxSurge: 1
    zones: [eu-west-1a, eu-west-1b, eu-west-1c]
    labels: {purpose: web}
`

func machineDeployment(zone, replicas string) string {
	return `
apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineDeployment
metadata: {name: shoot--dev--web-workers-z` + zone + `, namespace: shoot--dev--web}
spec:
  replicas: ` + replicas + `
  selector: {matchLabels: {name: shoot--dev--web-workers-z` + zone + `}}
  template:
    metadata: {labels: {name: shoot--dev--web-workers-z` + zone + `}}
    spec:
      class: {kind: MachineClass, name: shoot--dev--web-workers-z` + zone + `-a1b2c}
      nodeTemplate:
        metadata: {labels: {worker.gardener.cloud/pool: workers, purpose: web, node.kubernetes.io/role: node}}
        spec: {taints: [{key: dedicated, effect: NoSchedule}, {key: team, value: web, effect: NoExecute}]}
`
}

const gardenerClass = `
apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineClass
metadata: {name: shoot--dev--web-workers-z1-a1b2c, namespace: shoot--dev--web}
nodeTemplate:
  capacity: {cpu: 2, memory: 8Gi, gpu: "0"}
  virtualCapacity: {subdomain.domain.com/virtual: 4}
  instanceType: m5.large
  region: eu-west-1
  zone: eu-west-1a
  architecture: amd64
provider: AWS
`

func TestGardener(t *testing.T) {
	z1, z2, z3 := machineDeployment("1", "2"), machineDeployment("2", "1"), machineDeployment("3", "0")
	group := "shoot--dev--web.shoot--dev--web-workers-z"
	status := gardenerWorker + "status: {machineDeployments: [{name: shoot--dev--web-workers-z1, minimum: 2, maximum: 4}]}\n"
	tests := []struct {
		name  string
		state State
		want  []string
	}{
		{"spreads the pool over its zones", State{Custom: custom(t, gardenerWorker, z1, z2, z3, gardenerClass)}, []string{
			group + "1 1..3 target 2 eu-west-1a m5.large by object", group + "2 1..3 target 1 eu-west-1b m5.large by object",
			group + "3 1..2 target 0 eu-west-1c m5.large by object"}},
		{"takes the worker's status before that", State{Custom: custom(t, status, z1, gardenerClass)},
			[]string{group + "1 2..4 target 2 eu-west-1a m5.large by object"}},
		{"takes the autoscaler's flags before all", State{Custom: custom(t, status, z1, gardenerClass), Flags: []string{"--nodes=0:9:" + group + "1"}},
			[]string{group + "1 0..9 target 2 eu-west-1a m5.large by cluster-autoscaler"}},
		{"does without a worker", State{Custom: custom(t, z1, gardenerClass)},
			[]string{group + "1 0..2 target 2 eu-west-1a m5.large by nodes"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lines(Gardener().Groups(tt.state))); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTaintWithoutValue: prior art dropped taints that have no value.
func TestTaintWithoutValue(t *testing.T) {
	g := Gardener().Groups(State{Custom: custom(t, gardenerWorker, machineDeployment("1", "2"), gardenerClass)})[0]
	want := []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}, {Key: "team", Value: "web", Effect: corev1.TaintEffectNoExecute}}
	if diff := cmp.Diff(want, g.Spec.Template.Spec.Taints); diff != "" {
		t.Errorf("taints of the template (-want +got):\n%s", diff)
	}
	capacity := map[string]string{}
	for k, v := range g.Spec.Template.Status.Allocatable {
		capacity[string(k)] = v.String()
	}
	if diff := cmp.Diff(map[string]string{"cpu": "2", "memory": "8Gi", "gpu": "0", "pods": "110", "subdomain.domain.com/virtual": "4"}, capacity); diff != "" {
		t.Errorf("allocatable of the template (-want +got):\n%s", diff)
	}
	wantLabels := map[string]string{"worker.gardener.cloud/pool": "workers", "purpose": "web", "node.kubernetes.io/role": "node",
		"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "topology.kubernetes.io/zone": "eu-west-1a",
		"topology.kubernetes.io/region": "eu-west-1", "node.kubernetes.io/instance-type": "m5.large"}
	if diff := cmp.Diff(wantLabels, g.Spec.Template.Labels); diff != "" {
		t.Errorf("labels of the template (-want +got):\n%s", diff)
	}
	if g.Annotations[v1alpha1.WorkerPoolAnnotation] != "workers" || g.Annotations[v1alpha1.MachineDeploymentAnnotation] != "shoot--dev--web/shoot--dev--web-workers-z1" {
		t.Errorf("annotations %v", g.Annotations)
	}
}

func TestGardenerMembers(t *testing.T) {
	machine := `
apiVersion: machine.sapcloud.io/v1alpha1
kind: Machine
metadata:
  name: shoot--dev--web-workers-z1-6d5f8-abcde
  namespace: shoot--dev--web
  labels: {node: ip-1, name: other}
  ownerReferences: [{apiVersion: machine.sapcloud.io/v1alpha1, kind: MachineSet, name: shoot--dev--web-workers-z1-6d5f8, uid: x}]
`
	set := `
apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineSet
metadata:
  name: shoot--dev--web-workers-z1-6d5f8
  namespace: shoot--dev--web
  ownerReferences: [{apiVersion: machine.sapcloud.io/v1alpha1, kind: MachineDeployment, name: shoot--dev--web-workers-z1, uid: y}]
`
	labelled := `
apiVersion: machine.sapcloud.io/v1alpha1
kind: Machine
metadata: {name: m2, namespace: shoot--dev--web, labels: {name: shoot--dev--web-workers-z2}}
status: {node: ip-2}
`
	s := Gardener()
	s.Groups(State{Custom: custom(t, gardenerWorker, machineDeployment("1", "2"), machineDeployment("2", "2"), gardenerClass, machine, set, labelled)})
	labels := map[string]string{"worker.gardener.cloud/pool": "workers", corev1.LabelTopologyZone: "eu-west-1b"}
	tests := []struct {
		name string
		node *corev1.Node
		want string
	}{
		{"by machine and its owners", node("ip-1", 1, nil), "shoot--dev--web.shoot--dev--web-workers-z1"},
		{"by the machine's label", node("ip-2", 1, nil), "shoot--dev--web.shoot--dev--web-workers-z2"},
		{"by pool and zone", node("ip-3", 1, labels), "shoot--dev--web.shoot--dev--web-workers-z2"},
		{"not by a pool in several zones", node("ip-4", 1, map[string]string{"worker.gardener.cloud/pool": "workers"}), ""},
		{"not at all", node("ip-5", 1, nil), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := s.GroupOf(tt.node); got != tt.want {
				t.Errorf("group %q, want %q", got, tt.want)
			}
		})
	}
}

// As in https://cluster-api.sigs.k8s.io/tasks/automated-machine-management/autoscaling.
const capi = `
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata:
  name: my-cluster-md-0
  namespace: default
  annotations:
    cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "5"
    cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "0"
    capacity.cluster-autoscaler.kubernetes.io/cpu: "16"
    capacity.cluster-autoscaler.kubernetes.io/memory: "128G"
    capacity.cluster-autoscaler.kubernetes.io/ephemeral-disk: "100Gi"
    capacity.cluster-autoscaler.kubernetes.io/maxPods: "200"
    capacity.cluster-autoscaler.kubernetes.io/gpu-type: nvidia.com/gpu
    capacity.cluster-autoscaler.kubernetes.io/gpu-count: "2"
    capacity.cluster-autoscaler.kubernetes.io/labels: key1=value1,node.kubernetes.io/instance-type=big
    capacity.cluster-autoscaler.kubernetes.io/taints: key1=value1:NoSchedule,key2:NoExecute
spec:
  clusterName: my-cluster
  replicas: 2
  template:
    metadata: {labels: {node-role.kubernetes.io/worker: "", app: x}}
    spec: {clusterName: my-cluster, failureDomain: z1}
`

func TestClusterAPI(t *testing.T) {
	plain := `
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: fixed, namespace: default}
spec: {clusterName: my-cluster, replicas: 2}
`
	other := `
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata:
  name: elsewhere
  namespace: default
  annotations: {cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "5", cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "1"}
spec: {clusterName: another, replicas: 2}
`
	n := node("n", 1, nil)
	n.Annotations = map[string]string{capiOwnerKind: "MachineSet", capiOwnerName: "my-cluster-md-0-7f9c8d-xk2lp", capiClusterNamespace: "default", capiClusterName: "my-cluster"}
	s := ClusterAPI()
	groups := s.Groups(State{Nodes: []*corev1.Node{n}, Custom: custom(t, capi, plain, other)})
	if diff := cmp.Diff([]string{"MachineDeployment/default/my-cluster-md-0 0..5 target 2 z1 big by object"}, lines(groups)); diff != "" {
		t.Fatalf("groups (-want +got):\n%s", diff)
	}
	if got := s.GroupOf(n); got != groups[0].Name {
		t.Errorf("group of the node %q, want %q", got, groups[0].Name)
	}
	template := groups[0].Spec.Template
	got := map[string]string{}
	for k, v := range template.Status.Capacity {
		got[string(k)] = v.String()
	}
	want := map[string]string{"cpu": "16", "memory": "128G", "ephemeral-storage": "100Gi", "pods": "200", "nvidia.com/gpu": "2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("capacity (-want +got):\n%s", diff)
	}
	if _, ok := template.Labels["app"]; ok || template.Labels["key1"] != "value1" {
		t.Errorf("labels %v, want key1 and not app, which does not reach nodes", template.Labels)
	}
	if _, ok := template.Labels["node-role.kubernetes.io/worker"]; !ok || len(template.Spec.Taints) != 2 {
		t.Errorf("labels %v taints %v, want the role and two taints", template.Labels, template.Spec.Taints)
	}
	narrowed := ClusterAPI().Groups(State{Custom: custom(t, capi, other), Flags: []string{"--node-group-auto-discovery=clusterapi:namespace=default,clusterName=another"}})
	if len(narrowed) != 1 || narrowed[0].Name != "MachineDeployment/default/elsewhere" {
		t.Errorf("with auto discovery of another cluster: %v", lines(narrowed))
	}
}

func nodePool(name, limits string) string {
	return `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: ` + name + `}
spec:
  limits: ` + limits + `
  template: {metadata: {labels: {team: a}}, spec: {taints: [{key: spot, effect: NoSchedule}]}}
`
}

func TestKarpenter(t *testing.T) {
	claim := `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: default-abc, labels: {karpenter.sh/nodepool: default, topology.kubernetes.io/zone: z1, node.kubernetes.io/instance-type: m5.large}}
status: {capacity: {cpu: "4", memory: 16Gi}, allocatable: {cpu: 3900m, memory: 15Gi}}
`
	n := node("n", 1, map[string]string{karpenterPool: "default", corev1.LabelInstanceTypeStable: "m5.xlarge"})
	tests := []struct {
		name  string
		state State
		want  []string
	}{
		{"unbounded without limits", State{Nodes: []*corev1.Node{n}, Custom: custom(t, nodePool("default", "{}"))}, []string{"default 0..5000 target 1  m5.xlarge by unbounded"}},
		{"by the smallest node", State{Nodes: []*corev1.Node{n}, Custom: custom(t, nodePool("default", "{cpu: 100, memory: 10Ti}"))}, []string{"default 0..25 target 1  m5.xlarge by limits"}},
		{"by a limit of nodes", State{Custom: custom(t, nodePool("default", "{nodes: 7, cpu: 100}"))}, []string{"default 0..7 target 0   by object"}},
		{"counts claims", State{Custom: custom(t, nodePool("default", "{}"), claim)}, []string{"default 0..5000 target 1 z1 m5.large by unbounded"}},
		{"without pools by label", State{Nodes: []*corev1.Node{n}}, []string{"default 0..1 target 1  m5.xlarge by nodes"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lines(Karpenter().Groups(tt.state))); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
}

const yamlStatus = `time: 2026-09-23 10:11:12.123456789 +0000 UTC
autoscalerStatus: Running
nodeGroups:
- name: eks-workers-0ac1b2d3-aaaa-bbbb-cccc-0123456789ab
  health: {status: Healthy, cloudProviderTarget: 3, minSize: 1, maxSize: 10}
- name: aks-pool-12345678-vmss
  health: {status: Healthy, cloudProviderTarget: 1, minSize: 0, maxSize: 4}
- name: https://www.googleapis.com/compute/v1/projects/p/zones/europe-west1-b/instanceGroups/gke-prod-std-1a2b3c4d-grp
  health: {status: Healthy, cloudProviderTarget: 2, minSize: 0, maxSize: 6}
`

const textStatus = `Cluster-autoscaler status at 2023-09-23 10:11:12.123 +0000 UTC:
Cluster-wide:
  Health:      Healthy (ready=3 unready=0 notStarted=0 longNotStarted=0 registered=3 longUnregistered=0)
NodeGroups:
  Name:        workers
  Health:      Healthy (ready=3 unready=0 registered=3 longUnregistered=0 cloudProviderTarget=3 (minSize=1, maxSize=10))
`

func TestParseStatus(t *testing.T) {
	groups, at := ParseStatus(textStatus)
	if diff := cmp.Diff([]StatusGroup{{Name: "workers", Min: 1, Max: 10, Target: 3}}, groups); diff != "" {
		t.Errorf("text status (-want +got):\n%s", diff)
	}
	if want := time.Date(2023, 9, 23, 10, 11, 12, 123e6, time.UTC); !at.Equal(want) {
		t.Errorf("written at %s, want %s", at, want)
	}
	groups, at = ParseStatus(yamlStatus)
	if len(groups) != 3 || groups[0].Target != 3 || at.IsZero() {
		t.Errorf("YAML status: %v at %s", groups, at)
	}
}

func statusMap(text string) []*corev1.ConfigMap {
	return []*corev1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: StatusConfigMap}, Data: map[string]string{"status": text}}}
}

// TestStatusGivesSizes: membership by label, sizes by the status, though the two have other names for a group.
func TestStatusGivesSizes(t *testing.T) {
	eks := node("ip-1", 1, map[string]string{"eks.amazonaws.com/nodegroup": "workers"})
	aks := node("aks-pool-12345678-vmss000000", 1, map[string]string{"kubernetes.azure.com/agentpool": "pool"})
	gke := node("gke-prod-std-1a2b3c4d-x9y8", 1, map[string]string{"cloud.google.com/gke-nodepool": "std", corev1.LabelTopologyZone: "europe-west1-b"})
	now := time.Date(2026, 9, 23, 10, 11, 20, 0, time.UTC)
	tests := []struct {
		name     string
		node     *corev1.Node
		at       time.Time
		want     string
		wantName string
	}{
		{"EKS", eks, now, "workers 1..10 target 3   by cluster-autoscaler-status", "labels:eks.amazonaws.com/nodegroup, sizes from the cluster-autoscaler's status"},
		{"AKS", aks, now, "pool 0..4 target 1   by cluster-autoscaler-status", "labels:kubernetes.azure.com/agentpool, sizes from the cluster-autoscaler's status"},
		{"GKE", gke, now, "std-europe-west1-b 0..6 target 2 europe-west1-b  by cluster-autoscaler-status", "labels:cloud.google.com/gke-nodepool, sizes from the cluster-autoscaler's status"},
		{"a stale status", eks, now.Add(time.Hour), "workers 0..1 target 1   by nodes", "labels:eks.amazonaws.com/nodegroup"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Auto()
			groups := s.Groups(State{At: tt.at, Nodes: []*corev1.Node{tt.node}, Status: statusMap(yamlStatus)})
			found := ""
			for _, g := range groups {
				if g.Name == s.GroupOf(tt.node) {
					found = lines([]*v1alpha1.NodeGroup{g})[0]
				}
			}
			if found != tt.want {
				t.Errorf("group of the node %q, want %q", found, tt.want)
			}
			if s.Name() != tt.wantName {
				t.Errorf("source %q, want %q", s.Name(), tt.wantName)
			}
		})
	}
}

// TestAutoOrder: what auto takes when a cluster shows several things.
func TestAutoOrder(t *testing.T) {
	labelled := node("a", 1, map[string]string{"eks.amazonaws.com/nodegroup": "q"})
	pooled := node("k", 1, map[string]string{karpenterPool: "q", "eks.amazonaws.com/nodegroup": "x"})
	annotated := node("b", 1, nil)
	annotated.Annotations = map[string]string{v1alpha1.NodeGroupAnnotation: "mine"}
	gardener := custom(t, gardenerWorker, machineDeployment("1", "2"), gardenerClass)
	tests := []struct {
		name  string
		state State
		want  string
	}{
		{"annotation before all", State{Nodes: []*corev1.Node{labelled, annotated}, Custom: gardener}, "annotation"},
		{"gardener before labels", State{Nodes: []*corev1.Node{labelled}, Custom: gardener}, "gardener"},
		{"cluster-api before labels", State{Nodes: []*corev1.Node{labelled}, Custom: custom(t, capi)}, "cluster-api"},
		{"karpenter beside labels", State{Nodes: []*corev1.Node{labelled, pooled}, Custom: custom(t, nodePool("q", "{}"))}, "labels:eks.amazonaws.com/nodegroup and karpenter"},
		{"karpenter alone", State{Nodes: []*corev1.Node{pooled}}, "karpenter"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Auto()
			groups := s.Groups(tt.state)
			if s.Name() != tt.want {
				t.Errorf("auto picked %q, want %q", s.Name(), tt.want)
			}
			names := map[string]bool{}
			for _, g := range groups {
				if names[g.Name] {
					t.Errorf("two groups are called %s", g.Name)
				}
				names[g.Name] = true
			}
			if g := s.GroupOf(pooled); s.Name() == "labels:eks.amazonaws.com/nodegroup and karpenter" && g != "nodepool/q" {
				t.Errorf("the pool of the name of a node group is called %q, want nodepool/q", g)
			}
		})
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add(yamlStatus)
	f.Add(textStatus)
	f.Fuzz(func(t *testing.T, s string) {
		groups, _ := ParseStatus(s)
		for _, g := range groups {
			if g.Name == "" || g.Min < 0 || g.Max < g.Min || g.Target < 0 {
				t.Errorf("parsed %+v", g)
			}
		}
	})
}
