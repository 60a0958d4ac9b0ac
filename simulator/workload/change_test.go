package workload

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"
)

// change does one thing to a workload or to pods, in both worlds.
func (p *program) change() {
	switch n := p.rand.IntN(100); {
	case n < 25:
		p.kubelets()
	case n < 60:
		p.changePod()
	case n < 64:
		d := time.Duration(10+p.rand.IntN(50)) * time.Second
		p.say("%s pass", d)
		p.settle(d)
	default:
		p.changeSpec()
	}
}

// kubelets binds, starts and stops pods: each with a chance, or all.
func (p *program) kubelets() {
	chance := []int{30, 70, 100}[p.rand.IntN(3)]
	p.say("kubelets run %d %% of pods", chance)
	for _, pod := range p.all() {
		switch {
		case p.rand.IntN(100) >= chance:
		case pod.DeletionTimestamp != nil:
			p.remove(pod)
		case pod.Status.Phase == corev1.PodPending:
			pod = pod.DeepCopy()
			pod.Spec.NodeName = p.node()
			p.ready(pod, true)
			p.set(pod)
		case p.kind == "job" && pod.Status.Phase == corev1.PodRunning:
			pod = pod.DeepCopy()
			p.ready(pod, false)
			pod.Status.Phase = corev1.PodSucceeded
			if p.rand.IntN(3) == 0 {
				pod.Status.Phase = corev1.PodFailed
			}
			p.say("%s is %s", pod.Name, pod.Status.Phase)
			p.set(pod)
		}
	}
}

func (p *program) node() string { return fmt.Sprintf("node-%d", p.rand.IntN(4)) }

func (p *program) ready(pod *corev1.Pod, is bool) {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
		pod.Status.Phase = corev1.PodRunning
	}
	podutil.UpdatePodCondition(&pod.Status, &corev1.PodCondition{Type: corev1.PodReady, Status: status})
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		// At no whole second, which deadlines have, so that no rule has its instant with another one's.
		c.LastTransitionTime = metav1.NewTime(c.LastTransitionTime.Truncate(time.Second).Add(300 * time.Millisecond))
	}
}

// changePod does one thing to one pod.
func (p *program) changePod() {
	all := p.all()
	if len(all) == 0 {
		return
	}
	pod := all[p.rand.IntN(len(all))].DeepCopy()
	if phase := pod.Status.Phase; p.kind == "job" && (phase == corev1.PodSucceeded || phase == corev1.PodFailed) {
		return // it does not come back to life: kubelets do not, and Jobs have counted it
	}
	switch n := p.rand.IntN(11); n {
	case 0, 1:
		p.say("%s is ready", pod.Name)
		if pod.Spec.NodeName == "" {
			pod.Spec.NodeName = p.node()
		}
		p.ready(pod, true)
	case 2:
		p.say("%s is not ready", pod.Name)
		p.ready(pod, false)
	case 3:
		p.say("%s fails", pod.Name)
		p.ready(pod, false)
		pod.Status.Phase = corev1.PodFailed
	case 4:
		p.say("%s succeeds", pod.Name)
		p.ready(pod, false)
		pod.Status.Phase = corev1.PodSucceeded
	case 5:
		if pod.Spec.NodeName != "" {
			return
		}
		pod.Spec.NodeName = p.node()
		p.say("%s is bound to %s", pod.Name, pod.Spec.NodeName)
	case 6:
		cost := p.rand.IntN(5) - 2
		p.say("%s costs %d", pod.Name, cost)
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, corev1.PodDeletionCost, strconv.Itoa(cost))
	case 7:
		p.say("%s restarts", pod.Name)
		if len(pod.Status.ContainerStatuses) == 0 {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main"}}
		}
		pod.Status.ContainerStatuses[0].RestartCount++
		if p.kind == "job" { // whose limit counts the restarts of all pods
			pod.Status.ContainerStatuses[0].RestartCount += int32(p.rand.IntN(3))
		}
	case 8:
		p.say("%s is of unknown phase", pod.Name)
		pod.Status.Phase = corev1.PodUnknown
	default:
		p.say("%s is deleted", pod.Name)
		p.deletePod(pod)
		return
	}
	p.set(pod)
}

