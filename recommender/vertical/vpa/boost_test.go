package vpa

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
)

func factor(f int32, seconds int32) *vpav1.StartupBoost {
	return &vpav1.StartupBoost{CPU: &vpav1.GenericStartupBoost{Type: vpav1.FactorStartupBoostType, Factor: &f, DurationSeconds: &seconds}}
}

func boosting(t *testing.T, more ...string) Flags {
	t.Helper()
	f, err := ParseFlags(append([]string{"feature-gates=CPUStartupBoost=true"}, more...))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestBoost has the rules of the boost of a new pod one by one. What is recommended is 500m.
func TestBoost(t *testing.T) {
	quantity := &vpav1.StartupBoost{CPU: &vpav1.GenericStartupBoost{Type: vpav1.QuantityStartupBoostType, Quantity: new(resource.MustParse("250m"))}}
	container := func(change func(*vpav1.ContainerResourcePolicy)) *vpav1.PodResourcePolicy {
		p := vpav1.ContainerResourcePolicy{ContainerName: "app"}
		change(&p)
		return &vpav1.PodResourcePolicy{ContainerPolicies: []vpav1.ContainerResourcePolicy{p}}
	}
	requestsOnly := func(p *vpav1.ContainerResourcePolicy) {
		p.ControlledValues = new(vpav1.ContainerControlledValuesRequestsOnly)
	}
	const asked = `{"requests":{"cpu":"100m"},"limits":{}}`
	for name, c := range map[string]struct {
		boost         *vpav1.StartupBoost
		policy        *vpav1.PodResourcePolicy
		mode          vpav1.UpdateMode
		flags         []string
		limit         string
		want, wantMax string
		wantNote      string
	}{
		"a factor of what is recommended":         {boost: factor(3, 0), want: "1500m", wantNote: asked},
		"a quantity on top of it":                 {boost: quantity, want: "750m", wantNote: asked},
		"of the request where nothing is applied": {boost: factor(3, 0), mode: vpav1.UpdateModeOff, want: "300m", wantNote: asked},
		"the container's rather than the pod's": {boost: factor(3, 0), want: "750m", wantNote: asked,
			policy: container(func(p *vpav1.ContainerResourcePolicy) { p.StartupBoost = quantity })},
		"a container that is Off": {boost: factor(3, 0), want: "100m",
			policy: container(func(p *vpav1.ContainerResourcePolicy) { p.Mode = new(vpav1.ContainerScalingModeOff) })},
		"at most the flag":       {boost: factor(3, 0), flags: []string{"max-allowed-cpu-boost=1200m"}, want: "1200m", wantNote: asked},
		"limits in proportion":   {boost: factor(3, 0), limit: "200m", want: "1500m", wantMax: "3", wantNote: `{"requests":{"cpu":"100m"},"limits":{"cpu":"200m"}}`},
		"below a limit":          {boost: factor(3, 0), limit: "1", policy: container(requestsOnly), want: "999m", wantMax: "1", wantNote: `{"requests":{"cpu":"100m"},"limits":{"cpu":"1"}}`},
		"a gate that is off":     {boost: factor(3, 0), flags: []string{"feature-gates=CPUStartupBoost=false"}, want: "500m"},
		"no boost":               {want: "500m"},
		"a boost without CPU":    {boost: &vpav1.StartupBoost{}, want: "100m"},
		"a factor of nothing":    {boost: factor(0, 0), want: "100m"},
		"a quantity of nothing":  {boost: &vpav1.StartupBoost{CPU: &vpav1.GenericStartupBoost{Type: vpav1.QuantityStartupBoostType}}, want: "100m"},
		"a type that is unknown": {boost: &vpav1.StartupBoost{CPU: &vpav1.GenericStartupBoost{Type: "Other"}}, want: "100m"},
	} {
		t.Run(name, func(t *testing.T) {
			mode := c.mode
			if mode == "" {
				mode = vpav1.UpdateModeRecreate
			}
			o := fleet(mode, "100m")
			o.VPAs[0].Object.Spec.StartupBoost, o.VPAs[0].Object.Spec.ResourcePolicy = c.boost, c.policy
			p := o.Pods[0]
			if c.limit != "" {
				p.Spec.Containers[0].Resources.Limits = quantities(c.limit, "")
			}
			a, err := NewAdmitter(boosting(t, c.flags...), func() Objects { return o })
			if err != nil {
				t.Fatal(err)
			}
			got := a.Admit(start, p)
			want := corev1.ResourceRequirements{Requests: quantities(c.want, "")}
			if c.wantMax != "" {
				want.Limits = quantities(c.wantMax, "")
			}
			if diff := cmp.Diff(want, got.Spec.Containers[0].Resources, sameNumbers); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if note := got.Annotations["vpaCpuStartupBoost/app"]; note != c.wantNote {
				t.Errorf("annotation %q, want %q", note, c.wantNote)
			}
		})
	}
}

// TestBoostEnds: a pod that was boosted from 500m to 2 is resized in place once it has been Ready for longer than a minute, and nothing else
// happens to it before.
func TestBoostEnds(t *testing.T) {
	boosted := func(mode vpav1.UpdateMode, note string) Objects {
		o := fleet(mode, "2", "500m") // 2 is outside of the recommended range
		o.VPAs[0].Object.Spec.StartupBoost = factor(4, 60)
		o.Pods[0].Annotations = map[string]string{"vpaCpuStartupBoost/app": note}
		return o
	}
	ready := func(o Objects, status corev1.ConditionStatus) Objects {
		o.Pods[0].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(start)}}
		return o
	}
	const asked = `{"requests":{"cpu":"700m"},"limits":{}}`
	off, inPlace := vpav1.UpdateModeOff, vpav1.UpdateModeInPlaceOrRecreate
	for name, c := range map[string]struct {
		objects Objects
		at      time.Duration
		change  func(Objects)
		want    string // the request after it, or nothing where nothing is done
		wantErr bool
	}{
		"to what is recommended":  {objects: ready(boosted(inPlace, asked), corev1.ConditionTrue), at: 61 * time.Second, want: "500m"},
		"to what was asked for":   {objects: ready(boosted(off, asked), corev1.ConditionTrue), at: 61 * time.Second, want: "700m"},
		"not before":              {objects: ready(boosted(inPlace, asked), corev1.ConditionTrue), at: 60 * time.Second},
		"not of one that waits":   {objects: ready(boosted(inPlace, asked), corev1.ConditionFalse), at: time.Hour},
		"not of one just created": {objects: boosted(inPlace, asked), at: time.Hour},
		"to nothing in particular": {objects: ready(boosted(off, `{"requests":{},"limits":{}}`), corev1.ConditionTrue), at: time.Hour,
			wantErr: true, change: func(o Objects) { // a container that has nothing, and that upstream leaves alone
				o.Pods[0].Spec.Containers = append(o.Pods[0].Spec.Containers, corev1.Container{Name: "side"})
			}},
		"not while it is resized": {objects: ready(boosted(inPlace, asked), corev1.ConditionTrue), at: time.Hour, change: func(o Objects) {
			o.Pods[0].Status.Conditions = append(o.Pods[0].Status.Conditions, corev1.PodCondition{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue})
		}},
		"at once without a duration": {objects: ready(boosted(inPlace, asked), corev1.ConditionTrue), want: "500m", change: func(o Objects) {
			o.VPAs[0].Object.Spec.StartupBoost.CPU.DurationSeconds = nil
		}},
		"as long as the container's": {objects: ready(boosted(inPlace, asked), corev1.ConditionTrue), at: time.Hour, change: func(o Objects) {
			o.VPAs[0].Object.Spec.ResourcePolicy = &vpav1.PodResourcePolicy{ContainerPolicies: []vpav1.ContainerResourcePolicy{{ContainerName: "*", StartupBoost: factor(2, 7200)}}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.change != nil {
				c.change(c.objects)
			}
			u, err := NewUpdater(boosting(t))
			if err != nil {
				t.Fatal(err)
			}
			all := u.Update(start.Add(c.at), c.objects, nil)
			if c.want == "" && !c.wantErr {
				if len(all) != 0 {
					t.Fatalf("%s of %s: %s", all[0].Kind, all[0].Pod.Name, all[0].Reason)
				}
				return
			}
			if len(all) != 1 || all[0].Kind != Resize || all[0].Reason != BoostEnds || all[0].Pod.Name != "web-0" {
				t.Fatalf("got %+v, want one resize of web-0 that ends its boost", all)
			}
			if got := errors.Is(all[0].Err, errNothing); got != c.wantErr {
				t.Fatalf("error %v, want one: %v", all[0].Err, c.wantErr)
			}
			if c.wantErr {
				return
			}
			after := all[0].Resized()
			if diff := cmp.Diff(quantities(c.want, ""), after.Spec.Containers[0].Resources.Requests, sameNumbers); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(map[string]string{"vpaInPlaceUpdated": "true"}, after.Annotations); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
