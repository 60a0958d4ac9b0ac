package realca

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
)

// world is what is not the autoscaler, the scheduler and the API server: nodes, kubelets and controllers, all virtual.
type world struct {
	ctx     context.Context
	client  kubernetes.Interface
	pods    corelisters.PodLister
	budgets policylisters.PodDisruptionBudgetLister
	failed  func(error)

	mu sync.Mutex
	// facts of pods by namespace/name, set before the pod is created.
	facts map[types.NamespacedName]*podFacts
	// demand maps the first pod of a demand to the one that serves it now.
	demand     map[types.NamespacedName]types.NamespacedName
	owners     map[string]types.UID
	daemonSets map[string]*appsv1.DaemonSet
	classes    map[string]int32
	numbers    map[string]int
	leaving    map[string]bool // nodes whose object is being removed
	recount    chan struct{}
	tasks      sync.WaitGroup
}

// podFacts is what the world knows of a pod that the API server does not.
type podFacts struct {
	first      types.NamespacedName
	runFor     time.Duration
	terminates time.Duration
	// unwanted: the workload deleted it, nobody makes another. whenDone: that deletion waits for its end.
	unwanted, whenDone          bool
	started, finishing, leaving bool
	replaced                    bool
}

func newWorld(ctx context.Context, client kubernetes.Interface, failed func(error)) *world {
	return &world{
		ctx: ctx, client: client, failed: failed,
		facts: map[types.NamespacedName]*podFacts{}, demand: map[types.NamespacedName]types.NamespacedName{},
		owners: map[string]types.UID{}, daemonSets: map[string]*appsv1.DaemonSet{}, classes: map[string]int32{},
		numbers: map[string]int{}, leaving: map[string]bool{}, recount: make(chan struct{}, 1),
	}
}

// start watches; it returns when the informers have synced.
func (w *world) start() error {
	f := informers.NewSharedInformerFactory(w.client, 0)
	pods := f.Core().V1().Pods()
	w.pods, w.budgets = pods.Lister(), f.Policy().V1().PodDisruptionBudgets().Lister()
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { w.podSeen(o.(*corev1.Pod)) },
		UpdateFunc: func(_, o any) { w.podSeen(o.(*corev1.Pod)) },
		DeleteFunc: func(o any) {
			if t, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = t.Obj
			}
			w.podGone(o.(*corev1.Pod))
		},
	}
	if _, err := pods.Informer().AddEventHandler(handler); err != nil {
		return err
	}
	counted := cache.ResourceEventHandlerFuncs{AddFunc: func(any) { w.dirty() }, UpdateFunc: func(any, any) { w.dirty() }}
	if _, err := f.Policy().V1().PodDisruptionBudgets().Informer().AddEventHandler(counted); err != nil {
		return err
	}
	f.Start(w.ctx.Done())
	for kind, ok := range f.WaitForCacheSync(w.ctx.Done()) {
		if !ok {
			return fmt.Errorf("the world's informer of %s did not sync: %w", kind, context.Cause(w.ctx))
		}
	}
	w.spawn(w.keepBudgets)
	return nil
}

// spawn runs a task; an error other than the end of the run or an object that is gone fails the run.
func (w *world) spawn(task func() error) {
	w.tasks.Go(func() {
		err := task()
		if err != nil && w.ctx.Err() == nil && !apierrors.IsNotFound(err) && !errors.Is(err, context.Canceled) {
			w.failed(err)
		}
	})
}

// later runs a task after a time, unless the run ends before.
func (w *world) later(d time.Duration, task func() error) {
	w.spawn(func() error {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return task()
		case <-w.ctx.Done():
			return nil
		}
	})
}

// apply carries out one change of the workload.
func (w *world) apply(op scalehist.Op, obj scalehist.Object) error {
	var err error
	switch op {
	case scalehist.OpAdd:
		err = w.create(obj)
	case scalehist.OpUpdate:
		err = w.update(obj)
	case scalehist.OpDelete:
		err = w.remove(obj)
	}
	if err != nil {
		return fmt.Errorf("workload: %s %T %s: %w", op, obj, scalehist.NameOf(obj), err)
	}
	return nil
}

