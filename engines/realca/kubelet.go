package realca

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// podSeen does what kubelet and controllers would about a pod that came or changed. It only starts tasks.
func (w *world) podSeen(p *corev1.Pod) {
	w.dirty()
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.facts[scalehist.NameOf(p)]
	if f == nil {
		return
	}
	switch {
	case p.DeletionTimestamp != nil:
		if !f.leaving {
			f.leaving = true
			wait := f.terminates
			if g := p.DeletionGracePeriodSeconds; g != nil {
				wait = min(wait, time.Duration(*g)*time.Second)
			}
			if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
				wait = 0
			}
			w.later(wait, func() error { return w.kill(p) })
		}
		w.replace(p, f)
	case p.Spec.NodeName != "" && p.Status.Phase == corev1.PodPending && !f.started:
		f.started = true
		w.spawn(func() error { return w.run(p) })
	case p.Status.Phase == corev1.PodRunning && f.runFor > 0 && !f.finishing:
		f.finishing = true
		w.later(f.runFor, func() error { return w.finish(p, f) })
	}
}

// podGone: a pod that had no node is removed at once when it is deleted.
func (w *world) podGone(p *corev1.Pod) {
	w.dirty()
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.facts[scalehist.NameOf(p)]
	if f == nil {
		return
	}
	w.replace(p, f)
	if owner := metav1.GetControllerOf(p); owner != nil && owner.Kind == "DaemonSet" && !w.leaving[p.Spec.NodeName] {
		w.spawn(func() error { return w.daemonsOf(p.Spec.NodeName) })
	}
}

// run is the kubelet's first word of a pod.
func (w *world) run(p *corev1.Pod) error {
	return w.patchStatus(p, corev1.PodStatus{Phase: corev1.PodRunning, StartTime: ptr.To(metav1.Now())})
}

func (w *world) finish(p *corev1.Pod, f *podFacts) error {
	if err := w.patchStatus(p, corev1.PodStatus{Phase: corev1.PodSucceeded}); err != nil {
		return err
	}
	w.mu.Lock()
	tidy := f.whenDone
	w.mu.Unlock()
	if tidy {
		return w.client.CoreV1().Pods(p.Namespace).Delete(w.ctx, p.Name, metav1.DeleteOptions{})
	}
	return nil
}

func (w *world) patchStatus(p *corev1.Pod, s corev1.PodStatus) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.UID}, "status": s})
	if err != nil {
		return err
	}
	_, err = w.client.CoreV1().Pods(p.Namespace).Patch(w.ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// kill ends a pod for good.
func (w *world) kill(p *corev1.Pod) error {
	return w.client.CoreV1().Pods(p.Namespace).Delete(w.ctx, p.Name, metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To[int64](0), Preconditions: &metav1.Preconditions{UID: &p.UID},
	})
}

// replace makes another pod, as the controller of a ReplicaSet or Job does as soon as one is on its way out. Called with the
// lock held.
func (w *world) replace(p *corev1.Pod, f *podFacts) {
	owner := metav1.GetControllerOf(p)
	if f.unwanted || f.replaced || owner == nil || owner.Kind == "DaemonSet" || p.Status.Phase == corev1.PodSucceeded {
		return
	}
	f.replaced = true
	next := p.DeepCopy()
	next.ObjectMeta = metav1.ObjectMeta{
		Namespace: p.Namespace, Name: w.nextName(p.Namespace, owner.Name), Annotations: p.Annotations, OwnerReferences: p.OwnerReferences, Labels: map[string]string{},
	}
	for k, v := range p.Labels {
		if k != corev1.LabelTopologyZone && k != corev1.LabelTopologyRegion {
			next.Labels[k] = v
		}
	}
	next.Spec.NodeName = ""
	nf := &podFacts{first: f.first, runFor: f.runFor, terminates: f.terminates, whenDone: f.whenDone}
	w.spawn(func() error { return w.createPod(next, nf) })
}

// nextName is a name that no pod of the owner has had. Called with the lock held.
func (w *world) nextName(namespace, owner string) string {
	for {
		w.numbers[namespace+"/"+owner]++
		name := fmt.Sprintf("%s-r%d", owner, w.numbers[namespace+"/"+owner])
		if w.facts[types.NamespacedName{Namespace: namespace, Name: name}] == nil {
			return name
		}
	}
}

