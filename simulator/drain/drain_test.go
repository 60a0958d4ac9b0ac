package drain

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
)

var now = time.Date(2026, time.March, 1, 10, 0, 0, 0, time.UTC)

// defaults are upstream's.
var defaults = Options{SkipSystemPods: true, SkipLocalStorage: true, SkipCustomControllers: true, SystemPodTimeout: scalehist.Duration(time.Hour)}

// owned is a pod of a ReplicaSet, ten minutes old.
func owned(change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "p", UID: "p", Labels: map[string]string{"app": "web"}, Annotations: map[string]string{},
		CreationTimestamp: metav1.NewTime(now.Add(-10 * time.Minute)),
	}}
	by("ReplicaSet", "web")(p)
	for _, c := range change {
		c(p)
	}
	return p
}

func by(kind, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, UID: types.UID(kind + name), Controller: &yes}}
	}
}

func alone(p *corev1.Pod) { p.OwnerReferences = nil }

func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[key] = value }
}

func system(p *corev1.Pod) { p.Namespace = metav1.NamespaceSystem }

func old(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(now.Add(-2 * time.Hour)) }

func deletedFor(d time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now.Add(-d)} }
}

func volume(v corev1.VolumeSource) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "v", VolumeSource: v})
	}
}

func budgetFor(namespace string, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "b"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

var (
	emptyDir = volume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	memory   = volume(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}})
	hostPath = volume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}})
)