// fresh strips what an API server gives, and points owners at their objects here.
func (w *world) fresh(obj scalehist.Object) scalehist.Object {
	out := obj.DeepCopyObject().(scalehist.Object)
	out.SetUID("")
	out.SetResourceVersion("")
	out.SetGeneration(0)
	out.SetManagedFields(nil)
	out.SetCreationTimestamp(metav1.Time{})
	refs := out.GetOwnerReferences()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range refs {
		if uid, ok := w.owners[refs[i].Kind+"/"+out.GetNamespace()+"/"+refs[i].Name]; ok {
			refs[i].UID = uid
		}
	}
	out.SetOwnerReferences(refs)
	return out
}

func (w *world) know(kind string, o metav1.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.owners[kind+"/"+o.GetNamespace()+"/"+o.GetName()] = o.GetUID()
}

func (w *world) create(obj scalehist.Object) error {
	opts := metav1.CreateOptions{}
	switch o := w.fresh(obj).(type) {
	case *corev1.Pod:
		return w.createPod(o, &podFacts{first: scalehist.NameOf(o)})
	case *corev1.Namespace:
		o.Status = corev1.NamespaceStatus{}
		_, err := w.client.CoreV1().Namespaces().Create(w.ctx, o, opts)
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	case *corev1.Node:
		_, err := w.client.CoreV1().Nodes().Create(w.ctx, o, opts)
		return err
	case *corev1.ConfigMap:
		_, err := w.client.CoreV1().ConfigMaps(o.Namespace).Create(w.ctx, o, opts)
		return err
	case *corev1.Service:
		o.Spec.ClusterIP, o.Spec.ClusterIPs = "None", []string{"None"}
		_, err := w.client.CoreV1().Services(o.Namespace).Create(w.ctx, o, opts)
		return err
	case *schedulingv1.PriorityClass:
		w.mu.Lock()
		w.classes[o.Name] = o.Value
		w.mu.Unlock()
		_, err := w.client.SchedulingV1().PriorityClasses().Create(w.ctx, o, opts)
		if apierrors.IsAlreadyExists(err) {
			return nil // the API server's own
		}
		return err
	case *appsv1.Deployment:
		got, err := w.client.AppsV1().Deployments(o.Namespace).Create(w.ctx, o, opts)
		w.know("Deployment", got)
		return err
	case *appsv1.ReplicaSet:
		got, err := w.client.AppsV1().ReplicaSets(o.Namespace).Create(w.ctx, o, opts)
		w.know("ReplicaSet", got)
		return err
	case *appsv1.StatefulSet:
		got, err := w.client.AppsV1().StatefulSets(o.Namespace).Create(w.ctx, o, opts)
		w.know("StatefulSet", got)
		return err
	case *appsv1.DaemonSet:
		got, err := w.client.AppsV1().DaemonSets(o.Namespace).Create(w.ctx, o, opts)
		if err != nil {
			return err
		}
		w.know("DaemonSet", got)
		w.mu.Lock()
		w.daemonSets[scalehist.NameOf(got).String()] = got
		w.mu.Unlock()
		return w.daemonsEverywhere()
	case *batchv1.Job:
		got, err := w.client.BatchV1().Jobs(o.Namespace).Create(w.ctx, o, opts)
		w.know("Job", got)
		return err
	case *policyv1.PodDisruptionBudget:
		o.Status = policyv1.PodDisruptionBudgetStatus{}
		_, err := w.client.PolicyV1().PodDisruptionBudgets(o.Namespace).Create(w.ctx, o, opts)
		return err
	default:
		return errors.New("objects of this kind are not part of this world")
	}
}

