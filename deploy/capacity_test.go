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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/scalehist/scalehist/cmd/scalehist/cli"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/virtualca/nodemanager/multicluster"
)

const capacity = "scalehist-capacity"

// TestCapacity: a real API server takes every object; the pods are let into their namespace; the command line takes their arguments; the accounts may do what
// they are for, and no more.
func TestCapacity(t *testing.T) {
	objects := build(t, "capacity")
	for _, o := range objects {
		there(t, o)
	}
	var discovery, manager appsv1.StatefulSet
	var provider appsv1.Deployment
	find(t, objects, "StatefulSet", "discovery", &discovery)
	find(t, objects, "StatefulSet", "node-manager", &manager)
	find(t, objects, "Deployment", "provider", &provider)
	for name, spec := range map[string]corev1.PodSpec{"discovery": discovery.Spec.Template.Spec, "node-manager": manager.Spec.Template.Spec, "provider": provider.Spec.Template.Spec} {
		pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: capacity}, Spec: *spec.DeepCopy()}
		for _, m := range pod.Spec.Containers[0].VolumeMounts {
			if m.Name == "state" { // a claim of the set, which the pod gets from its controller
				pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "state"})
			}
		}
		if err := create(t, unstructuredOf(t, pod), true); err != nil {
			t.Errorf("pod of %s: %v", name, err)
		}
		var out, errs bytes.Buffer
		// The first file it reads is not there: it got past its flags.
		if cli.Execute(t.Context(), slices.Clone(spec.Containers[0].Args), console.IO{In: strings.NewReader(""), Out: &out, Err: &errs}); !strings.Contains(errs.String(), "/etc/scalehist/tls/tls.crt: no such file") {
			t.Errorf("arguments of %s: %s", name, errs.String())
		}
	}
	var borrow corev1.ConfigMap
	at := slices.IndexFunc(manager.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.ConfigMap != nil })
	find(t, objects, "ConfigMap", manager.Spec.Template.Spec.Volumes[at].ConfigMap.Name, &borrow)
	if _, err := multicluster.Parse([]byte(borrow.Data["borrow.yaml"])); err != nil {
		t.Error(err)
	}
	as := func(account string) kubernetes.Interface {
		t.Helper()
		config := rest.CopyConfig(cluster)
		config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + capacity + ":" + account, Groups: []string{"system:authenticated"}}
		c, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	secrets := func(account, namespace string) error {
		_, err := as(account).CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{})
		return err
	}
	poll(t, "the rules to hold", func() bool { return secrets("discovery", capacity) == nil })
	for _, refused := range []error{secrets("discovery", "default"), secrets("node-manager", capacity)} {
		if !apierrors.IsForbidden(refused) {
			t.Errorf("Secrets are read that are not its own: %v", refused)
		}
	}
	poll(t, "nodes to be made", func() bool {
		_, err := as("node-manager").CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "share"}}, metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err)
	})
	if err := as("node-manager").CoreV1().Nodes().Delete(t.Context(), "share", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := as("discovery").CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("discovery may list nodes: %v", err)
	}
}
