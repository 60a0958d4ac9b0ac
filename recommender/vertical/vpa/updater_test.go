package vpa

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/pod/patch"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/pod/recommendation"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/features"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/inplace"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/priority"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/restriction"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/utils"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/limitrange"
	vpautil "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	"pgregory.net/rapid"
)

var allModes = []vpav1.UpdateMode{vpav1.UpdateModeRecreate, vpav1.UpdateModeAuto, //nolint:staticcheck // Auto is deprecated, and in use
	vpav1.UpdateModeInPlaceOrRecreate, vpav1.UpdateModeInPlaceOrRecreate, vpav1.UpdateModeInPlace, vpav1.UpdateModeInPlace, vpav1.UpdateModeInitial, vpav1.UpdateModeOff}

// theirUpdater is upstream's restrictions, calculators and admission, called as its loop does (updater/logic/updater.go, RunOnce).
type theirUpdater struct {
	flags      Flags
	factory    restriction.PodsRestrictionFactory
	limits     limitrange.LimitRangeCalculator
	infeasible map[types.UID]*vpav1.RecommendedPodResources
	refused    func(pod string) bool
	unboosted  int
	// did are evictions and patches that the client was asked for.
	did []string
	// patched are the patches of resizes, annotated those of annotations that follow.
	patched, annotated map[string][]byte
}

var errRefused = errors.New("refused")

func newTheirUpdater(t *testing.T, f Flags, o Objects, refused func(string) bool) *theirUpdater {
	upstreamsGates(t, f)
	u := &theirUpdater{flags: f, refused: refused, infeasible: map[types.UID]*vpav1.RecommendedPodResources{}, patched: map[string][]byte{}, annotated: map[string][]byte{}}
	client := fake.NewSimpleClientset()
	client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		name := a.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction).Name
		return true, nil, u.do("evict " + name)
	})
	client.PrependReactor("patch", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		p := a.(clienttesting.PatchAction)
		if p.GetSubresource() != "resize" {
			u.annotated[p.GetName()] = p.GetPatch()
			return true, &corev1.Pod{}, nil
		}
		u.patched[p.GetName()] = p.GetPatch()
		return true, &corev1.Pod{}, u.do("resize in place " + p.GetName())
	})
	informers := caches(t, client, o)
	limits, err := limitrange.NewLimitsRangeCalculator(informers)
	if err != nil {
		t.Fatal(err)
	}
	u.limits = limits
	provider := recommendation.NewProvider(limits, vpautil.NewCappingRecommendationProcessor(limits))
	u.factory = restriction.NewPodsRestrictionFactory(client, informers, f.MinReplicas, f.EvictionTolerance,
		[]patch.Calculator{inplace.NewResourceInPlaceUpdatesCalculator(provider), inplace.NewInPlaceUpdatedCalculator(), inplace.NewUnboostAnnotationCalculator()}, f.InPlaceSkipDisruptionBudget)
	return u
}

// caches are upstream's informers, filled by hand and not started.
func caches(t *testing.T, client *fake.Clientset, o Objects) informers.SharedInformerFactory {
	f := informers.NewSharedInformerFactory(client, 0)
	add := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for c, state := range o.Controllers {
		meta, replicas := metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}, int32(state.Replicas)
		switch c.Kind {
		case "ReplicaSet":
			add(f.Apps().V1().ReplicaSets().Informer().GetStore().Add(&appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &replicas}}))
		case "StatefulSet":
			add(f.Apps().V1().StatefulSets().Informer().GetStore().Add(&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: &replicas}}))
		case "DaemonSet":
			add(f.Apps().V1().DaemonSets().Informer().GetStore().Add(&appsv1.DaemonSet{ObjectMeta: meta, Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: replicas}}))
		}
	}
	for _, l := range o.LimitRanges {
		add(f.Core().V1().LimitRanges().Informer().GetIndexer().Add(l))
	}
	return f
}

