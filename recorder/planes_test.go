package recorder

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist/harness/kvcl/assets"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// anotherCluster is an API server of the test's own.
func anotherCluster(t *testing.T) (*rest.Config, dynamic.Interface, kubernetes.Interface) {
	t.Helper()
	paths, err := assets.Ensure(t.Context(), assets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	env := &envtest.Environment{BinaryAssetsDirectory: filepath.Dir(paths.KubeAPIServer)}
	cfg, err := env.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	cfg.QPS = -1
	return cfg, must[dynamic.Interface](t)(newDynamic(cfg)), must[kubernetes.Interface](t)(newKube(cfg))
}

func newDynamic(cfg *rest.Config) (dynamic.Interface, error) { return dynamic.NewForConfig(cfg) }
func newKube(cfg *rest.Config) (kubernetes.Interface, error) { return kubernetes.NewForConfig(cfg) }

// serve installs a CustomResourceDefinition and waits until it is served.
func serve(t *testing.T, c dynamic.Interface, group, version, kind, plural string) schema.GroupVersionResource {
	t.Helper()
	crd := parse(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: `+plural+`.`+group+`
  annotations: {api-approved.kubernetes.io: "unapproved, for a test"}
spec:
  group: `+group+`
  scope: Namespaced
  names: {kind: `+kind+`, plural: `+plural+`, singular: `+strings.ToLower(kind)+`, listKind: `+kind+`List}
  versions:
  - name: `+version+`
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`)
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	must[*unstructured.Unstructured](t)(c.Resource(crds).Create(t.Context(), crd, metav1.CreateOptions{}))
	out := schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
	eventually(t, plural+" are served", func() bool {
		_, err := c.Resource(out).List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	return out
}

// eventually polls a state.
func eventually(t *testing.T, what string, reached func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !reached() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %s", what, patience)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	data := must[[]byte](t)(yaml.YAMLToJSON([]byte(text)))
	if err := o.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return o
}

func caDeployment(namespace string, args ...string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cluster-autoscaler"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "ca"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "ca"}}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "cluster-autoscaler", Image: "x/cluster-autoscaler:v1.32.1", Command: append([]string{"./cluster-autoscaler"}, args...)}}}}}}
}

// TestControlPlaneOfAnotherCluster: machines and autoscaler of a shoot come from one namespace of its seed, in versions.
func TestControlPlaneOfAnotherCluster(t *testing.T) {
	seed, dyn, kube := anotherCluster(t)
	c, name := client(t)
	machines := serve(t, dyn, "machine.sapcloud.io", "v1alpha1", "MachineDeployment", "machinedeployments")
	const shoot = "shoot--dev--web"
	for _, ns := range []string{shoot, "shoot--dev--other"} {
		must[*corev1.Namespace](t)(kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{}))
		must[*unstructured.Unstructured](t)(dyn.Resource(machines).Namespace(ns).Create(t.Context(), parse(t, `
apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineDeployment
metadata: {name: `+ns+`-workers-z1}
spec:
  replicas: 1
  template: {spec: {nodeTemplate: {metadata: {labels: {worker.gardener.cloud/pool: workers}}}}}
`), metav1.CreateOptions{}))
	}
	etcd := caDeployment(shoot)
	etcd.Name, etcd.Spec.Template.Spec.Containers[0].Name, etcd.Spec.Template.Spec.Containers[0].Image = "etcd", "etcd", "etcd"
	etcd.Spec.Template.Spec.Containers[0].Command = []string{"etcd"}
	must[*appsv1.Deployment](t)(kube.AppsV1().Deployments(shoot).Create(t.Context(), etcd, metav1.CreateOptions{}))
	group := shoot + "." + shoot + "-workers-z1"
	flags := []string{"--expander=least-waste", "--nodes=1:5:" + group, "--scale-down-unneeded-time=30m", "--skip-nodes-with-local-storage=false",
		"--max-node-group-backoff-duration=5m", "--cloud-config=/etc/cloud.conf", "--api-token=s3cret"}
	ca := must[*appsv1.Deployment](t)(kube.AppsV1().Deployments(shoot).Create(t.Context(), caDeployment(shoot, flags...), metav1.CreateOptions{}))
	n := node(name, "")
	n.Labels = map[string]string{"worker.gardener.cloud/pool": "workers"}
	must[*corev1.Node](t)(c.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}))

	path := filepath.Join(t.TempDir(), "h.db")
	r, err := New(cluster, Options{Path: path, ControlPlane: &ControlPlane{Config: seed, Namespace: shoot}})
	if err != nil {
		t.Fatal(err)
	}
	r.others.every = 20 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	rec := &recording{Recorder: r, t: t, path: path, stop: stop, done: done}
	if err := r.WaitForStart(t.Context()); err != nil {
		t.Fatal(err)
	}
	rec.flush()
	first := r.now()
	md := must[*unstructured.Unstructured](t)(dyn.Resource(machines).Namespace(shoot).Get(t.Context(), shoot+"-workers-z1", metav1.GetOptions{}))
	if err := unstructured.SetNestedField(md.Object, int64(3), "spec", "replicas"); err != nil {
		t.Fatal(err)
	}
	must[*unstructured.Unstructured](t)(dyn.Resource(machines).Namespace(shoot).Update(t.Context(), md, metav1.UpdateOptions{}))
	ca.Spec.Template.Spec.Containers[0].Command[1] = "--expander=priority"
	must[*appsv1.Deployment](t)(kube.AppsV1().Deployments(shoot).Update(t.Context(), ca, metav1.UpdateOptions{}))
	rec.flush()
	second := r.now()

	// A kind that comes to be served later.
	sets := serve(t, dyn, "machine.sapcloud.io", "v1alpha1", "MachineSet", "machinesets")
	must[*unstructured.Unstructured](t)(dyn.Resource(sets).Namespace(shoot).Create(t.Context(), parse(t, `
apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineSet
metadata: {name: late}
spec: {replicas: 1}
`), metav1.CreateOptions{}))
	eventually(t, "the late kind is watched", func() bool { return len(r.all()) > len(r.watches) })
	eventually(t, "its first list has come", func() bool {
		w := r.all()[len(r.watches)]
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.listed
	})
	rec.flush()
	last := r.now()
	rec.end()

	db := open(t, path)
	targets := []int{}
	for _, at := range []time.Time{first, second} {
		s := snapshotAt(t, db, at)
		for _, g := range s.NodeGroups {
			if g.Name != group {
				t.Errorf("node group %s, want %s only", g.Name, group)
			}
			targets = append(targets, g.MinSize, g.MaxSize, g.TargetSize)
		}
		for _, d := range s.Objects.Deployments {
			if d.Name == "etcd" {
				t.Error("a Deployment of the control plane that is no autoscaler is recorded")
			}
		}
		for _, recorded := range s.Nodes {
			if recorded.Name == name && recorded.NodeGroup != group {
				t.Errorf("the node is in group %q, want %q", recorded.NodeGroup, group)
			}
		}
	}
	if diff := cmp.Diff([]int{1, 5, 1, 1, 5, 3}, targets); diff != "" {
		t.Errorf("bounds and target size over time (-want +got):\n%s", diff)
	}
	late := []string{}
	for _, o := range snapshotAt(t, db, last).Objects.Custom {
		late = append(late, objectlog.KindOf(o)+" "+o.GetName())
	}
	want := []string{"MachineDeployment.machine.sapcloud.io " + shoot + "-workers-z1", "MachineSet.machine.sapcloud.io late"}
	if diff := cmp.Diff(want, late); diff != "" {
		t.Errorf("custom objects (-want +got):\n%s", diff)
	}
	recordsAutoscalers(t, seed, dyn)
	// Every flag, in versions, and no secret.
	flags[len(flags)-2], flags[len(flags)-1] = "--cloud-config=***", "--api-token=***"
	for at, expander := range map[time.Time]string{first: "--expander=least-waste", second: "--expander=priority"} {
		flags[0] = expander
		snapshot, err := db.SnapshotAt(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(flags, snapshot.CASettings.Flags); diff != "" {
			t.Errorf("flags (-want +got):\n%s", diff)
		}
	}
}

// TestPrioritiesWithoutAutoscaler: prior art lost the priorities when the ConfigMap came before the Deployment.
func TestPrioritiesWithoutAutoscaler(t *testing.T) {
	c, ns := client(t)
	path := filepath.Join(t.TempDir(), "h.db")
	rec := record(t, cluster, Options{Path: path})
	priorities := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "cluster-autoscaler-priority-expander"}, Data: map[string]string{"priorities": "10: [.*]"}}
	must[*corev1.ConfigMap](t)(c.CoreV1().ConfigMaps(ns).Create(t.Context(), priorities, metav1.CreateOptions{}))
	rec.flush()
	must[*appsv1.Deployment](t)(c.AppsV1().Deployments(ns).Create(t.Context(), caDeployment(ns, "--v=1"), metav1.CreateOptions{}))
	rec.flush()
	at := rec.now()
	rec.end()
	snapshot, err := open(t, path).SnapshotAt(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if snapshot.CASettings.Priorities != "10: [.*]" || len(snapshot.CASettings.Flags) != 1 {
		t.Errorf("settings %+v, want the priorities and the flag", snapshot.CASettings)
	}
}

// TestPriorityClassOnceAfterRestart: prior art stored a PriorityClass again with every list.
func TestPriorityClassOnceAfterRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	for range 3 {
		record(t, cluster, Options{Path: path}).end()
	}
	stats, err := open(t, path).Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range stats.Kinds {
		if k.Kind == "PriorityClass" && k.Versions != k.Objects {
			t.Errorf("%d versions of %d PriorityClasses that did not change", k.Versions, k.Objects)
		}
	}
}
