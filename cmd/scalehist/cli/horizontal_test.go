package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/recorder/service"
)

func init() { onClusters = append(onClusters, serveHorizontal) }

// serveHorizontal: the definition that is printed can be applied, and a target that nobody needs is scaled to zero by a process that leads,
// answers probes and logs lines of JSON, until it is stopped.
func serveHorizontal(t *testing.T, client kubernetes.Interface, kubeconfig string) {
	prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		value := "0"
		if strings.Contains(r.URL.Query().Get("query"), "up{") {
			value = "1"
		}
		fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,%q]}]}}`, value)
	}))
	defer prometheus.Close()
	code, definition, stderr := run(t, t.Context(), "horizontal", "crd")
	if code != console.ExitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	config, err := service.Kubeconfig(kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	apply := func(resource, text string) error {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			return err
		}
		gv := o.GroupVersionKind().GroupVersion()
		var c dynamic.ResourceInterface = dyn.Resource(gv.WithResource(resource))
		if o.GetNamespace() != "" {
			c = dyn.Resource(gv.WithResource(resource)).Namespace(o.GetNamespace())
		}
		_, err := c.Create(t.Context(), o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		return err
	}
	if err := apply("customresourcedefinitions", definition); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "web"}
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}}}
	if _, err := client.AppsV1().Deployments("default").Create(t.Context(), web, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const elastiService = `{apiVersion: elasti.truefoundry.com/v1alpha1, kind: ElastiService, metadata: {name: web, namespace: default}, spec: {service: web, cooldownPeriod: 0, ` +
		`scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, triggers: [{type: prometheus, metadata: {query: q, threshold: 0.5}}]}}`
	err = apply(elastiv1alpha1.Resource, elastiService)
	for apierrors.IsNotFound(err) && t.Context().Err() == nil { // it is served soon
		err = apply(elastiv1alpha1.Resource, elastiService)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	scaled, ended := make(chan struct{}), make(chan int, 1)
	errs := &waitingBuffer{text: `"msg":"Scaled"`, found: func() { close(scaled) }}
	args := []string{"horizontal", "serve", "--kubeconfig", kubeconfig, "--interval", "50ms", "--log-format", "json", "--health-listen", "127.0.0.1:0", "--identity", "me",
		"--prometheus", prometheus.URL, "--allowed-prometheus", "none.example"}
	go func() { ended <- Execute(ctx, args, console.IO{Out: io.Discard, Err: errs}) }()
	select {
	case <-scaled:
	case <-ctx.Done():
		t.Fatalf("nothing was scaled: %s", errs)
	}
	probe, err := http.NewRequestWithContext(ctx, http.MethodGet, regexp.MustCompile(`http://127\S+/healthz`).FindString(errs.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := new(http.Transport).RoundTrip(probe); err != nil || resp.StatusCode != http.StatusOK || resp.Body.Close() != nil {
		t.Errorf("the probe is answered with %+v, %v", resp, err)
	}
	stop()
	if code := <-ended; code != console.ExitOK {
		t.Errorf("exit %d: %s", code, errs)
	}
	after, err := client.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || *after.Spec.Replicas != 0 {
		t.Errorf("%d replicas, %v, want 0", *after.Spec.Replicas, err)
	}
	lease, err := client.CoordinationV1().Leases("default").Get(t.Context(), "scalehist-horizontal", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != "" {
		t.Errorf("the lease is not given back: %+v, %v", lease, err)
	}
	for line := range strings.Lines(errs.String()) {
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &map[string]any{}) != nil {
			t.Errorf("no line of JSON: %s", line)
		}
	}
	if !strings.HasPrefix(errs.String(), "probes at http://127.0.0.1:") || !strings.Contains(errs.String(), "scaling the targets of ElastiServices of all namespaces; Ctrl-C stops\n") {
		t.Errorf("it says %s", errs)
	}
}

// TestHorizontalMistakes: what is wrong is said before anybody is asked.
func TestHorizontalMistakes(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--interval", "0s"}, "--interval 0s: must be more than 0"},
		{[]string{"--log-format", "xml"}, "--log-format xml: want text or json"},
		{[]string{"--kubeconfig", "no/such/file"}, "horizontal serve: kubeconfig: stat no/such/file"},
		{[]string{"--kubeconfig", kubeconfig(t), "--health-listen", "256.0.0.1:1"}, "choose another --health-listen"},
	} {
		code, _, stderr := run(t, t.Context(), append([]string{"horizontal", "serve"}, c.args...)...)
		if code != console.ExitFailed || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit %d, %s; want %s", c.args, code, stderr, c.want)
		}
	}
}