func (u *theirUpdater) do(action string) error {
	name := action[strings.LastIndex(action, " ")+1:]
	if u.refused(name) {
		u.did = append(u.did, action+": refused")
		return errRefused
	}
	u.did = append(u.did, action)
	return nil
}

// survives does a turn, and says whether upstream got through it.
func (u *theirUpdater) survives(t *testing.T, now time.Time, o Objects) (well bool) {
	defer func() { well = recover() == nil }()
	u.turn(t, now, o)
	return true
}

func (u *theirUpdater) turn(t *testing.T, now time.Time, o Objects) {
	admission := priority.NewScalingDirectionPodEvictionAdmission()
	var vpas []*vpautil.VpaWithSelector
	for _, v := range o.VPAs {
		if mode := vpautil.GetUpdateMode(v.Object); v.Selector != nil && (mode != vpav1.UpdateModeOff && mode != vpav1.UpdateModeInitial || vpautil.HasStartupBoost(v.Object)) {
			vpas = append(vpas, &vpautil.VpaWithSelector{Vpa: v.Object, Selector: v.Selector})
		}
	}
	controlled, alive := map[*vpav1.VerticalPodAutoscaler][]*corev1.Pod{}, map[types.UID]bool{}
	for _, p := range o.Pods {
		if p.DeletionTimestamp != nil || p.Spec.NodeName == "" || p.Status.Phase == corev1.PodFailed {
			continue
		}
		alive[p.UID] = true
		if v := vpautil.GetControllingVPAForPod(t.Context(), p, vpas, controllers(o.Controllers)); v != nil {
			controlled[v.Vpa] = append(controlled[v.Vpa], p)
		}
	}
	for uid := range u.infeasible {
		if !alive[uid] && len(vpas) > 0 {
			delete(u.infeasible, uid)
		}
	}
	admission.LoopInit(nil, controlled)
	for _, v := range vpas {
		if pods := controlled[v.Vpa]; len(pods) > 0 {
			u.update(t, now, v.Vpa, pods, admission)
		}
	}
}

func (u *theirUpdater) order(now time.Time, vpa *vpav1.VerticalPodAutoscaler, pods []*corev1.Pod, admission priority.PodEvictionAdmission) []*corev1.Pod {
	c := priority.NewUpdatePriorityCalculator(vpa, priority.UpdateConfig{MinChangePriority: u.flags.UpdateThreshold,
		PodLifetimeUpdateThreshold: u.flags.PodLifetime, EvictAfterOOMThreshold: u.flags.EvictAfterOOM},
		vpautil.NewCappingRecommendationProcessor(u.limits), priority.NewProcessor())
	for _, p := range pods {
		c.AddPod(p, now, u.infeasible)
	}
	return c.GetSortedPods(admission)
}

