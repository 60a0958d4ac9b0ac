package hpa_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	hpainformers "k8s.io/client-go/informers/autoscaling/v2"
	podinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	hpaclient "k8s.io/client-go/kubernetes/typed/autoscaling/v2"
	hpalisters "k8s.io/client-go/listers/autoscaling/v2"
	podlisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	"k8s.io/klog/v2"
	conversion "k8s.io/kubernetes/pkg/apis/autoscaling/v2"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	hpametrics "k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"

	"github.com/scalehist/scalehist/recommender/horizontal/hpa"
)

// controller is the horizontal pod autoscaler of kube-controller-manager over a cluster of the test. It lives in a synctest bubble, whose
// clock it reads. The lock is of all that follows it: a sleep until its next sync says nothing to the race detector.
type controller struct {
	sync.Mutex
	cluster *cluster
	objects *cachetesting.FakeControllerSource
	pods    cache.Indexer
	stored  map[string]*autoscalingv2.HorizontalPodAutoscaler // by name, with the last status

	events map[string][]hpa.Event // by the name of the autoscaler, since the last look
	errors []string               // of reconciliations since the last look
}

// startController runs the real controller until the bubble's context ends; the caller waits for its goroutines by leaving the bubble.
func startController(ctx context.Context, t *testing.T, c *cluster, o hpa.Options) *controller {
	u := &controller{
		cluster: c,
		objects: cachetesting.NewFakeControllerSource(),
		pods:    cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		stored:  map[string]*autoscalingv2.HorizontalPodAutoscaler{},
		events:  map[string][]hpa.Event{},
	}
	// Errors of reconciliations end here. Upstream's own handler would slow the controller down by the time since the last error, which is
	// another bubble's.
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(_ context.Context, err error, _ string, _ ...any) {
		u.Lock()
		defer u.Unlock()
		u.errors = append(u.errors, err.Error())
	}}
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })

	ctx = klog.NewContext(ctx, logr.New(&eventSink{controller: u}))
	informer := cache.NewSharedIndexInformer(u.objects, &autoscalingv2.HorizontalPodAutoscaler{}, o.SyncPeriod,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: "apps", Version: "v1"}})
	mapper.Add(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, meta.RESTScopeNamespace)
	real := podautoscaler.NewHorizontalController(ctx, (&fake.Clientset{}).CoreV1(), scales{u}, writer{controller: u}, mapper, u,
		hpaInformer{informer}, podInformer{indexer: u.pods}, o.SyncPeriod, o.DownscaleStabilization, o.Tolerance,
		o.CPUInitializationPeriod, o.InitialReadinessDelay)
	go informer.Run(ctx.Done())
	go real.Run(ctx, 1)
	synctest.Wait()
	return u
}

// add creates an autoscaler as the API server would, with defaults.
func (u *controller) add(h *autoscalingv2.HorizontalPodAutoscaler) {
	u.Lock()
	u.stored[h.Name] = defaulted(h)
	u.objects.Add(u.stored[h.Name].DeepCopy())
	u.Unlock()
	synctest.Wait()
}

// setSpec updates the spec of an autoscaler.
func (u *controller) setSpec(name string, spec autoscalingv2.HorizontalPodAutoscalerSpec) {
	u.Lock()
	h := u.stored[name].DeepCopy()
	h.Spec = spec
	u.stored[name] = defaulted(h)
	u.objects.Modify(u.stored[name].DeepCopy())
	u.Unlock()
	synctest.Wait()
}

// remove deletes an autoscaler.
func (u *controller) remove(name string) {
	u.Lock()
	u.objects.Delete(u.stored[name].DeepCopy())
	delete(u.stored, name)
	u.Unlock()
	synctest.Wait()
}

func defaulted(h *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	h = h.DeepCopy()
	conversion.SetDefaults_HorizontalPodAutoscaler(h)
	return h
}

// showPods makes the pods of the cluster those that the controller sees.
func (u *controller) showPods() {
	var all []any
	for _, w := range u.cluster.workloads {
		for _, p := range w.pods {
			all = append(all, p)
		}
	}
	if err := u.pods.Replace(all, ""); err != nil {
		panic(err)
	}
}

// look returns the events of an autoscaler and the errors of all since the last look.
func (u *controller) look(name string) ([]hpa.Event, []string) {
	events, errs := u.events[name], u.errors
	u.events[name], u.errors = nil, nil
	return events, errs
}

