package workload

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	appsdefaults "k8s.io/kubernetes/pkg/apis/apps/v1"
	batchdefaults "k8s.io/kubernetes/pkg/apis/batch/v1"
	deploymentcontroller "k8s.io/kubernetes/pkg/controller/deployment"
	jobcontroller "k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/utils/ptr"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	// It waits until a millisecond after the last error, which a clock that starts in the year 2000 has yet to reach.
	utilruntime.ErrorHandlers = nil
	// These make a controller wait in real time for its own writes. Here it sees them before it acts again (see delayed).
	for _, gate := range []string{"StaleControllerConsistencyReplicaSet", "StaleControllerConsistencyStatefulSet", "StaleControllerConsistencyJob"} {
		if err := utilfeature.DefaultMutableFeatureGate.Set(gate + "=false"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

var (
	podsResource         = corev1.SchemeGroupVersion.WithResource("pods")
	deploymentsResource  = appsv1.SchemeGroupVersion.WithResource("deployments")
	replicaSetsResource  = appsv1.SchemeGroupVersion.WithResource("replicasets")
	statefulSetsResource = appsv1.SchemeGroupVersion.WithResource("statefulsets")
	revisionsResource    = appsv1.SchemeGroupVersion.WithResource("controllerrevisions")
	jobsResource         = batchv1.SchemeGroupVersion.WithResource("jobs")
)

const namespace = "shop"

// upstream is a cluster in which the real controllers act: client-go's fake API server with the rules of the real one that matter here,
// in a bubble of synctest, so that its clock is virtual.
type upstream struct {
	client *fake.Clientset

	mu      sync.Mutex
	version int
	// births orders pods; namer gives names and UIDs as a State would.
	births map[types.UID]int
	namer  *State
}

// newUpstream starts the controllers. They end with the context.
func newUpstream(ctx context.Context, t *testing.T) *upstream {
	u := &upstream{client: fake.NewSimpleClientset(), births: map[types.UID]int{}, namer: New(Options{})}
	u.client.PrependReactor("*", "*", u.react)

	// The Deployment controller hears of each kind at a point of its own of a period, all others at once: so ReplicaSets settle in
	// between, and no two acts of a Deployment have the same instant, nor one and a retry, which comes after 5 or 10 milliseconds.
	soon := func() { time.Sleep(100 * time.Nanosecond) }
	at := func(phase time.Duration) func() {
		const period = 1100 * time.Microsecond
		return func() {
			now := time.Duration(time.Now().UnixNano())
			time.Sleep((now - phase).Truncate(period) + phase + period - now)
		}
	}
	sets := informers.NewSharedInformerFactory(u.client, 0)
	replicaSets := replicaset.NewReplicaSetController(ctx, replicaSetInformer{sets.Apps().V1().ReplicaSets(), soon},
		podInformer{sets.Core().V1().Pods(), soon, soon, u}, u.client, replicaset.BurstReplicas)
	rollouts := informers.NewSharedInformerFactory(u.client, 0)
	deployments, err := deploymentcontroller.NewDeploymentController(ctx, deploymentInformer{rollouts.Apps().V1().Deployments(), at(370 * time.Microsecond)},
		replicaSetInformer{rollouts.Apps().V1().ReplicaSets(), at(0)}, podInformer{rollouts.Core().V1().Pods(), func() {}, at(730 * time.Microsecond), u}, u.client)
	if err != nil {
		t.Fatal(err)
	}
	ordered := informers.NewSharedInformerFactory(u.client, 0)
	statefulSets := statefulset.NewStatefulSetController(ctx, podInformer{ordered.Core().V1().Pods(), soon, soon, u},
		statefulSetInformer{ordered.Apps().V1().StatefulSets(), soon}, ordered.Core().V1().PersistentVolumeClaims(), ordered.Apps().V1().ControllerRevisions(), u.client)

	batch := informers.NewSharedInformerFactory(u.client, 0)
	jobs, err := jobcontroller.NewController(ctx, u.client, podInformer{batch.Core().V1().Pods(), soon, soon, u}, jobInformer{batch.Batch().V1().Jobs(), soon}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}

	var running sync.WaitGroup
	for _, f := range []informers.SharedInformerFactory{sets, rollouts, ordered, batch} {
		f.Start(ctx.Done())
		f.WaitForCacheSync(ctx.Done())
	}
	running.Go(func() { replicaSets.Run(ctx, 1) })
	running.Go(func() { deployments.Run(ctx, 1) })
	running.Go(func() { statefulSets.Run(ctx, 1) })
	running.Go(func() { jobs.Run(ctx, 1) })
	t.Cleanup(func() {
		for _, f := range []informers.SharedInformerFactory{sets, rollouts, ordered, batch} {
			f.Shutdown()
		}
		running.Wait()
	})
	return u
}

// delayed hands events to a controller a while after its store has them. Events of one kind come one by one.
type delayed struct {
	cache.SharedIndexInformer
	wait, waitDeleted func()
	of                *upstream
}

func (d delayed) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return d.SharedIndexInformer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(o any, initial bool) { d.wait(); h.OnAdd(o, initial) },
		UpdateFunc: func(a, b any) { d.wait(); h.OnUpdate(a, b) },
		DeleteFunc: func(o any) { d.waitDeleted(); h.OnDelete(o) },
	})
}

