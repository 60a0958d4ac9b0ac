package deploy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
	"github.com/scalehist/scalehist/cmd/scalehist/cli"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/recommender/horizontal/elasti"
	"github.com/scalehist/scalehist/recommender/horizontal/elasti/operator"
)

const horizontal = "scalehist-horizontal"

// TestHorizontal: a real API server takes every object; the pod is let into its namespace; the account may do what scaling takes, and no more.
func TestHorizontal(t *testing.T) {
	own, err := os.ReadFile(filepath.Join("horizontal", "crd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(own, elastiv1alpha1.Definition) {
		t.Error("horizontal/crd.yaml is not api/elasti/v1alpha1/crd.yaml: copy it")
	}
	objects := build(t, "horizontal")
	for _, o := range objects {
		there(t, o)
	}
	var deployment appsv1.Deployment
	find(t, objects, "Deployment", horizontal, &deployment)
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: horizontal}, Spec: deployment.Spec.Template.Spec}
	asPod := unstructuredOf(t, pod)
	if err := create(t, asPod, true); err != nil {
		t.Errorf("its pod: %v", err)
	}
	var out, errs bytes.Buffer
	args := append(slices.Clone(deployment.Spec.Template.Spec.Containers[0].Args), "--kubeconfig", "none")
	if cli.Execute(t.Context(), args, console.IO{In: strings.NewReader(""), Out: &out, Err: &errs}); !strings.Contains(errs.String(), "kubeconfig: stat none") {
		t.Errorf("its arguments: %s", errs.String())
	}
	prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		value := "0"
		if strings.Contains(r.URL.Query().Get("query"), "up{") {
			value = "1"
		}
		_, _ = io.WriteString(w, fmt.Sprintf(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,%q]}]}}`, value))
	}))
	defer prometheus.Close()
	target := deployment.DeepCopy()
	target.ObjectMeta, target.TypeMeta = metav1.ObjectMeta{Name: "target", Namespace: "default"}, metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}
	there(t, unstructuredOf(t, target))
	service := unstructuredOf(t, &elastiv1alpha1.ElastiService{
		TypeMeta: metav1.TypeMeta{APIVersion: elastiv1alpha1.GroupVersion.String(), Kind: elastiv1alpha1.Kind}, ObjectMeta: metav1.ObjectMeta{Name: "target", Namespace: "default"},
		Spec: elastiv1alpha1.ElastiServiceSpec{ScaleTargetRef: elastiv1alpha1.ScaleTargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "target"}, Service: "target",
			Triggers: []elastiv1alpha1.ScaleTrigger{{Type: elasti.PrometheusType, Metadata: json.RawMessage(`{"query": "q", "threshold": "1", "serverAddress": "` + prometheus.URL + `"}`)}}},
	})
	unstructured.RemoveNestedField(service.Object, "status")
	err = create(t, service, false)
	for apierrors.IsNotFound(err) && t.Context().Err() == nil { // it is served soon
		err = create(t, service, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(cluster)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + horizontal + ":" + horizontal, Groups: []string{"system:authenticated"}}
	clock := clocktesting.NewFakeClock(time.Now().Add(time.Hour))
	h, err := operator.New(operator.Options{Config: config, Clock: clock, Registry: elasti.Registry{elasti.PrometheusType: elasti.Servers{Client: elasti.NewClient(true)}.Factory(clock)}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		t.Fatal(err)
	}
	poll(t, "the rules to hold, and the target to be scaled", func() bool {
		_, err := h.Poll(t.Context())
		d, got := c.AppsV1().Deployments("default").Get(t.Context(), "target", metav1.GetOptions{})
		return err == nil && got == nil && *d.Spec.Replicas == 0
	})
	poll(t, "its event", func() bool {
		list, err := c.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=target,reason=" + operator.EventScaled})
		return err == nil && len(list.Items) > 0
	})
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	as, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := as.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("it may list Secrets: %v", err)
	}
	if err := as.AppsV1().Deployments("default").Delete(t.Context(), "target", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("it may delete what it scales: %v", err)
	}
	lease := func(name string) error {
		_, err := as.CoordinationV1().Leases(horizontal).Get(t.Context(), name, metav1.GetOptions{})
		return err
	}
	if own, other := lease(operator.Name), lease("another"); apierrors.IsForbidden(own) || !apierrors.IsForbidden(other) {
		t.Errorf("its own lease: %v; another: %v", own, other)
	}
}

func unstructuredOf(t *testing.T, o any) *unstructured.Unstructured {
	t.Helper()
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return out
}