// set reports a pod in both worlds.
func (p *program) set(pod *corev1.Pod) {
	if slices.ContainsFunc(p.all(), func(had *corev1.Pod) bool { return had.UID == pod.UID && apiequality.Semantic.DeepEqual(had, pod) }) {
		return // an API server does not write what is the same
	}
	p.real.mu.Lock()
	stamped := pod.DeepCopy()
	p.real.stamp(stamped)
	err := p.real.client.Tracker().Update(podsResource, stamped, namespace)
	p.real.mu.Unlock()
	if err == nil {
		err = p.ours.SetPod(pod)
	}
	if err != nil {
		p.Fatal(err)
	}
}

// remove ends a pod in both worlds.
func (p *program) remove(pod *corev1.Pod) {
	p.real.mu.Lock()
	err := p.real.stop(pod)
	left, _ := p.real.client.Tracker().Get(podsResource, namespace, pod.Name)
	p.real.mu.Unlock()
	if err != nil {
		p.Fatal(err)
	}
	p.report(pod, left)
}

// report says to ours what is left of a pod, nil if nothing is.
func (p *program) report(pod *corev1.Pod, left runtime.Object) {
	if ending, ok := left.(*corev1.Pod); ok && ending != nil {
		ending = ending.DeepCopy()
		ending.ResourceVersion = ""
		if err := p.ours.SetPod(ending); err != nil {
			p.Fatal(err)
		}
		return
	}
	p.ours.RemovePod(pod.UID)
}

// deletePod is a user's deletion, or an eviction: what the API server makes of it is reported to ours.
func (p *program) deletePod(pod *corev1.Pod) {
	p.real.mu.Lock()
	err := p.real.delete(podsResource, pod.Name)
	left, _ := p.real.client.Tracker().Get(podsResource, namespace, pod.Name)
	p.real.mu.Unlock()
	if err != nil {
		p.Fatal(err)
	}
	p.report(pod, left)
}

// changeSpec is what a user does to a workload.
func (p *program) changeSpec() {
	uid := p.roots[p.rand.IntN(len(p.roots))]
	apps := p.real.client.AppsV1()
	var err error
	switch p.kind {
	case "deployment":
		o, e := apps.Deployments(namespace).Get(p.Context(), p.ours.Deployment(uid).Name, metav1.GetOptions{})
		if e != nil {
			p.Fatal(e)
		}
		p.changeDeployment(o)
		if err = p.ours.Apply(o); err == nil {
			_, err = apps.Deployments(namespace).Update(p.Context(), o, metav1.UpdateOptions{})
		}
	case "replicaset":
		o, e := apps.ReplicaSets(namespace).Get(p.Context(), p.ours.ReplicaSets(uid)[0].Name, metav1.GetOptions{})
		if e != nil {
			p.Fatal(e)
		}
		o.Spec.Replicas = p.size(o.Name)
		if p.rand.IntN(4) == 0 {
			o.Spec.MinReadySeconds = p.minReady(o.Name)
		}
		if err = p.ours.Apply(o); err == nil {
			_, err = apps.ReplicaSets(namespace).Update(p.Context(), o, metav1.UpdateOptions{})
		}
	case "statefulset":
		o, e := apps.StatefulSets(namespace).Get(p.Context(), p.ours.StatefulSet(uid).Name, metav1.GetOptions{})
		if e != nil {
			p.Fatal(e)
		}
		p.changeStatefulSet(o)
		if err = p.ours.Apply(o); err == nil {
			_, err = apps.StatefulSets(namespace).Update(p.Context(), o, metav1.UpdateOptions{})
		}
	case "job":
		if p.ours.Job(uid) == nil {
			return
		}
		jobs := p.real.client.BatchV1().Jobs(namespace)
		o, e := jobs.Get(p.Context(), p.ours.Job(uid).Name, metav1.GetOptions{})
		if e != nil {
			p.Fatal(e)
		}
		p.changeJob(o)
		if err = p.ours.Apply(o); err == nil {
			_, err = jobs.Update(p.Context(), o, metav1.UpdateOptions{})
		}
	}
	if err != nil {
		p.Fatal(err)
	}
}