func (d delayed) GetIndexer() cache.Indexer {
	if d.of == nil {
		return d.SharedIndexInformer.GetIndexer()
	}
	return byBirth{d.SharedIndexInformer.GetIndexer(), d.of}
}

// byBirth returns pods in order of creation where client-go returns them in that of a map.
type byBirth struct {
	cache.Indexer
	of *upstream
}

func (b byBirth) ByIndex(index, value string) ([]any, error) {
	out, err := b.Indexer.ByIndex(index, value)
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	slices.SortFunc(out, func(x, y any) int {
		return cmp.Compare(b.of.births[x.(*corev1.Pod).UID], b.of.births[y.(*corev1.Pod).UID])
	})
	return out, err
}

type podInformer struct {
	coreinformers.PodInformer
	wait, waitDeleted func()
	of                *upstream
}

func (i podInformer) Informer() cache.SharedIndexInformer {
	return delayed{i.PodInformer.Informer(), i.wait, i.waitDeleted, i.of}
}

type replicaSetInformer struct {
	appsinformers.ReplicaSetInformer
	wait func()
}

func (i replicaSetInformer) Informer() cache.SharedIndexInformer {
	return delayed{i.ReplicaSetInformer.Informer(), i.wait, i.wait, nil}
}

type deploymentInformer struct {
	appsinformers.DeploymentInformer
	wait func()
}

func (i deploymentInformer) Informer() cache.SharedIndexInformer {
	return delayed{i.DeploymentInformer.Informer(), i.wait, i.wait, nil}
}

type statefulSetInformer struct {
	appsinformers.StatefulSetInformer
	wait func()
}

func (i statefulSetInformer) Informer() cache.SharedIndexInformer {
	return delayed{i.StatefulSetInformer.Informer(), i.wait, i.wait, nil}
}

type jobInformer struct {
	batchinformers.JobInformer
	wait func()
}

func (i jobInformer) Informer() cache.SharedIndexInformer {
	return delayed{i.JobInformer.Informer(), i.wait, i.wait, nil}
}