// eventSink reads events from the log, where none is dropped: the sink in front of the API server aggregates and limits them.
type eventSink struct {
	logr.LogSink
	controller *controller
}

func (s *eventSink) Init(logr.RuntimeInfo)          {}
func (s *eventSink) Enabled(level int) bool         { return level <= 3 }
func (s *eventSink) Error(error, string, ...any)    {}
func (s *eventSink) WithValues(...any) logr.LogSink { return s }
func (s *eventSink) WithName(string) logr.LogSink   { return s }
func (s *eventSink) Info(_ int, msg string, pairs ...any) {
	if msg != "Event occurred" {
		return
	}
	values := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values[pairs[i].(string)] = pairs[i+1]
	}
	name := values["object"].(klog.ObjectRef).Name
	s.controller.Lock()
	defer s.controller.Unlock()
	s.controller.events[name] = append(s.controller.events[name], hpa.Event{
		Type: values["type"].(string), Reason: values["reason"].(string), Message: values["message"].(string),
	})
}

// hpaInformer and podInformer are informers over what the test has.
type hpaInformer struct{ informer cache.SharedIndexInformer }

var _ hpainformers.HorizontalPodAutoscalerInformer = hpaInformer{}

func (i hpaInformer) Informer() cache.SharedIndexInformer { return i.informer }
func (i hpaInformer) Lister() hpalisters.HorizontalPodAutoscalerLister {
	return hpalisters.NewHorizontalPodAutoscalerLister(i.informer.GetIndexer())
}

type podInformer struct {
	cache.SharedIndexInformer
	indexer cache.Indexer
}

var _ podinformers.PodInformer = podInformer{}

func (i podInformer) Informer() cache.SharedIndexInformer { return i }
func (i podInformer) Lister() podlisters.PodLister        { return podlisters.NewPodLister(i.indexer) }
func (i podInformer) HasSynced() bool                     { return true }

// writer is the API for autoscalers, of which the controller writes the status.
type writer struct {
	hpaclient.HorizontalPodAutoscalerInterface
	controller *controller
}

func (w writer) HorizontalPodAutoscalers(string) hpaclient.HorizontalPodAutoscalerInterface { return w }

func (w writer) UpdateStatus(_ context.Context, h *autoscalingv2.HorizontalPodAutoscaler, _ metav1.UpdateOptions) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	w.controller.Lock()
	defer w.controller.Unlock()
	// A write to the status leaves the spec alone.
	stored := w.controller.stored[h.Name].DeepCopy()
	stored.Status = *h.Status.DeepCopy()
	w.controller.stored[h.Name] = stored
	w.controller.objects.Modify(stored.DeepCopy())
	return stored, nil
}

// scales is the scale subresource of the cluster's workloads.
type scales struct{ *controller }

func (s scales) Scales(string) scale.ScaleInterface { return s }

func (s scales) Get(_ context.Context, _ schema.GroupResource, name string, _ metav1.GetOptions) (*autoscalingv1.Scale, error) {
	s.Lock()
	defer s.Unlock()
	w := s.cluster.workloads[name]
	if w.scaleErr != nil {
		return nil, w.scaleErr
	}
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       autoscalingv1.ScaleSpec{Replicas: w.wanted},
		Status:     autoscalingv1.ScaleStatus{Replicas: w.observed, Selector: w.selector},
	}, nil
}

func (s scales) Update(_ context.Context, _ schema.GroupResource, to *autoscalingv1.Scale, _ metav1.UpdateOptions) (*autoscalingv1.Scale, error) {
	s.Lock()
	defer s.Unlock()
	w := s.cluster.workloads[to.Name]
	w.asked = append(w.asked, to.Spec.Replicas)
	if w.updateErr != nil {
		return nil, w.updateErr
	}
	w.wanted = to.Spec.Replicas
	return to, nil
}

func (s scales) Patch(context.Context, schema.GroupVersionResource, string, types.PatchType, []byte, metav1.PatchOptions) (*autoscalingv1.Scale, error) {
	return nil, errors.New("nobody patches")
}

// The controller is also its own metrics client.
var _ hpametrics.MetricsClient = (*controller)(nil)