func (p *program) changeJob(j *batchv1.Job) {
	switch n := p.rand.IntN(8); {
	case n < 5:
		j.Spec.Parallelism = p.size(j.Name)
	case n < 7:
		j.Spec.Suspend = ptr.To(!*j.Spec.Suspend)
		p.say("suspend of %s is %v", j.Name, *j.Spec.Suspend)
	default:
		if *j.Spec.CompletionMode == batchv1.IndexedCompletion {
			j.Spec.Parallelism = p.size(j.Name)
			j.Spec.Completions = j.Spec.Parallelism
		}
	}
}

func (p *program) size(name string) *int32 {
	n := int32(p.rand.IntN(14))
	p.say("scale %s to %d", name, n)
	return &n
}

func (p *program) minReady(name string) int32 {
	n := 5 * int32(p.rand.IntN(3))
	p.say("minReadySeconds of %s is %d", name, n)
	return n
}

func (p *program) changeDeployment(d *appsv1.Deployment) {
	switch n := p.rand.IntN(20); {
	case n < 7:
		d.Spec.Replicas = p.size(d.Name)
	case n < 13:
		version := p.rand.IntN(5)
		p.say("template %d of %s", version, d.Name)
		d.Spec.Template.Spec.Containers[0].Image = fmt.Sprintf("web:%d", version)
	case n < 15:
		d.Spec.Paused = !d.Spec.Paused
		p.say("paused is %v of %s", d.Spec.Paused, d.Name)
	case n < 16:
		d.Spec.MinReadySeconds = p.minReady(d.Name)
		if d.Spec.MinReadySeconds >= ptr.Deref(d.Spec.ProgressDeadlineSeconds, 600) {
			d.Spec.MinReadySeconds = 0
		}
	case n < 18:
		p.restrategize(d)
		p.say("strategy of %s is %s %v", d.Name, d.Spec.Strategy.Type, d.Spec.Strategy.RollingUpdate)
	case n < 19:
		p.say("annotation of %s", d.Name)
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, "example.com/note", strconv.Itoa(p.rand.IntN(3)))
	default:
		d.Spec.Replicas = p.size(d.Name)
		d.Spec.Template.Spec.Containers[0].Image = fmt.Sprintf("web:%d", p.rand.IntN(5))
		p.say("and template %s of %s", d.Spec.Template.Spec.Containers[0].Image, d.Name)
	}
}

func (p *program) changeStatefulSet(set *appsv1.StatefulSet) {
	switch n := p.rand.IntN(14); {
	case n < 6:
		set.Spec.Replicas = p.size(set.Name)
	case n < 10:
		version := p.rand.IntN(5)
		p.say("template %d of %s", version, set.Name)
		set.Spec.Template.Spec.Containers[0].Image = fmt.Sprintf("web:%d", version)
	case n < 12:
		set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{
			Partition: ptr.To(int32(p.rand.IntN(5))), MaxUnavailable: p.amount(),
		}}
		p.say("partition of %s is %d, maxUnavailable %s", set.Name, *set.Spec.UpdateStrategy.RollingUpdate.Partition, set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable)
	case n < 13:
		p.say("%s updates on delete", set.Name)
		set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	default:
		set.Spec.MinReadySeconds = p.minReady(set.Name)
	}
}
