package operator

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
	"github.com/scalehist/scalehist/recommender/horizontal/elasti"
)

// prometheus answers queries by their text with what tests set; it has been up for ever.
type prometheus struct {
	url   string
	close func()

	mu      sync.Mutex
	answers map[string]string
	held    map[string]chan struct{}
	// waiting is how many queries were held so far.
	waiting atomic.Int32
}

func newPrometheus(t *testing.T) *prometheus {
	t.Helper()
	p := &prometheus{answers: map[string]string{}, held: map[string]chan struct{}{}}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	p.url, p.close = s.URL, s.Close
	return p
}

// ServeHTTP implements http.Handler.
func (p *prometheus) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query().Get("query")
	p.mu.Lock()
	values, held := p.answers[query], p.held[query]
	p.mu.Unlock()
	if held != nil {
		p.waiting.Add(1)
		select {
		case <-held:
		case <-r.Context().Done():
			return
		}
	}
	if strings.Contains(query, "max(up{") {
		values = "1"
	}
	var series []string
	for _, v := range strings.Fields(values) {
		series = append(series, fmt.Sprintf(`{"metric":{},"value":[1,%q]}`, v))
	}
	_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[`+strings.Join(series, ",")+`]}}`)
}

// set says what a query gives: values with spaces between them.
func (p *prometheus) set(query, values string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[query] = values
}

// hold lets a query wait until the function that is returned is called.
func (p *prometheus) hold(queries ...string) (release func()) {
	gate := make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range queries {
		p.held[q] = gate
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, q := range queries {
			delete(p.held, q)
		}
		close(gate)
	}
}

// fixture is a namespace with a Prometheus, and a handler whose clock tests move.
type fixture struct {
	t         *testing.T
	namespace string
	prom      *prometheus
	clock     *clocktesting.FakeClock
	handler   *Handler
}

// newFixture makes a namespace of that name. The handler's clock is an hour ahead: what is created has been there for an hour.
func newFixture(t *testing.T, namespace string) *fixture {
	t.Helper()
	f := &fixture{t: t, namespace: namespace, prom: newPrometheus(t), clock: clocktesting.NewFakeClock(time.Now().Add(time.Hour).Truncate(time.Second))}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.handler = f.newHandler(cluster, elasti.NewClient(true))
	return f
}

// newHandler is one more, with another connection and another way to Prometheus.
func (f *fixture) newHandler(config *rest.Config, to *http.Client, change ...func(*Options)) *Handler {
	f.t.Helper()
	o := Options{Config: config, Namespace: f.namespace, Clock: f.clock,
		Registry: elasti.Registry{elasti.PrometheusType: elasti.Servers{Client: to}.Factory(f.clock)}}
	for _, c := range change {
		c(&o)
	}
	h, err := New(o)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if err := h.Close(f.t.Context()); err != nil {
			f.t.Error(err)
		}
	})
	return h
}

// poll looks once, without an error of the round.
func (f *fixture) poll() Round {
	f.t.Helper()
	r, err := f.handler.Poll(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{Replicas: &replicas,
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}}}
}

// elastiService scales a Deployment of the same name by the query of that name: a minimum of 2, a cooldown of 15 minutes, threshold 1.
func (f *fixture) elastiService(name string, change func(*elastiv1alpha1.ElastiServiceSpec)) *elastiv1alpha1.ElastiService {
	metadata, err := json.Marshal(map[string]any{"serverAddress": f.prom.url, "query": name, "threshold": "1"})
	if err != nil {
		f.t.Fatal(err)
	}
	s := &elastiv1alpha1.ElastiService{
		TypeMeta:   metav1.TypeMeta{APIVersion: elastiv1alpha1.GroupVersion.String(), Kind: elastiv1alpha1.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.namespace},
		Spec: elastiv1alpha1.ElastiServiceSpec{Service: name, MinTargetReplicas: 2, ScaleTargetRef: elastiv1alpha1.ScaleTargetRef{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			Triggers: []elastiv1alpha1.ScaleTrigger{{Type: elasti.PrometheusType, Metadata: metadata}}},
	}
	if change != nil {
		change(&s.Spec)
	}
	return s
}

// create makes a Deployment and its ElastiService, whose query gives a value.
func (f *fixture) create(name string, replicas int32, value string, change func(*elastiv1alpha1.ElastiServiceSpec)) {
	f.t.Helper()
	if _, err := client.AppsV1().Deployments(f.namespace).Create(f.t.Context(), deployment(name, replicas), metav1.CreateOptions{}); err != nil {
		f.t.Fatal(err)
	}
	f.prom.set(name, value)
	f.createService(f.elastiService(name, change))
}

func (f *fixture) createService(s *elastiv1alpha1.ElastiService) {
	f.t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		f.t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(data); err != nil {
		f.t.Fatal(err)
	}
	unstructured.RemoveNestedField(o.Object, "status")
	if _, err := dyn.Resource(elastiv1alpha1.GroupVersionResource).Namespace(f.namespace).Create(f.t.Context(), o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
		f.t.Fatal(err)
	}
}

// service reads an ElastiService.
func (f *fixture) service(name string) *service {
	f.t.Helper()
	o, err := dyn.Resource(elastiv1alpha1.GroupVersionResource).Namespace(f.namespace).Get(f.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return f.handler.services.read(o)
}

// replicas are those that are wanted of a Deployment.
func (f *fixture) replicas(name string) int32 {
	f.t.Helper()
	d, err := client.AppsV1().Deployments(f.namespace).Get(f.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return *d.Spec.Replicas
}

// ready is the condition of an ElastiService: "True Needed: it is needed".
func (f *fixture) ready(name string) string {
	f.t.Helper()
	for _, c := range f.service(name).Status.Conditions {
		if c.Type == elastiv1alpha1.ConditionReady {
			return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
	}
	return "none"
}

// eventually waits for a state of the API server, which another process or goroutine brings about.
func eventually(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for !reached() {
		if t.Context().Err() != nil {
			t.Fatalf("waited for %s", what)
		}
	}
}

// events are those about an ElastiService: "Warning FailedToScale message", in the order of their names.
func (f *fixture) events(name string) []string {
	f.t.Helper()
	list, err := client.CoreV1().Events(f.namespace).List(f.t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name + ",involvedObject.kind=" + elastiv1alpha1.Kind})
	if err != nil {
		f.t.Fatal(err)
	}
	var out []string
	for _, e := range list.Items {
		for range e.Count { // the same again is the same event
			out = append(out, fmt.Sprintf("%s %s %s", e.Type, e.Reason, e.Message))
		}
	}
	return out
}