func (u *controller) GetResourceMetric(_ context.Context, name corev1.ResourceName, _ string, selector labels.Selector, container string) (hpametrics.PodMetricsInfo, time.Time, error) {
	u.Lock()
	defer u.Unlock()
	samples, err := u.cluster.read(selector.String()).Resource(name, container)
	return clone(samples), time.Time{}, err
}

func (u *controller) GetRawMetric(name, _ string, selector, _ labels.Selector) (hpametrics.PodMetricsInfo, time.Time, error) {
	u.Lock()
	defer u.Unlock()
	samples, err := u.cluster.read(selector.String()).Pods(autoscalingv2.MetricIdentifier{Name: name})
	return clone(samples), time.Time{}, err
}

func (u *controller) GetObjectMetric(name, _ string, described *autoscalingv2.CrossVersionObjectReference, _ labels.Selector) (int64, time.Time, error) {
	u.Lock()
	defer u.Unlock()
	value, err := u.cluster.read("").Object(*described, autoscalingv2.MetricIdentifier{Name: name})
	return value, time.Time{}, err
}

func (u *controller) GetExternalMetric(name, _ string, _ labels.Selector) ([]int64, time.Time, error) {
	u.Lock()
	defer u.Unlock()
	values, err := u.cluster.read("").External(autoscalingv2.MetricIdentifier{Name: name})
	return slices.Clone(values), time.Time{}, err
}

// clone copies samples: the controller writes to them.
func clone(samples hpametrics.PodMetricsInfo) hpametrics.PodMetricsInfo {
	out := hpametrics.PodMetricsInfo{}
	for pod, s := range samples {
		out[pod] = s
	}
	return out
}

const namespace = "shop"

// cluster is what both controllers see.
type cluster struct {
	workloads map[string]*workload
	resources map[string]answer // by selector, resource and container
	podValues map[string]answer // by selector and metric
	objects   map[string]answer // by object and metric
	externals map[string]answer // by metric
}

// answer is what a metrics API says.
type answer struct {
	samples hpametrics.PodMetricsInfo
	values  []int64
	err     error
}

// workload is a target of an autoscaler.
type workload struct {
	name, selector      string
	wanted, observed    int32
	pods                []*corev1.Pod
	scaleErr, updateErr error
	// asked are the sizes that the real controller asked for since the last look.
	asked []int32
}

// target is the workload as ours sees it. The sizes that ours asks for are added to asked, and change nothing: the real controller's do.
func (c *cluster) target(name string, asked *[]int32) hpa.Target {
	w := c.workloads[name]
	return hpa.Target{
		SpecReplicas: w.wanted, StatusReplicas: w.observed, Selector: w.selector, Pods: c.matching(w.selector), Err: w.scaleErr,
		Update: func(replicas int32) error {
			*asked = append(*asked, replicas)
			return w.updateErr
		},
	}
}

// matching are the pods of a selector, none if it cannot be read.
func (c *cluster) matching(selector string) []*corev1.Pod {
	parsed, err := labels.Parse(selector)
	if err != nil {
		return nil
	}
	var pods []*corev1.Pod
	for _, name := range slices.Sorted(maps.Keys(c.workloads)) {
		for _, p := range c.workloads[name].pods {
			if parsed.Matches(labels.Set(p.Labels)) {
				pods = append(pods, p)
			}
		}
	}
	return pods
}

// read answers queries for the pods of a selector.
func (c *cluster) read(selector string) reader { return reader{c, selector} }

type reader struct {
	*cluster
	selector string
}

var _ hpa.Metrics = reader{}

func (r reader) Resource(name corev1.ResourceName, container string) (hpametrics.PodMetricsInfo, error) {
	a := r.resources[fmt.Sprintf("%s %s %s", r.selector, name, container)]
	return a.samples, a.err
}

func (r reader) Pods(metric autoscalingv2.MetricIdentifier) (hpametrics.PodMetricsInfo, error) {
	a := r.podValues[r.selector+" "+metric.Name]
	return a.samples, a.err
}

func (r reader) Object(described autoscalingv2.CrossVersionObjectReference, metric autoscalingv2.MetricIdentifier) (int64, error) {
	a := r.objects[described.Name+" "+metric.Name]
	if len(a.values) == 0 {
		return 0, a.err
	}
	return a.values[0], a.err
}

func (r reader) External(metric autoscalingv2.MetricIdentifier) ([]int64, error) {
	a := r.externals[metric.Name]
	return a.values, a.err
}