// update changes a spec; of what is gone or of another kind it is an error.
func (w *world) update(obj scalehist.Object) error {
	opts := metav1.UpdateOptions{}
	switch o := w.fresh(obj).(type) {
	case *appsv1.ReplicaSet:
		_, err := w.client.AppsV1().ReplicaSets(o.Namespace).Update(w.ctx, o, opts)
		return err
	case *appsv1.Deployment:
		_, err := w.client.AppsV1().Deployments(o.Namespace).Update(w.ctx, o, opts)
		return err
	case *appsv1.StatefulSet:
		_, err := w.client.AppsV1().StatefulSets(o.Namespace).Update(w.ctx, o, opts)
		return err
	case *batchv1.Job:
		return nil // its pods say what it does
	case *policyv1.PodDisruptionBudget:
		b, err := w.client.PolicyV1().PodDisruptionBudgets(o.Namespace).Get(w.ctx, o.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		b.Spec = o.Spec
		_, err = w.client.PolicyV1().PodDisruptionBudgets(o.Namespace).Update(w.ctx, b, opts)
		return err
	default:
		return errors.New("updates of this kind are not part of this world")
	}
}

func (w *world) remove(obj scalehist.Object) error {
	opts := metav1.DeleteOptions{}
	var err error
	switch o := obj.(type) {
	case *corev1.Pod:
		err = w.unwant(o)
	case *appsv1.ReplicaSet:
		err = w.client.AppsV1().ReplicaSets(o.Namespace).Delete(w.ctx, o.Name, opts)
	case *batchv1.Job:
		err = w.client.BatchV1().Jobs(o.Namespace).Delete(w.ctx, o.Name, opts)
	case *policyv1.PodDisruptionBudget:
		err = w.client.PolicyV1().PodDisruptionBudgets(o.Namespace).Delete(w.ctx, o.Name, opts)
	default:
		return errors.New("deletions of this kind are not part of this world")
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// createPod creates a pod that may have a place already, and then runs.
func (w *world) createPod(p *corev1.Pod, f *podFacts) error {
	for key, into := range map[string]*time.Duration{podlife.RunForAnnotation: &f.runFor, terminatesAnnotation: &f.terminates} {
		if v, ok := p.Annotations[key]; ok {
			d, err := time.ParseDuration(v)
			if err != nil {
				return fmt.Errorf("annotation %s: %w", key, err)
			}
			*into = d
		}
	}
	maps.DeleteFunc(p.Annotations, func(k, _ string) bool { return strings.HasPrefix(k, v1alpha1.GroupName+"/") })
	p.Status = corev1.PodStatus{Phase: corev1.PodPending}
	w.mu.Lock()
	if v, ok := w.classes[p.Spec.PriorityClassName]; ok && p.Spec.Priority == nil {
		p.Spec.Priority = &v
	}
	w.facts[scalehist.NameOf(p)], w.demand[f.first] = f, scalehist.NameOf(p)
	w.mu.Unlock()
	_, err := w.client.CoreV1().Pods(p.Namespace).Create(w.ctx, p, metav1.CreateOptions{})
	return err
}

// unwant deletes the pod that serves a demand now, and nobody makes another.
func (w *world) unwant(p *corev1.Pod) error {
	w.mu.Lock()
	key, ok := w.demand[scalehist.NameOf(p)]
	f := w.facts[key]
	if !ok || f == nil {
		w.mu.Unlock()
		return nil
	}
	f.unwanted = true
	if p.Annotations[podlife.WhenDoneAnnotation] == "true" {
		f.whenDone = true
		if !f.finishing {
			w.mu.Unlock()
			return nil // it goes when it has run its time
		}
	}
	w.mu.Unlock()
	return w.client.CoreV1().Pods(key.Namespace).Delete(w.ctx, key.Name, metav1.DeleteOptions{})
}

// dirty asks for PodDisruptionBudget status to be counted again.
func (w *world) dirty() {
	select {
	case w.recount <- struct{}{}:
	default:
	}
}