func (u *theirUpdater) update(t *testing.T, now time.Time, vpa *vpav1.VerticalPodAutoscaler, pods []*corev1.Pod, admission priority.PodEvictionAdmission) {
	stats, creators, err := u.factory.GetCreatorMaps(pods, vpa)
	if err != nil {
		t.Fatal(err)
	}
	inPlace, evictions := u.factory.NewPodsInPlaceRestriction(stats, creators), u.factory.NewPodsEvictionRestriction(stats, creators)
	recorder := record.NewFakeRecorder(1000)
	mode := vpautil.GetUpdateMode(vpa)
	var toEvict []*corev1.Pod
	if features.Enabled(features.CPUStartupBoost) && vpautil.HasStartupBoost(vpa) {
		var unboosted, others []*corev1.Pod
		for _, p := range pods {
			if len(vpautil.GetExpiredStartupCPUBoostAnnotations(p, vpa)) > 0 {
				unboosted = append(unboosted, p)
			}
			if !vpautil.PodHasCPUBoostInProgressAnnotation(p) {
				others = append(others, p)
			}
		}
		for _, p := range unboosted {
			if inPlace.CanUnboost(p, vpa) {
				if err := inPlace.InPlaceUpdate(p, vpa, recorder); err == nil {
					u.unboosted++
				}
			}
		}
		pods = others
	}
	switch {
	case mode == vpav1.UpdateModeOff || mode == vpav1.UpdateModeInitial:
		return
	case mode == vpav1.UpdateModeInPlace && !u.flags.InPlace:
		return
	case mode == vpav1.UpdateModeInPlace || mode == vpav1.UpdateModeInPlaceOrRecreate:
		var candidates []*corev1.Pod
		for _, p := range pods {
			d := inPlace.CanInPlaceUpdate(p, vpa, u.infeasible)
			keep := []utils.InPlaceDecision{utils.InPlaceApproved, utils.InPlaceEvict}
			if mode == vpav1.UpdateModeInPlace {
				keep = []utils.InPlaceDecision{utils.InPlaceApproved, utils.InPlaceInfeasible, utils.InPlaceDeferred}
			}
			if slices.Contains(keep, d) {
				candidates = append(candidates, p)
			}
		}
		for _, p := range u.order(now, vpa, candidates, admission) {
			d := inPlace.CanInPlaceUpdate(p, vpa, u.infeasible)
			if d == utils.InPlaceInfeasibleCached || d == utils.InPlaceDeferred && mode == vpav1.UpdateModeInPlaceOrRecreate {
				continue
			}
			if d == utils.InPlaceEvict {
				toEvict = append(toEvict, p)
				continue
			}
			if d == utils.InPlaceInfeasible {
				u.infeasible[p.UID] = vpa.Status.Recommendation
			}
			if err := inPlace.InPlaceUpdate(p, vpa, recorder); err != nil && mode == vpav1.UpdateModeInPlaceOrRecreate {
				toEvict = append(toEvict, p)
			}
		}
	default:
		var candidates []*corev1.Pod
		for _, p := range pods {
			if evictions.CanEvict(p) {
				candidates = append(candidates, p)
			}
		}
		toEvict = u.order(now, vpa, candidates, admission)
	}
	for _, p := range toEvict {
		if evictions.CanEvict(p) {
			_ = evictions.Evict(p, vpa, recorder) // a refusal is noted by the client
		}
	}
}

// TestUpdaterIsUpstreams runs three turns over random clusters through upstream's restrictions, calculators, patches and fake clients,
// in a bubble whose clock is the virtual one, and through ours.
func TestUpdaterIsUpstreams(t *testing.T) {
	defer upstreamsGates(t, DefaultFlags())
	var turns, actions, unboosted, crashes int
	rapid.Check(t, func(rt *rapid.T) {
		flags, err := ParseFlags(append(drawGates(rt),
			fmt.Sprintf("min-replicas=%d", rapid.IntRange(0, 3).Draw(rt, "min replicas")),
			fmt.Sprintf("eviction-tolerance=%v", rapid.SampledFrom([]float64{0, 0.25, 0.5, 1}).Draw(rt, "tolerance")),
			fmt.Sprintf("in-place-skip-disruption-budget=%v", rapid.Bool().Draw(rt, "skip budget")),
		))
		if err != nil {
			rt.Fatal(err)
		}
		o := drawObjects(rt, allModes)
		var waits []time.Duration
		for range 3 {
			waits = append(waits, time.Duration(rapid.SampledFrom([]int{1, 4, 6, 50, 70}).Draw(rt, "wait"))*time.Minute)
		}
		every := rapid.IntRange(2, 9).Draw(rt, "refused")
		refused := func(pod string) bool { return len(pod)%every == 0 || strings.HasSuffix(pod, "-2") }
		before := deepCopy(o)
		var failure string
		synctest.Test(t, func(t *testing.T) {
			var n, ends int
			n, ends, failure = compareTurns(t, flags, o, waits, refused)
			actions, unboosted = actions+n, unboosted+ends
		})
		turns += len(waits)
		switch {
		case failure == crashed:
			crashes++
		case failure != "":
			rt.Fatal(failure)
		case !cmp.Equal(before, o, sameNumbers, cmp.Comparer(func(a, b VPA) bool { return cmp.Equal(a.Object, b.Object, sameNumbers) })):
			rt.Fatal("objects were changed")
		}
	})
	if actions == 0 || unboosted == 0 {
		t.Error("nothing was done to any pod, or no boost ended")
	}
	t.Logf("%d actions and %d ends of boosts in %d turns, %d clusters on which upstream crashes", actions, unboosted, turns, crashes)
}

