package crosscheck

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
)

// faulty is a control plane with one thing wrong.
type faulty struct {
	kvcl.ControlPlane
	settled func(*kvcl.Settled)
	cluster func(*scalehist.Objects) *scalehist.Objects
	err     func(error) error
	taints  func([]corev1.Taint) []corev1.Taint
	apply   func([]scalehist.Change) []scalehist.Change
}

func (f *faulty) Settle(ctx context.Context, now time.Time) (kvcl.Settled, error) {
	s, err := f.ControlPlane.Settle(ctx, now)
	if f.settled != nil {
		f.settled(&s)
	}
	return s, err
}

func (f *faulty) Objects() *scalehist.Objects {
	if f.cluster != nil {
		return f.cluster(f.ControlPlane.Objects())
	}
	return f.ControlPlane.Objects()
}

func (f *faulty) Apply(ctx context.Context, changes []scalehist.Change) error {
	if f.apply != nil {
		changes = f.apply(changes)
	}
	err := f.ControlPlane.Apply(ctx, changes)
	if f.err != nil && err != nil {
		err = f.err(err)
	}
	return err
}

func (f *faulty) SetTaints(ctx context.Context, node string, taints []corev1.Taint) error {
	if f.taints != nil {
		taints = f.taints(taints)
	}
	return f.ControlPlane.SetTaints(ctx, node, taints)
}

type plainError string

func (e plainError) Error() string { return string(e) }

// TestFindsFaults: each fault is found among few seeds, named, and shown by a program that a person can read.
func TestFindsFaults(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault faulty
		// wantSite is the beginning of what is said to differ. wantSteps and wantChanges bound the smallest program.
		wantSite               string
		wantSteps, wantChanges int
	}{
		{"a victim is not told of", faulty{settled: func(s *kvcl.Settled) { s.Victims = nil }}, "Settled .Victims", 4, 7},
		{"a message is altered", faulty{settled: func(s *kvcl.Settled) {
			for i := range s.Unschedulable {
				s.Unschedulable[i].Message = strings.Replace(s.Unschedulable[i].Message, "Insufficient cpu", "Insufficient CPU", 1)
			}
		}}, "Settled .Unschedulable[].Message", 3, 2},
		{"a taint is forgotten", faulty{taints: func(taints []corev1.Taint) []corev1.Taint {
			if len(taints) > 1 {
				return taints[:1]
			}
			return taints
		}}, "Node .Spec.Taints", 2, 1},
		{"a deletion time is lost", faulty{cluster: func(o *scalehist.Objects) *scalehist.Objects {
			c := *o
			c.Pods = nil
			for _, p := range o.Pods {
				p = p.DeepCopy()
				p.DeletionTimestamp = nil
				c.Pods = append(c.Pods, p)
			}
			return &c
		}}, "Pod .ObjectMeta.DeletionTimestamp", 1, 2},
		{"an error loses its kind", faulty{err: func(err error) error { return plainError(err.Error()) }}, "kind of error", 1, 1},
		{"an error says less", faulty{err: func(error) error { return plainError("no") }}, "error text", 1, 1},
		{"a change is lost", faulty{apply: func(changes []scalehist.Change) []scalehist.Change {
			var kept []scalehist.Change
			for _, c := range changes {
				if p, ok := c.Object.(*corev1.Pod); !ok || c.Op != scalehist.OpAdd || p.Spec.RuntimeClassName == nil {
					kept = append(kept, c)
				}
			}
			return kept
		}}, "Pods: which there are", 1, 1},
		{"it panics", faulty{settled: func(s *kvcl.Settled) {
			if len(s.Victims) > 0 {
				panic("victims")
			}
		}}, "error of faulty alone: panic", 4, 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			plane := Plane{Name: "faulty", Start: func(ctx context.Context, now time.Time) (kvcl.ControlPlane, error) {
				cp, err := inMemory.Start(ctx, now)
				f := tt.fault
				f.ControlPlane = cp
				return &f, err
			}}
			r, err := Check(t.Context(), Options{Planes: [2]Plane{inMemory, plane}, First: 1, Seeds: 40, Jobs: 2})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Differences) == 0 {
				t.Fatal("it was not found")
			}
			for _, d := range r.Differences {
				if !strings.HasPrefix(d.Site, tt.wantSite) {
					continue
				}
				if !d.Shrunk || !d.Alone || d.Steps > tt.wantSteps || d.Changes > tt.wantChanges {
					t.Errorf("shrunk %v, alone %v, %d steps and %d changes, want at most %d and %d:\n%s%s", d.Shrunk, d.Alone, d.Steps, d.Changes,
						tt.wantSteps, tt.wantChanges, d.Program, d.Diff)
				}
				return
			}
			t.Errorf("%d differences, first %s; want %s", len(r.Differences), r.Differences[0].Site, tt.wantSite)
		})
	}
}

// TestResultDoesNotDependOnJobs compares all that Check says but the number of restarts, with a fault that many seeds show.
func TestResultDoesNotDependOnJobs(t *testing.T) {
	check := func(jobs int) *Result {
		plane := Plane{Name: "faulty", Start: func(ctx context.Context, now time.Time) (kvcl.ControlPlane, error) {
			cp, err := inMemory.Start(ctx, now)
			return &faulty{ControlPlane: cp, settled: func(s *kvcl.Settled) { s.Victims = nil }}, err
		}}
		r, err := Check(t.Context(), Options{Planes: [2]Plane{inMemory, plane}, First: 1, Seeds: 20, Jobs: jobs})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if d := cmp.Diff(check(1), check(4)); d != "" {
		t.Errorf("one job and four (-one +four):\n%s", d)
	}
}

// TestEndsWithContext: what was found until then is there.
func TestEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Check(ctx, Options{Planes: [2]Plane{inMemory, inMemory}, First: 1, Seeds: 1000, Jobs: 2, Progress: func(done, _ int) {
		if done == 5 {
			cancel()
		}
	}})
	if err == nil || r == nil || r.Coverage.Programs < 5 || r.Coverage.Programs > 100 {
		t.Errorf("error %v, result %+v; want an error and a few programs", err, r)
	}
}