// join brings a node about: registered, then Ready.
func (w *world) join(g Group, name string) {
	w.spawn(func() error {
		n := nodeOf(g, name)
		if n.Annotations == nil {
			n.Annotations = map[string]string{}
		}
		n.Annotations[v1alpha1.NodeGroupAnnotation] = g.Name
		notReady := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
		own := n.Spec.Taints
		n.Spec.Taints = append(slices.Clone(own), notReady)
		n.Status.Conditions = ready(corev1.ConditionFalse, "KubeletNotReady", time.Now())
		if _, err := w.client.CoreV1().Nodes().Create(w.ctx, n, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("register node %s: %w", name, err)
		}
		w.later(registerBefore, func() error { return w.ready(name, own) })
		return w.daemonsOf(name)
	})
}

func ready(s corev1.ConditionStatus, reason string, at time.Time) []corev1.NodeCondition {
	return []corev1.NodeCondition{{Type: corev1.NodeReady, Status: s, Reason: reason, LastTransitionTime: metav1.NewTime(at)}}
}

func (w *world) ready(name string, own []corev1.Taint) error {
	nodes := w.client.CoreV1().Nodes()
	status, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": ready(corev1.ConditionTrue, "KubeletReady", time.Now())}})
	if err != nil {
		return err
	}
	if _, err := nodes.Patch(w.ctx, name, types.StrategicMergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("node %s becomes Ready: %w", name, err)
	}
	// Taints are replaced as a whole; within its first second nobody else has put one on the node.
	taints, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": own}})
	if err != nil {
		return err
	}
	_, err = nodes.Patch(w.ctx, name, types.MergePatchType, taints, metav1.PatchOptions{})
	return err
}

// leave takes a node away, and its pods after it.
func (w *world) leave(name string) {
	w.mu.Lock()
	w.leaving[name] = true
	w.mu.Unlock()
	w.spawn(func() error {
		if err := w.client.CoreV1().Nodes().Delete(w.ctx, name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("remove node %s: %w", name, err)
		}
		pods, err := w.pods.List(labels.Everything())
		if err != nil {
			return err
		}
		for _, p := range pods {
			if p.Spec.NodeName == name {
				w.spawn(func() error { return w.kill(p) })
			}
		}
		return nil
	})
}

// daemonsEverywhere gives every node the pods of a DaemonSet that came.
func (w *world) daemonsEverywhere() error {
	nodes, err := w.client.CoreV1().Nodes().List(w.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, n := range nodes.Items {
		if err := w.daemonsOf(n.Name); err != nil {
			return err
		}
	}
	return nil
}

// daemonsOf gives a node the DaemonSet pods that it lacks, by the DaemonSet controller's own predicate.
func (w *world) daemonsOf(name string) error {
	n, err := w.client.CoreV1().Nodes().Get(w.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	w.mu.Lock()
	var sets []*appsv1.DaemonSet
	for _, ds := range w.daemonSets {
		sets = append(sets, ds)
	}
	w.mu.Unlock()
	for _, ds := range sets {
		if run, _ := daemon.NodeShouldRunDaemonPod(klog.Background(), n, ds); !run {
			continue
		}
		if err := w.daemonPod(ds, name); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) daemonPod(ds *appsv1.DaemonSet, node string) error {
	w.mu.Lock()
	base, name := ds.Name+"-"+node, ""
	for i := 1; ; i++ {
		name = base
		if i > 1 {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		f := w.facts[types.NamespacedName{Namespace: ds.Namespace, Name: name}]
		if f == nil {
			break
		}
		if p, err := w.pods.Pods(ds.Namespace).Get(name); err == nil && p.DeletionTimestamp == nil || err != nil && !f.started {
			w.mu.Unlock()
			return nil // it is there, or on its way
		}
	}
	key := types.NamespacedName{Namespace: ds.Namespace, Name: name}
	w.facts[key] = &podFacts{first: key}
	w.mu.Unlock()
	p := daemon.NewPod(ds, node)
	p.Namespace, p.Name, p.GenerateName = ds.Namespace, name, ""
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(ds, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
	p.Spec.NodeName, p.Spec.Affinity = node, ds.Spec.Template.Spec.Affinity
	return w.createPod(p, &podFacts{first: key})
}