// TestRules has a line for each rule and for the rules that come before it.
func TestRules(t *testing.T) {
	move, skip, wait := Verdict{Action: Move}, Verdict{Action: Skip}, Verdict{Action: Wait}
	block := func(reason string) Verdict { return Verdict{Block, reason} }
	noSystem, noLocal, noCustom := defaults, defaults, defaults
	noSystem.SkipSystemPods, noLocal.SkipLocalStorage, noCustom.SkipCustomControllers = false, false, false
	fewest := defaults
	fewest.MinReplicaCount = 4
	for name, tc := range map[string]struct {
		pod     *corev1.Pod
		options Options
		budgets []*policyv1.PodDisruptionBudget
		want    Verdict
	}{
		"a pod of a controller":              {pod: owned(), want: move},
		"mirror before everything":           {pod: owned(alone, annotated(corev1.MirrorPodAnnotationKey, "x"), emptyDir), want: skip},
		"terminating too long":               {pod: owned(alone, deletedFor(61*time.Second)), want: skip},
		"terminating":                        {pod: owned(deletedFor(59 * time.Second)), want: move},
		"controller gone":                    {pod: owned(by("ReplicaSet", "gone"), annotated(safeToEvict, "true")), want: block(ControllerNotFound)},
		"controller gone, custom allowed":    {pod: owned(by("ReplicaSet", "gone")), options: noCustom, want: move},
		"a kind nobody recorded":             {pod: owned(by("StatefulSet", "gone")), want: move},
		"too few replicas":                   {pod: owned(), options: fewest, want: block(MinReplicasReached)},
		"DaemonSet":                          {pod: owned(by("DaemonSet", "ds"), emptyDir), want: move},
		"DaemonSet by annotation":            {pod: owned(alone, annotated(DaemonSetPodAnnotation, "true")), want: move},
		"safe to evict before the rest":      {pod: owned(alone, annotated(safeToEvict, "true"), emptyDir), budgets: []*policyv1.PodDisruptionBudget{budgetFor("default", 0)}, want: move},
		"done":                               {pod: owned(alone, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), want: move},
		"on completion":                      {pod: owned(alone, annotated(safeToEvict, "on-completion")), want: wait},
		"no controller":                      {pod: owned(alone), want: block(NotReplicated)},
		"custom controller":                  {pod: owned(by("Rollout", "r")), want: block(NotReplicated)},
		"custom controller allowed":          {pod: owned(by("Rollout", "r")), options: noCustom, want: move},
		"no controller, custom allowed":      {pod: owned(alone), options: noCustom, want: block(NotReplicated)},
		"system":                             {pod: owned(system), want: block(UnmovableKubeSystemPod)},
		"system, allowed":                    {pod: owned(system), options: noSystem, want: move},
		"system with a budget":               {pod: owned(system), budgets: []*policyv1.PodDisruptionBudget{budgetFor("kube-system", 1)}, want: move},
		"system with a budget elsewhere":     {pod: owned(system), budgets: []*policyv1.PodDisruptionBudget{budgetFor("default", 1)}, want: block(UnmovableKubeSystemPod)},
		"system, old, then local storage":    {pod: owned(system, old, emptyDir), want: move},
		"not safe to evict":                  {pod: owned(annotated(safeToEvict, "false"), emptyDir), want: block(NotSafeToEvictAnnotation)},
		"emptyDir":                           {pod: owned(emptyDir), want: block(LocalStorageRequested)},
		"emptyDir, allowed":                  {pod: owned(emptyDir), options: noLocal, want: move},
		"emptyDir in memory":                 {pod: owned(memory), want: move},
		"hostPath":                           {pod: owned(hostPath), want: block(LocalStorageRequested)},
		"expendable volume":                  {pod: owned(hostPath, annotated(safeToEvictVolumes, "x, v")), want: move},
		"another volume is expendable":       {pod: owned(hostPath, annotated(safeToEvictVolumes, "x")), want: block(LocalStorageRequested)},
		"budget used up":                     {pod: owned(), budgets: []*policyv1.PodDisruptionBudget{budgetFor("default", 0)}, want: block(NotEnoughPdb)},
		"one of two budgets used up":         {pod: owned(), budgets: []*policyv1.PodDisruptionBudget{budgetFor("default", 3), budgetFor("default", 0)}, want: block(NotEnoughPdb)},
		"budget with room":                   {pod: owned(), budgets: []*policyv1.PodDisruptionBudget{budgetFor("default", 1)}, want: move},
		"local storage before a used budget": {pod: owned(emptyDir), budgets: []*policyv1.PodDisruptionBudget{budgetFor("default", 0)}, want: block(LocalStorageRequested)},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.options == (Options{}) {
				tc.options = defaults
			}
			budgets, err := NewBudgets(tc.budgets)
			if err != nil {
				t.Fatal(err)
			}
			three := int32(3)
			o := &scalehist.Objects{
				ReplicaSets: []*appsv1.ReplicaSet{
					{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: appsv1.ReplicaSetSpec{Replicas: &three}},
					{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "web"}, Spec: appsv1.ReplicaSetSpec{Replicas: &three}},
				},
			}
			j := Judge{Now: now, Options: tc.options, Owners: NewOwners(o), Budgets: budgets}
			if got := j.Pod(tc.pod); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestSort(t *testing.T) {
	j := Judge{Now: now, Options: defaults}
	ds, waits, blocks := owned(by("DaemonSet", "ds")), owned(annotated(safeToEvict, "on-completion")), owned(alone)
	got := j.Sort([]*corev1.Pod{ds, owned(), waits})
	if len(got.Move) != 1 || len(got.DaemonSet) != 1 || !got.Waits || got.Blocking != nil {
		t.Errorf("got %+v, want one pod to move, one of a DaemonSet, and one to wait for", got)
	}
	if got := j.Sort([]*corev1.Pod{ds, blocks, owned()}); got.Blocking != blocks || got.Reason != NotReplicated {
		t.Errorf("got %+v, want the pod without a controller to block", got)
	}
}

func TestBudgetsCountDown(t *testing.T) {
	b, err := NewBudgets([]*policyv1.PodDisruptionBudget{budgetFor("default", 2)})
	if err != nil {
		t.Fatal(err)
	}
	pods := []*corev1.Pod{owned(), owned(), owned()}
	if !b.AllAtOnce(pods[:2]) || b.AllAtOnce(pods) {
		t.Errorf("two pods may go at once, three may not: got %v, %v", b.AllAtOnce(pods[:2]), b.AllAtOnce(pods))
	}
	b.Take(pods[:1])
	if b.exhausted(pods[0]) || b.AllAtOnce(pods[:2]) {
		t.Error("after one disruption one more is allowed, not two")
	}
	b.Take(pods[:1])
	if !b.exhausted(pods[0]) {
		t.Error("after two disruptions the budget is not used up")
	}
	bad := budgetFor("default", 1)
	bad.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
	if _, err := NewBudgets([]*policyv1.PodDisruptionBudget{bad}); err == nil {
		t.Error("a selector that cannot be parsed is no error")
	}
}

// TestTakenBudgetsBlock: however pods are taken one by one while the rules allow it, no budget is ever exceeded.
func TestTakenBudgetsBlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		allowed := rapid.SliceOfN(rapid.Int32Range(0, 4), 1, 3).Draw(t, "allowed")
		var pdbs []*policyv1.PodDisruptionBudget
		for _, a := range allowed {
			pdbs = append(pdbs, budgetFor("default", a))
		}
		b, err := NewBudgets(pdbs)
		if err != nil {
			t.Fatal(err)
		}
		j := Judge{Now: now, Options: defaults, Budgets: b}
		taken := int32(0)
		for range rapid.IntRange(0, 8).Draw(t, "pods") {
			if p := owned(); j.Pod(p).Action == Move {
				b.Take([]*corev1.Pod{p})
				taken++
			}
		}
		for _, a := range allowed {
			if taken > a {
				t.Fatalf("%d pods were taken, a budget allows %d", taken, a)
			}
		}
	})
}