// TestMemoryAgainstItself: two control planes in memory do the same, also when one remembers what it found out about nodes.
func TestMemoryAgainstItself(t *testing.T) {
	for _, other := range []Plane{inMemory, stock} {
		t.Run(other.Name, func(t *testing.T) {
			t.Parallel()
			r, err := Check(t.Context(), Options{Planes: [2]Plane{inMemory, other}, First: 1, Seeds: 50, Jobs: 2})
			if err != nil {
				t.Fatal(err)
			}
			noDifference(t, r)
		})
	}
}

func TestAlike(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`add Node n: Node "n" is invalid: [a: bad, b: worse] (Invalid)`, `add Node n: Node "n" is invalid: [b: worse, a: bad] (Invalid)`, true},
		{`add Node n: Node "n" is invalid: [a: bad, b: worse]`, `add Node n: Node "n" is invalid: [a: bad, c: worse]`, false},
		{`add Node n: Node "n" is invalid: a, b`, `add Node n: Node "n" is invalid: b, a`, false},
	} {
		if got := alike(tt.a, tt.b); got != tt.want {
			t.Errorf("alike(%q, %q) = %v", tt.a, tt.b, got)
		}
	}
}

func TestNormal(t *testing.T) {
	got := normal("Precondition failed: UID in precondition: 4d3c6b1a-1a2b-4c3d-8e4f-0123456789ab,\n\u00a0 at resourceVersion \"17\" and port 8080")
	want := `Precondition failed: UID in precondition: <uid>, at resourceVersion "17" and port 8080`
	if got != strings.Replace(want, `"17"`, `"<version>"`, 1) {
		t.Errorf("normal: %s", got)
	}
}

// TestExceptions: what may differ does not hide what may not.
func TestExceptions(t *testing.T) {
	at, later := metav1.NewTime(Epoch), metav1.NewTime(Epoch.Add(time.Second))
	budget := func(when metav1.Time, allowed int32) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{Status: policyv1.PodDisruptionBudgetStatus{
			DisruptionsAllowed: allowed, DisruptedPods: map[string]metav1.Time{"p": when}, Conditions: []metav1.Condition{{LastTransitionTime: when}},
		}}
	}
	pod := func(version string, generation int64, edit func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "Pod/d/p#1", ResourceVersion: version, Generation: generation, CreationTimestamp: at}}
		edit(p)
		return p
	}
	same := func(*corev1.Pod) {}
	for _, tt := range []struct {
		name    string
		refused bool
		a, b    any
		want    []string
	}{
		{name: "resource version", a: pod("1", 1, same), b: pod("2", 1, same)},
		{name: "generation", a: pod("1", 1, same), b: pod("1", 2, same), want: []string{"Pod .ObjectMeta.Generation"}},
		{name: "generation after a refusal", refused: true, a: pod("1", 1, same), b: pod("1", 2, same)},
		{name: "creation", a: pod("1", 1, same), b: pod("1", 1, func(p *corev1.Pod) { p.CreationTimestamp = later }), want: []string{"Pod .ObjectMeta.CreationTimestamp"}},
		{name: "UID", a: pod("1", 1, same), b: pod("1", 1, func(p *corev1.Pod) { p.UID = "Pod/d/p#2" }), want: []string{"Pod .ObjectMeta.UID"}},
		{name: "time zone", a: pod("1", 1, same), b: pod("1", 1, func(p *corev1.Pod) {
			p.CreationTimestamp = metav1.NewTime(at.In(time.FixedZone("far", 3600)))
		})},
		{name: "empty list", a: pod("1", 1, same), b: pod("1", 1, func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{} })},
		{name: "quantity", a: pod("1", 1, func(p *corev1.Pod) { p.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("1")} }),
			b:    pod("1", 1, func(p *corev1.Pod) { p.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("1001m")} }),
			want: []string{"Pod .Spec.Overhead[cpu]"}},
		{name: "times of a budget", a: budget(at, 1), b: budget(later, 1), want: []string{"Pod .Status.DisruptedPods[p]", "Pod .Status.Conditions[].LastTransitionTime"}},
		{name: "budget", a: budget(at, 1), b: budget(at, 2), want: []string{"Pod .Status.DisruptionsAllowed"}},
		{name: "disrupted pods", a: budget(at, 1), b: &policyv1.PodDisruptionBudget{Status: policyv1.PodDisruptionBudgetStatus{
			DisruptionsAllowed: 1, Conditions: []metav1.Condition{{LastTransitionTime: at}}}}, want: []string{"Pod .Status.DisruptedPods"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var m mismatch
			p := &pair{refused: tt.refused}
			equal := p.report(&m, "Pod d/p", tt.a, tt.b)
			if d := cmp.Diff(tt.want, m.sites); d != "" || equal != (tt.want == nil) {
				t.Errorf("equal %v, sites (-want +got):\n%s", equal, d)
			}
		})
	}
}
