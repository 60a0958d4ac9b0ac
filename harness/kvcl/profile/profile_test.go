package profile

import (
	"errors"
	"hash/fnv"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

func TestProfileKeepsUpstreamsOrder(t *testing.T) {
	p, err := kubeProfile(ScoringDefault)
	if err != nil {
		t.Fatal(err)
	}
	place := map[string]int{}
	for i, e := range p.Plugins.MultiPoint.Enabled {
		place[e.Name] = i + 1
	}
	for _, gone := range []string{names.PrioritySort, names.DefaultPreemption, names.VolumeBinding} {
		if place[gone] != 0 {
			t.Errorf("%s is still enabled", gone)
		}
	}
	if place[names.NodeVolumeLimits] >= place[VolumeBinding] || place[VolumeBinding] >= place[names.VolumeZone] {
		t.Errorf("%s does not stand where upstream's does: %v", VolumeBinding, place)
	}
	for _, c := range p.PluginConfig {
		if c.Name == names.VolumeBinding || c.Name == names.DefaultPreemption {
			t.Errorf("arguments of %s were not passed on", c.Name)
		}
	}
}

func TestBinPacking(t *testing.T) {
	strategy := func(s Scoring) (config.ScoringStrategyType, int) {
		p, err := kubeProfile(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range p.PluginConfig {
			if args, ok := c.Args.(*config.NodeResourcesFitArgs); ok {
				return args.ScoringStrategy.Type, len(p.Plugins.Score.Disabled)
			}
		}
		t.Fatal("no arguments for NodeResourcesFit")
		return "", 0
	}
	if s, off := strategy(""); s != config.LeastAllocated || off != 0 {
		t.Errorf("default scoring is %s with %d scores off, want upstream's", s, off)
	}
	if s, off := strategy(ScoringBinPacking); s != config.MostAllocated || off != 1 {
		t.Errorf("bin packing is %s with %d scores off, want MostAllocated and 1", s, off)
	}
	if _, err := kubeProfile("fancy"); err == nil {
		t.Error("no error for an unknown scoring")
	}
}

func queued(name string, priority int32, at time.Time, uid types.UID) *framework.QueuedPodInfo {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: uid}, Spec: corev1.PodSpec{Priority: &priority}}
	return &framework.QueuedPodInfo{PodInfo: &framework.PodInfo{Pod: pod}, Timestamp: at}
}

func TestQueueOrder(t *testing.T) {
	now := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	ordinals := map[types.UID]int64{"first": 1, "second": 2}
	q := &queueSort{ordinal: func(u types.UID) int64 { return ordinals[u] }}
	base := queued("m", 5, now, "first")
	tests := []struct {
		name  string
		other *framework.QueuedPodInfo
		want  bool // base goes first
	}{
		{"priority wins over all", queued("a", 1, now.Add(-time.Hour), "x"), true},
		{"then the time in the queue", queued("a", 5, now.Add(time.Second), "x"), true},
		{"then creation", queued("a", 5, now, "second"), true},
		{"then the name", queued("z", 5, now, "first"), true},
		{"higher priority goes before", queued("z", 9, now.Add(time.Hour), "second"), false},
	}
	for _, tt := range tests {
		if got := q.Less(base, tt.other); got != tt.want {
			t.Errorf("%s: Less is %t, want %t", tt.name, got, tt.want)
		}
		if q.Less(tt.other, base) == tt.want {
			t.Errorf("%s: order depends on who asks", tt.name)
		}
	}
}

// TestQueueOrderIsTotal: of any two different pods exactly one goes first, or the heap would decide.
func TestQueueOrderIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ordinal := map[types.UID]int64{}
		q := &queueSort{ordinal: func(u types.UID) int64 { return ordinal[u] }}
		draw := func(label string) *framework.QueuedPodInfo {
			uid := types.UID(rapid.StringMatching("[a-c]").Draw(t, label+" uid"))
			ordinal[uid] = int64(uid[0])
			return queued(rapid.StringMatching("[a-c]{1,2}").Draw(t, label+" name"), rapid.Int32Range(0, 1).Draw(t, label+" priority"),
				time.Unix(rapid.Int64Range(0, 1).Draw(t, label+" time"), 0), uid)
		}
		a, b := draw("a"), draw("b")
		same := a.Pod.Name == b.Pod.Name && a.Pod.UID == b.Pod.UID && *a.Pod.Spec.Priority == *b.Pod.Spec.Priority && a.Timestamp.Equal(b.Timestamp)
		if less, more := q.Less(a, b), q.Less(b, a); same && (less || more) || !same && less == more {
			t.Fatalf("Less is %t and %t", less, more)
		}
	})
}

func victim(name string, priority int32, started time.Time) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Priority: &priority},
		Status: corev1.PodStatus{StartTime: ptr.To(metav1.NewTime(started))}}
}

