package vertical

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist/recommender/vertical/vpa"
)

func scaler(t interface {
	Helper()
	Fatal(args ...any)
}, updater string, v *vpav1.VerticalPodAutoscaler, limits ...*corev1.LimitRange) *Scaler {
	t.Helper()
	w := shop
	w.VPA = v
	s, err := NewScaler(vpa.DefaultFlags(), updater, w, limits)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func withPolicy(p vpav1.ContainerResourcePolicy) *vpav1.VerticalPodAutoscaler {
	return &vpav1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: vpav1.VerticalPodAutoscalerSpec{ResourcePolicy: &vpav1.PodResourcePolicy{ContainerPolicies: []vpav1.ContainerResourcePolicy{p}}}}
}

var recommended = Recommendation{"app", Amount{400, 400 << 20}, Amount{1000, 1 << 30}, Amount{2000, 2 << 30}}

// TestCap: what a status may say of a container, by its policy.
func TestCap(t *testing.T) {
	capped := recommended
	capped.Target, capped.Upper = Amount{700, 1 << 30}, Amount{700, 2 << 30}
	raised := recommended
	raised.Lower = Amount{400, 1 << 30}
	cpuOnly := Recommendation{"app", Amount{400, Unset}, Amount{1000, Unset}, Amount{2000, Unset}}
	for name, c := range map[string]struct {
		vpa  *vpav1.VerticalPodAutoscaler
		want []Recommendation
	}{
		"no policy":      {&vpav1.VerticalPodAutoscaler{}, []Recommendation{recommended}},
		"maxAllowed":     {withPolicy(vpav1.ContainerResourcePolicy{ContainerName: "*", MaxAllowed: Amount{700, Unset}.List()}), []Recommendation{capped}},
		"minAllowed":     {withPolicy(vpav1.ContainerResourcePolicy{ContainerName: "app", MinAllowed: Amount{Unset, 1 << 30}.List()}), []Recommendation{raised}},
		"of another":     {withPolicy(vpav1.ContainerResourcePolicy{ContainerName: "side", MaxAllowed: Amount{1, 1}.List()}), []Recommendation{recommended}},
		"mode Off":       {withPolicy(vpav1.ContainerResourcePolicy{ContainerName: "app", Mode: new(vpav1.ContainerScalingModeOff)}), []Recommendation{}},
		"CPU controlled": {withPolicy(vpav1.ContainerResourcePolicy{ContainerName: "app", ControlledResources: &[]corev1.ResourceName{corev1.ResourceCPU}}), []Recommendation{cpuOnly}},
	} {
		if diff := cmp.Diff(c.want, Cap(c.vpa, []Recommendation{recommended})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAdmit: requests as recommended, limits in proportion, bound by controlled values and by limit ranges.
func TestAdmit(t *testing.T) {
	template := pod("web-0", start, 0, Amount{500, 512 << 20}, Amount{1000, 512 << 20})
	most := func(kind corev1.LimitType, cpu string) *corev1.LimitRange {
		return &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "limits"},
			Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: kind, Max: corev1.ResourceList{corev1.ResourceCPU: quantity(cpu)}}}}}
	}
	for name, c := range map[string]struct {
		vpa              *vpav1.VerticalPodAutoscaler
		limits           []*corev1.LimitRange
		requests, bounds Amount
	}{
		"in proportion":          {nil, nil, Amount{1000, 1 << 30}, Amount{2000, 1 << 30}},
		"requests only":          {withPolicy(vpav1.ContainerResourcePolicy{ContainerName: "*", ControlledValues: new(vpav1.ContainerControlledValuesRequestsOnly)}), nil, Amount{1000, 512 << 20}, Amount{1000, 512 << 20}},
		"limit range, container": {nil, []*corev1.LimitRange{most(corev1.LimitTypeContainer, "1200m")}, Amount{600, 1 << 30}, Amount{1200, 1 << 30}},
		"limit range, pod":       {nil, []*corev1.LimitRange{most(corev1.LimitTypePod, "1600m")}, Amount{800, 1 << 30}, Amount{1600, 1 << 30}},
	} {
		s := scaler(t, UpdaterUpstream, c.vpa, c.limits...)
		if got := AmountOf(s.Admit(start, template).Spec.Containers[0].Resources.Requests); got != (Amount{500, 512 << 20}) {
			t.Errorf("%s: before a recommendation: %+v", name, got)
		}
		s.Set([]Recommendation{recommended})
		r := s.Admit(start, template).Spec.Containers[0].Resources
		if diff := cmp.Diff([]Amount{c.requests, c.bounds}, []Amount{AmountOf(r.Requests), AmountOf(r.Limits)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestUpdaters: the same two pods by each updater. Upstream looks at the request, smart-kube's code at the usage, and its README at the
// opposite of its code.
func TestUpdaters(t *testing.T) {
	inside, outside := Amount{1000, 1 << 30}, Amount{3000, 1 << 30} // the bounds are 400m to 2000m
	for _, c := range []struct {
		name            string
		requests, usage Amount
		limits          Amount
		want            map[string]bool
	}{
		{"both within", inside, inside, None, map[string]bool{UpdaterSmartKubeReadme: true}},
		{"the request is outside", outside, inside, None, map[string]bool{UpdaterUpstream: true, UpdaterSmartKubeReadme: true}},
		{"the usage is outside", inside, outside, None, map[string]bool{UpdaterSmartKubeCode: true}},
		{"the usage is below", inside, Amount{100, 1 << 30}, None, map[string]bool{UpdaterSmartKubeCode: true}},
		{"at a bound", inside, Amount{400, 1 << 30}, None, map[string]bool{UpdaterSmartKubeCode: true}},
		{"at the limit", inside, inside, inside, map[string]bool{UpdaterSmartKubeCode: true, UpdaterSmartKubeReadme: true}},
		{"nothing is known", inside, None, None, map[string]bool{}},
	} {
		for _, name := range Updaters {
			s := scaler(t, name, nil)
			s.Set([]Recommendation{recommended})
			var pods []Live
			for i := range 2 {
				p := s.Admit(start, pod(fmt.Sprintf("web-%d", i), start, time.Hour, c.requests, c.limits))
				p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: c.requests.List(), Limits: c.limits.List()}
				pods = append(pods, Live{Pod: p, Usage: []Amount{c.usage}})
			}
			updated := false
			s.Update(start, pods, func(u Update) { updated = true })
			if updated != c.want[name] {
				t.Errorf("%s: %s updates: %v", c.name, name, updated)
			}
		}
	}
	if _, err := NewScaler(vpa.DefaultFlags(), "mine", shop, nil); err == nil {
		t.Error("an unknown updater was taken")
	}
}

// TestCalm: where the short way says that nothing is to be done, upstream's updater does nothing.
func TestCalm(t *testing.T) {
	calm := 0
	rapid.Check(t, func(t *rapid.T) {
		s := scaler(t, UpdaterUpstream, nil)
		amount := func(label string) Amount {
			return Amount{rapid.Int64Range(400, 1200).Draw(t, label+" cpu"), rapid.Int64Range(400, 1200).Draw(t, label+" memory")}
		}
		target := amount("target")
		s.Set([]Recommendation{{"app", Amount{target.CPUMilli - 400, target.MemoryBytes - 400}, target, Amount{target.CPUMilli + 400, target.MemoryBytes + 400}}})
		if rapid.IntRange(0, 9).Draw(t, "not recommended") == 0 {
			s.Set(nil)
		}
		var pods []Live
		for i := range rapid.IntRange(1, 4).Draw(t, "pods") {
			requests := amount("requests")
			if rapid.Bool().Draw(t, "as recommended") {
				requests = target
			}
			p := s.Admit(start, pod(fmt.Sprintf("web-%d", i), start, rapid.SampledFrom([]time.Duration{time.Minute, 13 * time.Hour}).Draw(t, "age"), None, None))
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: requests.List()}
			if rapid.Bool().Draw(t, "OOM") {
				ended := start.Add(-rapid.SampledFrom([]time.Duration{time.Minute, time.Hour}).Draw(t, "ago"))
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
					Reason: "OOMKilled", StartedAt: metav1.NewTime(ended.Add(-time.Minute)), FinishedAt: metav1.NewTime(ended)}}}}
			}
			pods = append(pods, Live{Pod: p, Usage: []Amount{None}})
		}
		u := s.updater.(*upstream)
		if !u.calm(start, s, pods) {
			return
		}
		calm++
		s.plain = false // the long way
		s.Update(start, pods, func(a Update) { t.Fatalf("calm, but %+v", a) })
	})
	if calm < 5 {
		t.Errorf("%d of the draws were calm: the test shows nothing", calm)
	}
}

// TestUpdateInPlace: in mode InPlaceOrRecreate pods are resized, with the resources that they get.
func TestUpdateInPlace(t *testing.T) {
	mode := vpav1.UpdateModeInPlaceOrRecreate
	s := scaler(t, UpdaterUpstream, &vpav1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: vpav1.VerticalPodAutoscalerSpec{UpdatePolicy: &vpav1.PodUpdatePolicy{UpdateMode: &mode}}})
	var pods []Live
	for i := range 4 {
		pods = append(pods, Live{Pod: s.Admit(start, pod(fmt.Sprintf("web-%d", i), start, time.Hour, Amount{100, 1 << 30}, None)), Usage: []Amount{None}})
	}
	s.Set([]Recommendation{recommended})
	var updates []Update
	s.Update(start, pods, func(u Update) { updates = append(updates, u) })
	if len(updates) != 2 { // half of four may be away
		t.Fatalf("%+v", updates)
	}
	for i, u := range updates {
		if u.Pod != i || !u.InPlace || AmountOf(u.Resources[0].Requests) != recommended.Target {
			t.Errorf("%+v", u)
		}
	}
}