// react adds to client-go's fake what an API server does: names, UIDs, times in seconds, generations, conflicts, status apart from
// spec, graceful deletion, and the garbage collector's deletion of dependents.
func (u *upstream) react(action clienttesting.Action) (bool, runtime.Object, error) {
	if action.GetResource().Resource == "events" {
		return true, &corev1.Event{}, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	switch a := action.(type) {
	case clienttesting.CreateActionImpl:
		o := a.GetObject().DeepCopyObject()
		if name := o.(metav1.Object).GetName(); name != "" {
			if _, err := u.client.Tracker().Get(a.GetResource(), a.GetNamespace(), name); err == nil {
				return true, nil, apierrors.NewAlreadyExists(a.GetResource().GroupResource(), name)
			}
		}
		u.birth(o)
		return true, o, u.client.Tracker().Create(a.GetResource(), o, a.GetNamespace())
	case clienttesting.UpdateActionImpl:
		o, err := u.update(a.GetResource(), a.GetObject().DeepCopyObject(), a.GetSubresource())
		return true, o, err
	case clienttesting.DeleteActionImpl:
		return true, nil, u.delete(a.GetResource(), a.GetName())
	case clienttesting.PatchActionImpl:
		if a.GetResource() != podsResource || !strings.Contains(string(a.GetPatch()), batchv1.JobTrackingFinalizer) {
			return true, nil, fmt.Errorf("patch of %s: %s: the fake knows none of this kind", a.GetResource(), a.GetPatch())
		}
		o, err := u.release(a.GetName())
		return true, o, err
	}
	return false, nil, nil
}

func (u *upstream) stamp(o metav1.Object) {
	u.version++
	o.SetResourceVersion(strconv.Itoa(u.version))
}

func (u *upstream) birth(o runtime.Object) {
	m := o.(metav1.Object)
	u.stamp(m)
	m.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
	switch o := o.(type) {
	case *corev1.Pod:
		o.Status.Phase = corev1.PodPending
	case *appsv1.ReplicaSet:
		appsdefaults.SetObjectDefaults_ReplicaSet(o)
		o.Generation, o.Status = 1, appsv1.ReplicaSetStatus{}
	case *appsv1.Deployment:
		appsdefaults.SetObjectDefaults_Deployment(o)
		o.Generation = 1
	case *appsv1.StatefulSet:
		appsdefaults.SetObjectDefaults_StatefulSet(o)
		o.Generation = 1
	case *batchv1.Job:
		batchdefaults.SetObjectDefaults_Job(o)
		o.Generation = 1
	}
	if ref := metav1.GetControllerOf(m); ref != nil && m.GetUID() == "" {
		owner := &metav1.ObjectMeta{Namespace: m.GetNamespace(), Name: ref.Name, UID: ref.UID}
		fixed := m.GetName()
		name, uid := u.namer.drawn(u.namer.family(ref.UID), owner, m.GetGenerateName(), fixed)
		m.SetName(name)
		m.SetUID(uid)
	}
	u.births[m.GetUID()] = len(u.births) + 1
}

func (u *upstream) update(resource schema.GroupVersionResource, o runtime.Object, subresource string) (runtime.Object, error) {
	m := o.(metav1.Object)
	had, err := u.client.Tracker().Get(resource, m.GetNamespace(), m.GetName())
	if err != nil {
		return nil, err
	}
	if v := had.(metav1.Object).GetResourceVersion(); m.GetResourceVersion() != v {
		return nil, apierrors.NewConflict(resource.GroupResource(), m.GetName(), fmt.Errorf("version %s, not %s", v, m.GetResourceVersion()))
	}
	status := subresource == "status"
	switch o := o.(type) {
	case *appsv1.Deployment:
		old := had.(*appsv1.Deployment)
		if status {
			o.Spec, o.Labels = old.Spec, old.Labels
			for i := range o.Status.Conditions {
				c := &o.Status.Conditions[i]
				c.LastUpdateTime, c.LastTransitionTime = seconds(c.LastUpdateTime), seconds(c.LastTransitionTime)
			}
			break
		}
		o.Status = old.Status
		if !apiequality.Semantic.DeepEqual(o.Spec, old.Spec) || !apiequality.Semantic.DeepEqual(o.Annotations, old.Annotations) {
			o.Generation = old.Generation + 1
		}
	case *appsv1.ReplicaSet:
		old := had.(*appsv1.ReplicaSet)
		if status {
			o.Spec = old.Spec
			break
		}
		o.Status = old.Status
		if !apiequality.Semantic.DeepEqual(o.Spec, old.Spec) {
			o.Generation = old.Generation + 1
		}
	case *appsv1.StatefulSet:
		old := had.(*appsv1.StatefulSet)
		if status {
			o.Spec = old.Spec
			break
		}
		o.Status = old.Status
		if !apiequality.Semantic.DeepEqual(o.Spec, old.Spec) {
			o.Generation = old.Generation + 1
		}
	case *batchv1.Job:
		old := had.(*batchv1.Job)
		if status {
			o.Spec = old.Spec
			for i := range o.Status.Conditions {
				c := &o.Status.Conditions[i]
				c.LastProbeTime, c.LastTransitionTime = seconds(c.LastProbeTime), seconds(c.LastTransitionTime)
			}
			for _, at := range []*metav1.Time{o.Status.StartTime, o.Status.CompletionTime} {
				if at != nil {
					*at = seconds(*at)
				}
			}
			break
		}
		o.Status = old.Status
		if !apiequality.Semantic.DeepEqual(o.Spec, old.Spec) {
			o.Generation = old.Generation + 1
		}
	}
	if apiequality.Semantic.DeepEqual(had, o) {
		return had, nil // an API server does not write what is the same
	}
	u.stamp(m)
	return o, u.client.Tracker().Update(resource, o, m.GetNamespace())
}

// release takes the finalizer off a pod of a Job, which ends one that waits for that.
func (u *upstream) release(name string) (*corev1.Pod, error) {
	o, err := u.client.Tracker().Get(podsResource, namespace, name)
	if err != nil {
		return nil, err
	}
	p := o.DeepCopyObject().(*corev1.Pod)
	p.Finalizers = nil
	u.stamp(p)
	if p.DeletionTimestamp != nil && *p.DeletionGracePeriodSeconds == 0 {
		return p, u.client.Tracker().Delete(podsResource, namespace, name)
	}
	return p, u.client.Tracker().Update(podsResource, p, namespace)
}

// stop is what a kubelet does when the containers of a pod that is being deleted have ended.
func (u *upstream) stop(p *corev1.Pod) error {
	o, err := u.client.Tracker().Get(podsResource, namespace, p.Name)
	if err != nil {
		return err
	}
	if len(p.Finalizers) == 0 {
		return u.client.Tracker().Delete(podsResource, namespace, p.Name)
	}
	p = o.DeepCopyObject().(*corev1.Pod)
	p.DeletionGracePeriodSeconds = ptr.To[int64](0)
	u.stamp(p)
	return u.client.Tracker().Update(podsResource, p, namespace)
}

func seconds(t metav1.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

func (u *upstream) delete(resource schema.GroupVersionResource, name string) error {
	tracker := u.client.Tracker()
	o, err := tracker.Get(resource, namespace, name)
	if err != nil {
		return err
	}
	if p, ok := o.(*corev1.Pod); ok {
		grace := *p.Spec.TerminationGracePeriodSeconds
		if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded {
			grace = 0
		}
		if grace > 0 || len(p.Finalizers) > 0 {
			if p.DeletionTimestamp != nil {
				return nil
			}
			p = p.DeepCopy()
			p.DeletionTimestamp = ptr.To(metav1.NewTime(time.Now().Truncate(time.Second).Add(time.Duration(grace) * time.Second)))
			p.DeletionGracePeriodSeconds = &grace
			u.stamp(p)
			return tracker.Update(resource, p, namespace)
		}
	}
	if err := tracker.Delete(resource, namespace, name); err != nil {
		return err
	}
	if uid := o.(metav1.Object).GetUID(); resource != podsResource {
		for _, p := range list[*corev1.Pod](u, podsResource) {
			if ref := metav1.GetControllerOf(p); ref != nil && ref.UID == uid && p.DeletionTimestamp == nil {
				if err := u.delete(podsResource, p.Name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// list is all of a resource by name, without versions.
func list[T interface {
	metav1.Object
	runtime.Object
}](u *upstream, resource schema.GroupVersionResource) []T {
	kinds := map[schema.GroupVersionResource]schema.GroupVersionKind{
		podsResource: corev1.SchemeGroupVersion.WithKind("Pod"), deploymentsResource: deploymentKind, replicaSetsResource: replicaSetKind,
		statefulSetsResource: statefulSetKind, jobsResource: jobKind,
		revisionsResource: appsv1.SchemeGroupVersion.WithKind("ControllerRevision"),
	}
	found, err := u.client.Tracker().List(resource, kinds[resource], namespace)
	if err != nil {
		panic(err)
	}
	var out []T
	if err := eachItem(found, func(o runtime.Object) {
		o = o.DeepCopyObject()
		o.(metav1.Object).SetResourceVersion("")
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		out = append(out, o.(T))
	}); err != nil {
		panic(err)
	}
	slices.SortFunc(out, func(a, b T) int { return strings.Compare(a.GetName(), b.GetName()) })
	return out
}
