package deploy

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	vpaclient "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/client/clientset/versioned"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist/cmd/scalehist/cli"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/harness/kvcl/apitest"
	"github.com/scalehist/scalehist/recommender/vertical/operator"
)

// verticalObjects are a VPA with its workload, and the metrics API with usage of the workload's pod.
const verticalObjects = `
{apiVersion: v1, kind: Namespace, metadata: {name: recommended}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: recommended}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: recommended, labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}
---
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: web, namespace: recommended}
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  recommenders: [{name: scalehist-vertical}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pods.metrics.k8s.io, annotations: {api-approved.kubernetes.io: "unapproved, for a test"}}
spec:
  group: metrics.k8s.io
  scope: Namespaced
  names: {kind: PodMetrics, plural: pods, singular: podmetrics, listKind: PodMetricsList}
  versions: [{name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// TestVertical: a real API server takes every object; the pod is let into its namespace; dry, the account may read what recommending takes, and
// write nothing; with deploy/vertical-write it may write what is recommended, and no more.
func TestVertical(t *testing.T) {
	if err := apitest.DefineVPAs(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	for text := range strings.SplitSeq(verticalObjects, "---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		there(t, o)
	}
	usage := &unstructured.Unstructured{}
	err := yaml.Unmarshal([]byte(`{apiVersion: metrics.k8s.io/v1beta1, kind: PodMetrics, metadata: {name: a, namespace: recommended}, timestamp: "2026-01-02T03:04:05Z", window: 15s,
containers: [{name: c, usage: {cpu: 500m, memory: 600Mi}}]}`), &usage.Object)
	if err != nil {
		t.Fatal(err)
	}
	metrics := client(t).Resource(usage.GroupVersionKind().GroupVersion().WithResource("pods")).Namespace("recommended")
	poll(t, "the metrics API", func() bool {
		_, err := metrics.Create(t.Context(), usage, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err)
	})
	for _, dir := range []string{"vertical", "vertical-write"} {
		objects := build(t, dir)
		for _, o := range objects {
			if o.GetKind() == "Deployment" {
				continue
			}
			there(t, o)
		}
		write := dir == "vertical-write"
		args := argsOf(t, objects)
		if slices.Contains(args, "--write") != write {
			t.Errorf("%s: its arguments: %v", dir, args)
		}
		path, as := verticalAccount(t)
		args = append(args[:len(args):len(args)], "--kubeconfig", path, "--once", "--health-listen", "")
		var out, errs bytes.Buffer
		poll(t, "the rules to hold", func() bool {
			out.Reset()
			errs.Reset()
			return cli.Execute(t.Context(), args, console.IO{In: strings.NewReader(""), Out: &out, Err: &errs}) == console.ExitOK || !strings.Contains(errs.String(), "forbidden")
		})
		if want := map[bool]string{false: `"written":false`, true: `"written":true`}[write]; !strings.Contains(out.String(), want) || errs.Len() > 0 {
			t.Errorf("%s: %s%s", dir, &out, &errs)
		}
		verticalMay(t, as, write)
	}
}

// argsOf are the arguments of the Deployment, whose pod is let into its namespace.
func argsOf(t *testing.T, objects []*unstructured.Unstructured) []string {
	t.Helper()
	var deployment appsv1.Deployment
	find(t, objects, "Deployment", operator.Name, &deployment)
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: operator.Name}, Spec: deployment.Spec.Template.Spec}
	if err := create(t, unstructuredOf(t, pod), true); err != nil {
		t.Errorf("its pod: %v", err)
	}
	return deployment.Spec.Template.Spec.Containers[0].Args
}

// verticalAccount is a kubeconfig of the account.
func verticalAccount(t *testing.T) (path string, as *rest.Config) {
	t.Helper()
	as = rest.CopyConfig(cluster)
	as.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + operator.Name + ":" + operator.Name, Groups: []string{"system:authenticated"}}
	path = t.TempDir() + "/kubeconfig"
	c := clientcmdapi.NewConfig()
	c.Clusters["c"] = &clientcmdapi.Cluster{Server: cluster.Host, CertificateAuthorityData: cluster.CAData, CertificateAuthority: cluster.CAFile}
	c.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: cluster.BearerToken, ClientCertificateData: cluster.CertData, ClientKeyData: cluster.KeyData, ClientCertificate: cluster.CertFile, ClientKey: cluster.KeyFile,
		Impersonate: as.Impersonate.UserName, ImpersonateGroups: as.Impersonate.Groups}
	c.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	c.CurrentContext = "x"
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		t.Fatal(err)
	}
	return path, as
}

// verticalMay: the account may do no more than it must.
func verticalMay(t *testing.T, as *rest.Config, write bool) {
	t.Helper()
	c, err := kubernetes.NewForConfig(as)
	if err != nil {
		t.Fatal(err)
	}
	vpas, err := vpaclient.NewForConfig(as)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().Secrets("recommended").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("it may list Secrets: %v", err)
	}
	if err := c.CoreV1().Pods("recommended").Delete(t.Context(), "a", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("it may delete pods: %v", err)
	}
	if _, err := c.AppsV1().Deployments("recommended").Patch(t.Context(), "web", "application/merge-patch+json", []byte("{}"), metav1.PatchOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("it may change what it recommends for: %v", err)
	}
	of := vpas.AutoscalingV1().VerticalPodAutoscalers("recommended")
	if _, err := of.Patch(t.Context(), "web", "application/merge-patch+json", []byte("{}"), metav1.PatchOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("it may change the specification of a VPA: %v", err)
	}
	_, err = of.Patch(t.Context(), "web", "application/merge-patch+json", []byte("{}"), metav1.PatchOptions{}, "status")
	if apierrors.IsForbidden(err) == write {
		t.Errorf("writes %v: the status of a VPA: %v", write, err)
	}
	list, err := vpas.AutoscalingV1().VerticalPodAutoscalerCheckpoints("recommended").List(t.Context(), metav1.ListOptions{})
	if err != nil || (len(list.Items) > 0) != write {
		t.Errorf("writes %v: checkpoints %+v, %v", write, list, err)
	}
	lease := func(name string) error {
		_, err := c.CoordinationV1().Leases(operator.Name).Get(t.Context(), name, metav1.GetOptions{})
		return err
	}
	if own, other := lease(operator.Name), lease("another"); apierrors.IsForbidden(own) == write || !apierrors.IsForbidden(other) {
		t.Errorf("writes %v: its own lease: %v; another: %v", write, own, other)
	}
}
