package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/utils/ptr"
)

// setting is a number from the environment.
func setting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func eachItem(o runtime.Object, f func(runtime.Object)) error {
	return meta.EachListItem(o, func(o runtime.Object) error { f(o); return nil })
}

// TestLikeReal runs random programs of changes against the real controllers and ours. After each change, and whatever time does until
// the next, both have the same objects: workloads with their status, ReplicaSets with their names and sizes, pods with their names.
func TestLikeReal(t *testing.T) {
	programs, seed := setting(t, "SCALEHIST_WORKLOADS", 8), setting(t, "SCALEHIST_SEED", 1)
	for _, kind := range []string{"deployment", "replicaset", "statefulset", "job"} {
		t.Run(kind, func(t *testing.T) {
			for s := seed; s < seed+programs; s++ {
				if !t.Run(fmt.Sprint(s), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { newProgram(t, kind, s).run() }) }) {
					return
				}
			}
		})
	}
}

// program is one life of one or two workloads, in both worlds.
type program struct {
	*testing.T
	rand *rand.Rand
	kind string
	real *upstream
	ours *State
	log  []string
	// roots are the workloads.
	roots []types.UID
}

// newProgram has the feature gate of StatefulSets' maxUnavailable at even seeds.
func newProgram(t *testing.T, kind string, seed uint64) *program {
	gate := kind == "statefulset" && seed%2 == 0
	if err := utilfeature.DefaultMutableFeatureGate.Set(fmt.Sprintf("MaxUnavailableStatefulSet=%v", gate)); err != nil {
		t.Fatal(err)
	}
	return &program{T: t, kind: kind, rand: rand.New(rand.NewPCG(seed, 0)), ours: New(Options{StatefulSetMaxUnavailable: gate})}
}

// run makes the workloads and twenty to forty changes, each at six tenths of a second: the controllers of upstream take some virtual
// milliseconds for what ours do at once, and no rule may have its instant among these.
func (p *program) run() {
	ctx, cancel := context.WithCancel(p.Context())
	p.real = newUpstream(ctx, p.T)
	p.Cleanup(cancel)
	time.Sleep(600 * time.Millisecond)
	p.create()
	for range 20 + p.rand.IntN(20) {
		p.settle(p.pause())
		p.change()
	}
	p.settle(time.Second)
	p.settle(700 * time.Second)
}

// pause is some whole seconds; with Jobs it ends at another point of the second each time, because they act whole seconds after changes.
func (p *program) pause() time.Duration {
	d := time.Duration(1+p.rand.IntN(4)) * time.Second
	if p.kind == "job" {
		now := time.Now()
		d = now.Truncate(time.Second).Add(d + 600*time.Millisecond + time.Duration(p.rand.IntN(300_000))*time.Microsecond).Sub(now)
	}
	return d
}

// settle lets both act for a while, and compares.
func (p *program) settle(d time.Duration) {
	p.Helper()
	until := time.Now().Add(d)
	for now := time.Now(); now.Before(until); {
		p.reconcile(now)
		next, ok := p.ours.Next()
		if !ok {
			break
		}
		if !next.After(now) {
			p.Fatalf("%s\nNext is %s at %s", strings.Join(p.log, "\n"), next, now)
		}
		now = next
	}
	time.Sleep(time.Until(until))
	p.compare()
}

func (p *program) reconcile(now time.Time) {
	if _, err := p.ours.Reconcile(now); err != nil {
		p.Fatalf("%s\n%v", strings.Join(p.log, "\n"), err)
	}
	if again, err := p.ours.Reconcile(now); len(again) > 0 || err != nil {
		p.Fatalf("%s\nnot settled: %v, %v", strings.Join(p.log, "\n"), again, err)
	}
}

func (p *program) compare() {
	p.Helper()
	same(p, list[*appsv1.Deployment](p.real, deploymentsResource), sorted(p.ours.deployments, func(d *deployment) *appsv1.Deployment { return d.obj }))
	same(p, list[*appsv1.ReplicaSet](p.real, replicaSetsResource), sorted(p.ours.replicaSets, func(rs *replicaSet) *appsv1.ReplicaSet { return rs.obj }))
	same(p, list[*appsv1.StatefulSet](p.real, statefulSetsResource), sorted(p.ours.statefulSets, func(s *statefulSet) *appsv1.StatefulSet { return s.obj }))
	var revisions, kept []string
	for _, r := range list[*appsv1.ControllerRevision](p.real, revisionsResource) {
		revisions = append(revisions, r.Name)
	}
	for _, set := range p.ours.statefulSets {
		for _, r := range set.revisions {
			kept = append(kept, r.name)
		}
	}
	slices.Sort(kept)
	same(p, revisions, kept)
	same(p, list[*batchv1.Job](p.real, jobsResource), sorted(p.ours.jobs, func(j *job) *batchv1.Job { return j.obj }))
	same(p, list[*corev1.Pod](p.real, podsResource), p.all())
}

func same[T any](p *program, want, got []T) {
	p.Helper()
	if !apiequality.Semantic.DeepEqual(want, got) {
		p.Fatalf("%s\nreal (-), ours (+):\n%s", strings.Join(p.log, "\n"), gocmp.Diff(want, got))
	}
}