const crashed = "upstream panics"

func deepCopy(o Objects) Objects {
	c := o
	c.VPAs, c.Pods, c.LimitRanges = nil, nil, nil
	for _, v := range o.VPAs {
		c.VPAs = append(c.VPAs, VPA{v.Object.DeepCopy(), v.Selector})
	}
	for _, p := range o.Pods {
		c.Pods = append(c.Pods, p.DeepCopy())
	}
	for _, l := range o.LimitRanges {
		c.LimitRanges = append(c.LimitRanges, l.DeepCopy())
	}
	return c
}

// compareTurns returns how many actions there were, how many boosts ended, and what differs.
func compareTurns(t *testing.T, flags Flags, o Objects, waits []time.Duration, refused func(string) bool) (actions, unboosted int, failure string) {
	theirs := newTheirUpdater(t, flags, o, refused)
	ours, err := NewUpdater(flags)
	if err != nil {
		t.Fatal(err)
	}
	for i, wait := range waits {
		time.Sleep(wait)
		now := time.Now().UTC()
		theirs.did, theirs.patched, theirs.annotated = nil, map[string][]byte{}, map[string][]byte{}
		if !theirs.survives(t, now, o) {
			ours.Update(now, o, nil)
			return actions, theirs.unboosted, crashed
		}
		var got []string
		for _, a := range ours.Update(now, o, func(a Action) error {
			if refused(a.Pod.Name) {
				return errRefused
			}
			return nil
		}) {
			if a.Reason == BoostEnds && a.Err != nil && !errors.Is(a.Err, errRefused) {
				continue // upstream asks for nothing, either
			}
			text := string(a.Kind) + " " + a.Pod.Name
			if a.Err != nil {
				text += ": refused"
			}
			got = append(got, text)
			if a.Kind == Resize {
				want := patchedPod(t, a.Pod, theirs.patched[a.Pod.Name])
				if a.Err == nil {
					want = patchedPod(t, want, theirs.annotated[a.Pod.Name])
				} else {
					want.Annotations = a.Resized().Annotations // upstream asks only for the resize
				}
				if diff := cmp.Diff(want, a.Resized(), sameNumbers); diff != "" {
					return len(got), theirs.unboosted, fmt.Sprintf("resize of %s (-upstream +us):\n%s", a.Pod.Name, diff)
				}
			}
		}
		actions += len(got)
		if diff := cmp.Diff(theirs.did, got); diff != "" {
			return actions, theirs.unboosted, fmt.Sprintf("turn %d (-upstream +us):\n%s", i, diff)
		}
	}
	return actions, theirs.unboosted, ""
}

// patchedPod is the pod after a JSON patch.
func patchedPod(t *testing.T, p *corev1.Pod, operations []byte) *corev1.Pod {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := jsonpatch.DecodePatch(operations)
	if err != nil {
		t.Fatalf("%s: %v", operations, err)
	}
	if text, err = decoded.Apply(text); err != nil {
		t.Fatalf("%s: %v", operations, err)
	}
	after := &corev1.Pod{}
	if err := json.Unmarshal(text, after); err != nil {
		t.Fatal(err)
	}
	return after
}