// pick does what upstream does with score functions: the best of each in turn, until one node is left.
func pick(t *testing.T, victims map[string]*extenderv1.Victims) []string {
	left := make([]string, 0, len(victims))
	for n := range victims {
		left = append(left, n)
	}
	for _, score := range (&preemption{}).OrderedScoreFuncs(t.Context(), victims) {
		best, next := int64(math.MinInt64), []string(nil)
		for _, n := range left {
			switch s := score(n); {
			case s > best:
				best, next = s, []string{n}
			case s == best:
				next = append(next, n)
			}
		}
		left = next
	}
	return left
}

func TestPreemptionPicks(t *testing.T) {
	now := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	v := func(violations int64, pods ...*corev1.Pod) *extenderv1.Victims {
		return &extenderv1.Victims{Pods: pods, NumPDBViolations: violations}
	}
	old, young := now.Add(-time.Hour), now
	tests := []struct {
		name string
		in   map[string]*extenderv1.Victims
		want string
	}{
		{"fewest PDB violations", map[string]*extenderv1.Victims{"a": v(1, victim("x", 0, now)), "b": v(0, victim("x", 9, old))}, "b"},
		{"lowest top priority", map[string]*extenderv1.Victims{"a": v(0, victim("x", 9, now)), "b": v(0, victim("x", 1, old), victim("y", 1, old))}, "b"},
		{"lowest sum of priorities", map[string]*extenderv1.Victims{"a": v(0, victim("x", 5, now), victim("y", 4, now)), "b": v(0, victim("x", 5, old), victim("y", 3, old))}, "b"},
		{"fewest victims, of negative priority too", map[string]*extenderv1.Victims{"a": v(0, victim("x", -5, now), victim("y", -5, now)), "b": v(0, victim("x", -5, old))}, "b"},
		{"latest start", map[string]*extenderv1.Victims{"a": v(0, victim("x", 5, old)), "b": v(0, victim("x", 5, young))}, "b"},
	}
	for _, tt := range tests {
		if d := cmp.Diff([]string{tt.want}, pick(t, tt.in)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

func TestPreemptionTiesAreBroken(t *testing.T) {
	now := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	in := map[string]*extenderv1.Victims{}
	for _, n := range []string{"a", "b", "c", "d"} {
		in[n] = &extenderv1.Victims{Pods: []*corev1.Pod{victim("x", 1, now)}}
	}
	first := pick(t, in)
	if len(first) != 1 {
		t.Fatalf("%v are left, want one", first)
	}
	for range 20 {
		if d := cmp.Diff(first, pick(t, in)); d != "" {
			t.Fatal(d)
		}
	}
}

func TestStartTimeIsNeverTheWallClock(t *testing.T) {
	created := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}}
	if got := startTime(p); !got.Equal(created) {
		t.Errorf("a pod that has not started counts from %s, want its creation", got)
	}
}

func TestParkWaitsForANode(t *testing.T) {
	pod := &corev1.Pod{}
	st := Park(pod, fwk.NewStatus(fwk.UnschedulableAndUnresolvable).WithError(scheduler.ErrNoNodesAvailable))
	var fit *framework.FitError
	if !errors.As(st.AsError(), &fit) || !fit.Diagnosis.UnschedulablePlugins.Has(Tracker) || st.Message() != "0/0 nodes are available: no nodes available to schedule pods." {
		t.Errorf("parked status %v", st)
	}
	other := fwk.NewStatus(fwk.Unschedulable, "why")
	if Park(pod, other) != other {
		t.Error("another failure was changed")
	}
}

func TestHashSpreadsCounters(t *testing.T) {
	seen := map[uint64]bool{}
	for _, n := range []string{"n-0", "n-1", "n-2", "n-3", "n-4", "n-5", "n-6", "n-7"} {
		seen[hash("default", "web", n)>>56] = true
	}
	if len(seen) < 5 {
		t.Errorf("%d different top bytes of 8 hashes", len(seen))
	}
	if hash("a", "bc") == hash("ab", "c") {
		t.Error("parts run into each other")
	}
}

// TestHashIsFNV holds the tie-break where it has always been: recorded outcomes depend on it.
func TestHashIsFNV(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.String()).Draw(t, "parts")
		h := fnv.New64a()
		for _, p := range parts {
			h.Write([]byte(p))
			h.Write([]byte{0})
		}
		if got, want := hash(parts...), mix(h.Sum64()); got != want {
			t.Fatalf("hash of %q is %x, want %x", parts, got, want)
		}
	})
}

func TestTiesRankByHash(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	if got, want := NewTies(pod).Rank("n-1"), int(hash("default", "web", "n-1")>>1); got != want {
		t.Errorf("rank %d, want %d", got, want)
	}
	if got, want := NewNamelessTies(12).Rank("3"), int(hash("12", "3")>>1); got != want {
		t.Errorf("nameless rank %d, want %d", got, want)
	}
}