func sorted[W any, T interface {
	metav1.Object
	runtime.Object
}](all map[types.UID]W, object func(W) T) []T {
	var out []T
	for _, w := range all {
		o := object(w).DeepCopyObject().(T)
		o.SetResourceVersion("")
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b T) int { return byName(a, b) })
	return out
}

// all are our pods by name.
func (p *program) all() []*corev1.Pod {
	var out []*corev1.Pod
	for _, f := range p.ours.families {
		out = append(out, f.pods...)
	}
	slices.SortFunc(out, func(a, b *corev1.Pod) int { return byName(a, b) })
	return out
}

func (p *program) say(format string, args ...any) {
	p.log = append(p.log, time.Now().UTC().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func (p *program) template(name string, version int) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: fmt.Sprintf("web:%d", version)}}},
	}
}

// amount is a number of pods or a share.
func (p *program) amount() *intstr.IntOrString {
	if p.rand.IntN(2) == 0 {
		return ptr.To(intstr.FromInt32(int32(p.rand.IntN(4))))
	}
	return ptr.To(intstr.FromString(fmt.Sprintf("%d%%", 5*p.rand.IntN(13))))
}

// create makes the workloads in both worlds.
func (p *program) create() {
	for i := range 1 + p.rand.IntN(2) {
		name := fmt.Sprintf("web%d", i)
		m := metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(time.Now().Truncate(time.Second))}
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
		size := ptr.To(int32(p.rand.IntN(9)))
		var err error
		var o runtime.Object
		switch p.kind {
		case "deployment":
			d := &appsv1.Deployment{ObjectMeta: m, Spec: appsv1.DeploymentSpec{Replicas: size, Selector: selector, Template: p.template(name, 0), RevisionHistoryLimit: ptr.To(int32(p.rand.IntN(4)))}}
			p.restrategize(d)
			if p.rand.IntN(2) == 0 {
				d.Spec.ProgressDeadlineSeconds = ptr.To(int32(15 + p.rand.IntN(30)))
			}
			o = d
			_, err = p.real.client.AppsV1().Deployments(namespace).Create(p.Context(), d, metav1.CreateOptions{})
		case "replicaset":
			rs := &appsv1.ReplicaSet{ObjectMeta: m, Spec: appsv1.ReplicaSetSpec{Replicas: size, Selector: selector, Template: p.template(name, 0), MinReadySeconds: 5 * int32(p.rand.IntN(3))}}
			o = rs
			_, err = p.real.client.AppsV1().ReplicaSets(namespace).Create(p.Context(), rs, metav1.CreateOptions{})
		case "statefulset":
			set := &appsv1.StatefulSet{ObjectMeta: m, Spec: appsv1.StatefulSetSpec{
				Replicas: size, Selector: selector, Template: p.template(name, 0), ServiceName: name, MinReadySeconds: 5 * int32(p.rand.IntN(3)),
				RevisionHistoryLimit: ptr.To(int32(p.rand.IntN(4))),
			}}
			if p.rand.IntN(2) == 0 {
				set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
			}
			if p.rand.IntN(3) == 0 {
				set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: int32(p.rand.IntN(3))}
			}
			if p.rand.IntN(3) == 0 {
				set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
			}
			o = set
			_, err = p.real.client.AppsV1().StatefulSets(namespace).Create(p.Context(), set, metav1.CreateOptions{})
		case "job":
			j := p.job(m, selector)
			j.Spec.Parallelism, o = size, j
			_, err = p.real.client.BatchV1().Jobs(namespace).Create(p.Context(), j, metav1.CreateOptions{})
		}
		if err == nil {
			err = p.ours.Apply(o)
		}
		if err != nil {
			p.Fatal(err)
		}
		p.roots = append(p.roots, m.UID)
		p.say("create %s %s with %d replicas", p.kind, name, *size)
	}
}

func (p *program) job(m metav1.ObjectMeta, selector *metav1.LabelSelector) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: m, Spec: batchv1.JobSpec{Selector: selector, Template: p.template(m.Name, 0), BackoffLimit: ptr.To(int32(p.rand.IntN(12)))}}
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	if p.rand.IntN(4) == 0 {
		j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	}
	if p.rand.IntN(4) > 0 {
		j.Spec.Completions = ptr.To(int32(p.rand.IntN(20)))
		if p.rand.IntN(2) == 0 {
			j.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion)
		}
	}
	if p.rand.IntN(3) == 0 {
		j.Spec.ActiveDeadlineSeconds = ptr.To(int64(20 + p.rand.IntN(100)))
	}
	if p.rand.IntN(3) == 0 {
		j.Spec.PodReplacementPolicy = ptr.To(batchv1.Failed)
	}
	j.Spec.Suspend = ptr.To(p.rand.IntN(4) == 0)
	return j
}

func (p *program) restrategize(d *appsv1.Deployment) {
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	if p.rand.IntN(4) > 0 {
		d.Spec.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
		d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: p.amount(), MaxUnavailable: p.amount()}
	}
}
