package virtual

import (
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobutil "k8s.io/kubernetes/pkg/controller/job/util"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
)

const jobKind = "Job"

func jobRef(job *batchv1.Job) scalehist.WorkloadRef {
	return scalehist.WorkloadRef{APIVersion: "batch/v1", Kind: jobKind, Namespace: job.Namespace, Name: job.Name}
}

// admitJob notes a Job, and returns what to write for it: nothing of one that ended here by its ttlSecondsAfterFinished.
func (c *Cluster) admitJob(ch scalehist.Change, job *batchv1.Job) ([]scalehist.Change, error) {
	key := jobRef(job).Key()
	w := c.workloads.byRef[key]
	if w != nil && w.object == nil && ch.Op != scalehist.OpAdd {
		return nil, nil
	}
	if ch.Op == scalehist.OpDelete {
		delete(c.workloads.jobs, key)
		if w != nil {
			w.object = nil
			c.abandon(w)
		}
		return []scalehist.Change{ch}, nil
	}
	c.workloads.jobs[key] = job
	if w == nil {
		return []scalehist.Change{ch}, nil
	}
	w.object = job
	var err error
	if w.keeper != "" && w.keeper != recorded {
		_, err = c.changeObject(w)
	}
	return []scalehist.Change{ch}, err
}

// fileJob makes a Job a workload, with the pods that it has. What it has done so far was not recorded: it begins with these.
func (c *Cluster) fileJob(job *batchv1.Job) *workload {
	w := c.workloads.get(jobRef(job))
	w.object, w.replicas = job, ptr.To(ptr.Deref(job.Spec.Parallelism, 1))
	c.adopt(w)
	return w
}

// adopt gives a workload that is filed late the pods that it has.
func (c *Cluster) adopt(w *workload) {
	for _, key := range podsWhere(c.pods, func(p *corev1.Pod) bool { return c.workloads.of(p) == w }) {
		p := c.pods[key]
		if p.workload == w {
			continue // it was filed before
		}
		p.workload, w.pods, w.last = w, append(w.pods, p), p.object
		for _, i := range p.budgets {
			w.match(i, 1)
		}
	}
}

// expireJob deletes a Job that ended some time ago.
func (c *Cluster) expireJob(job *batchv1.Job, now time.Time) []scalehist.Change {
	w := c.controllers.of[job.UID]
	delete(c.workloads.jobs, w.ref.Key())
	object := w.object
	w.object, w.replicas, w.run = nil, nil, nil
	return []scalehist.Change{{At: now, Op: scalehist.OpDelete, Object: object}}
}

// jobGoesOn says whether a Job may make more pods.
func (k *controllers) jobGoesOn(w *workload) bool {
	job := k.state.Job(w.run.root)
	return job != nil && !jobutil.IsJobFinished(job)
}

// tracked gives a pod of a Job the finalizer that it has in a cluster until its Job has counted it. The control plane's pods have none: nothing
// but simulator/workload takes it off.
func (k *controllers) tracked(w *workload, v *corev1.Pod) {
	if !w.run.counted[v.UID] {
		v.Finalizers = append(slices.Clone(v.Finalizers), batchv1.JobTrackingFinalizer)
	}
}

// indexed gives a pod the index of the one that an indexed Job made.
func indexed(p, made *corev1.Pod) {
	index, ok := made.Annotations[batchv1.JobCompletionIndexAnnotation]
	if !ok {
		return
	}
	p.Annotations = withEntry(p.Annotations, batchv1.JobCompletionIndexAnnotation, index)
	metav1.SetMetaDataLabel(&p.ObjectMeta, batchv1.JobCompletionIndexAnnotation, index)
	p.Spec.Hostname = made.Spec.Hostname
}

func withEntry(in map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	for k, v := range in {
		if k != key {
			out[k] = v
		}
	}
	return out
}

// ofJob says whether a pod is one like those that a Job makes now: of an indexed Job, of the same index.
func ofJob(p *corev1.Pod, prefix string) bool { return strings.HasPrefix(p.Name, prefix) }
