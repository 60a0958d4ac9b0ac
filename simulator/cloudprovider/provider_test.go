package cloudprovider

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/prices"
)

var start = time.Date(2026, time.March, 1, 10, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func template() *corev1.Node {
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi")}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelInstanceTypeStable: "m.xlarge"}},
		Status:     corev1.NodeStatus{Capacity: list, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}},
	}
}

func groups() []scalehist.NodeGroup {
	return []scalehist.NodeGroup{{Name: "b", MaxSize: 5, Template: template()}, {Name: "a", MinSize: 1, MaxSize: 3, TargetSize: 1, MachineType: "m.large"}}
}

func provider(t testing.TB, o Options) *Provider {
	t.Helper()
	p, err := New(groups(), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func existing(name, group string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(start), Annotations: map[string]string{v1alpha1.NodeGroupAnnotation: group}}}
}

// lines are events in short: "60 NodeJoined b-0".
func lines(events []Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, fmt.Sprintf("%d %s %s", int(e.At.Sub(start).Seconds()), e.Type, e.NodeName))
	}
	return out
}

// states are instances in short: "b-0 creating".
func states(p *Provider, group string) []string {
	var out []string
	for _, i := range p.Instances(group) {
		s := i.NodeName + " " + string(i.State)
		if i.Error != nil {
			s += " " + string(i.Error.Class)
		}
		out = append(out, s)
	}
	return out
}

func TestNewRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		groups []scalehist.NodeGroup
		opts   Options
		want   string
	}{
		"duplicate":        {groups: append(groups(), groups()[0]), want: `node group "b": given twice`},
		"no name":          {groups: []scalehist.NodeGroup{{}}, want: "name is empty"},
		"min above max":    {groups: []scalehist.NodeGroup{{Name: "x", MinSize: 2, MaxSize: 1}}, want: "x: min size 2 is above max size 1"},
		"negative":         {groups: []scalehist.NodeGroup{{Name: "x", TargetSize: -1}}, want: "must not be negative"},
		"unknown delay":    {groups: groups(), opts: Options{ProvisionDelay: map[string]time.Duration{"z": 1}}, want: `provision delay: node group "z" does not exist`},
		"unknown fault":    {groups: groups(), opts: Options{Faults: []Fault{{Kind: "flood"}}}, want: `kind "flood" is unknown`},
		"fault elsewhere":  {groups: groups(), opts: Options{Faults: []Fault{{Group: "z", Kind: FaultRefuse}}}, want: `node group "z" does not exist`},
		"fault backwards":  {groups: groups(), opts: Options{Faults: []Fault{{Kind: FaultRefuse, From: at(5), To: at(5)}}}, want: "is not before"},
		"slow by nothing":  {groups: groups(), opts: Options{Faults: []Fault{{Kind: FaultSlow}}}, want: "slow needs a delay"},
		"price for nobody": {groups: groups(), opts: Options{Prices: &prices.Table{NodeGroups: map[string]float64{"z": 1}}}, want: `prices: node group "z" does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(tc.groups, tc.opts); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

func TestLifeOfANode(t *testing.T) {
	p := provider(t, Options{})
	ctx := t.Context()
	if err := p.Adopt(existing("a-0", "a")); err != nil {
		t.Fatal(err)
	}
	for _, step := range []error{p.IncreaseSize(ctx, at(0), "b", 2), p.IncreaseSize(ctx, at(10), "a", 1)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	if next, ok := p.Next(); !ok || !next.Equal(at(60)) {
		t.Errorf("next: got %s %v, want 60 s", next, ok)
	}
	if got := p.Advance(at(59)); got != nil {
		t.Errorf("before: got %v, want nothing", lines(got))
	}
	events := p.Advance(at(100))
	// a-0 is the adopted node's name, so the new one is a-1.
	if diff := cmp.Diff([]string{"60 NodeJoined b-0", "60 NodeJoined b-1", "70 NodeJoined a-1"}, lines(events)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	n := events[0].Node
	want := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "b-0", UID: "node/b-0", CreationTimestamp: metav1.NewTime(at(60)),
			Labels:      map[string]string{corev1.LabelHostname: "b-0", corev1.LabelInstanceTypeStable: "m.xlarge"},
			Annotations: map[string]string{v1alpha1.NodeGroupAnnotation: "b"},
		},
		Spec: corev1.NodeSpec{ProviderID: "virtual://b-0"},
		Status: corev1.NodeStatus{Capacity: template().Status.Capacity, Allocatable: template().Status.Capacity, Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: metav1.NewTime(at(60)), LastTransitionTime: metav1.NewTime(at(60)),
		}}},
	}
	if diff := cmp.Diff(want, n); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
	if err := p.DeleteNodes(ctx, at(200), "b", []string{"b-0"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b-0 deleting", "b-1 running"}, states(p, "b")); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"230 NodeGone b-0"}, lines(p.Advance(at(300)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := p.IncreaseSize(ctx, at(300), "b", 1); err != nil {
		t.Fatal(err)
	}
	// A name is never used again.
	if diff := cmp.Diff([]string{"b-1 running", "b-2 creating"}, states(p, "b")); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
}

func TestRefusals(t *testing.T) {
	p := provider(t, Options{})
	ctx := t.Context()
	if err := p.Adopt(existing("a-0", "a")); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"past max":        {p.IncreaseSize(ctx, at(0), "b", 6), "size increase of b is too large: desired 6, max 5"},
		"unknown group":   {p.IncreaseSize(ctx, at(0), "z", 1), `node group "z" does not exist`},
		"nothing":         {p.IncreaseSize(ctx, at(0), "b", 0), "must be positive"},
		"existing nodes":  {p.DecreaseTargetSize(ctx, at(0), "a", 1), "would delete existing nodes"},
		"unknown node":    {p.DeleteNodes(ctx, at(0), "a", []string{"x"}), `node "x" is not one of its instances`},
		"below min":       {p.DeleteNodes(ctx, at(0), "a", []string{"a-0"}), "min size reached"},
		"adopt a strange": {p.Adopt(existing("y", "z")), "names no known node group"},
	} {
		if tc.err == nil || !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("%s: got %v, want an error with %q", name, tc.err, tc.want)
		}
	}
}

func TestDecreaseTargetSizeCancelsTheNewest(t *testing.T) {
	p := provider(t, Options{})
	ctx := t.Context()
	if err := p.IncreaseSize(ctx, at(0), "b", 3); err != nil {
		t.Fatal(err)
	}
	if err := p.DecreaseTargetSize(ctx, at(1), "b", 2); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b-0 creating"}, states(p, "b")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFillAndForget(t *testing.T) {
	p := provider(t, Options{ProvisionDelay: map[string]time.Duration{"a": 5 * time.Second}})
	p.Fill(at(0))
	if diff := cmp.Diff([]string{"5 NodeJoined a-0"}, lines(p.Advance(at(5)))); diff != "" {
		t.Errorf("fill (-want +got):\n%s", diff)
	}
	p.Forget("a-0")
	p.Forget("never was")
	if g, _ := p.Group("a"); g.TargetSize != 1 || len(p.Instances("a")) != 0 {
		t.Errorf("forgotten: target %d with %v, want 1 with none", g.TargetSize, states(p, "a"))
	}
	p.Fill(at(10))
	if diff := cmp.Diff([]string{"15 NodeJoined a-1"}, lines(p.Advance(at(20)))); diff != "" {
		t.Errorf("replacement (-want +got):\n%s", diff)
	}
}

func TestFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		fault      Fault
		wantErr    bool
		wantEvents []string
		wantStates []string
	}{
		"stock-out":               {fault: Fault{Kind: FaultStockOut}, wantEvents: []string{"3 InstanceFailed b-0", "3 InstanceFailed b-1"}, wantStates: []string{"b-0 creating OutOfResources", "b-1 creating OutOfResources"}},
		"stock-out of one":        {fault: Fault{Kind: FaultStockOut, Count: 1, Delay: 9 * time.Second}, wantEvents: []string{"9 InstanceFailed b-0", "60 NodeJoined b-1"}, wantStates: []string{"b-0 creating OutOfResources", "b-1 running"}},
		"all but the first":       {fault: Fault{Kind: FaultStockOut, Skip: 1, Class: ErrorOther, Code: "X"}, wantEvents: []string{"3 InstanceFailed b-1", "60 NodeJoined b-0"}, wantStates: []string{"b-0 running", "b-1 creating Other"}},
		"refuse":                  {fault: Fault{Kind: FaultRefuse}, wantErr: true},
		"refuse another group":    {fault: Fault{Kind: FaultRefuse, Group: "a"}, wantEvents: []string{"60 NodeJoined b-0", "60 NodeJoined b-1"}, wantStates: []string{"b-0 running", "b-1 running"}},
		"slow":                    {fault: Fault{Kind: FaultSlow, Delay: 30 * time.Second}, wantEvents: []string{"90 NodeJoined b-0", "90 NodeJoined b-1"}, wantStates: []string{"b-0 running", "b-1 running"}},
		"never-register":          {fault: Fault{Kind: FaultNeverRegister}, wantStates: []string{"b-0 creating", "b-1 creating"}},
		"over before the request": {fault: Fault{Kind: FaultRefuse, To: at(0)}, wantEvents: []string{"60 NodeJoined b-0", "60 NodeJoined b-1"}, wantStates: []string{"b-0 running", "b-1 running"}},
		"not begun":               {fault: Fault{Kind: FaultRefuse, From: at(1)}, wantEvents: []string{"60 NodeJoined b-0", "60 NodeJoined b-1"}, wantStates: []string{"b-0 running", "b-1 running"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := provider(t, Options{Faults: []Fault{tc.fault}})
			if err := p.IncreaseSize(t.Context(), at(0), "b", 2); (err != nil) != tc.wantErr {
				t.Fatalf("got error %v, want one: %v", err, tc.wantErr)
			}
			if diff := cmp.Diff(tc.wantEvents, lines(p.Advance(at(1000)))); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantStates, states(p, "b")); diff != "" {
				t.Errorf("instances (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDown: while the provider is down every call is an error and changes nothing; what was asked for before comes.
func TestDown(t *testing.T) {
	p := provider(t, Options{Faults: []Fault{{Kind: FaultDown, From: at(10), To: at(100)}, {Kind: FaultDown, Group: "a", From: at(100), Message: "a is away"}}})
	ctx := t.Context()
	if err := p.IncreaseSize(ctx, at(0), "b", 2); err != nil {
		t.Fatal(err)
	}
	if err := p.Refresh(at(9)); err != nil {
		t.Errorf("before: %v", err)
	}
	for what, err := range map[string]error{
		"refresh": p.Refresh(at(10)), "increase": p.IncreaseSize(ctx, at(10), "b", 1),
		"decrease": p.DecreaseTargetSize(ctx, at(10), "b", 1), "delete": p.DeleteNodes(ctx, at(10), "b", []string{"b-0"}),
	} {
		if err == nil || err.Error() != "the cloud provider does not answer" {
			t.Errorf("%s: error %v, want that it does not answer", what, err)
		}
	}
	if diff := cmp.Diff([]string{"60 NodeJoined b-0", "60 NodeJoined b-1"}, lines(p.Advance(at(99)))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if err := errors.Join(p.Refresh(at(100)), p.DeleteNodes(ctx, at(100), "b", []string{"b-0"})); err != nil {
		t.Errorf("after: %v", err)
	}
	if err := p.IncreaseSize(ctx, at(100), "a", 1); err == nil || err.Error() != "a is away" {
		t.Errorf("a alone: error %v", err)
	}
}

func TestFaultErrors(t *testing.T) {
	for want, f := range map[string]Fault{
		"is unknown: want stock-out":        {Kind: "flood"},
		"refuse takes no class and no code": {Kind: FaultRefuse, Code: CodeQuota},
		`class "Mine" is unknown`:           {Kind: FaultStockOut, Class: "Mine"},
		`code "a b" must be one word`:       {Kind: FaultStockOut, Code: "a b"},
		"skip -1 must not be negative":      {Kind: FaultStockOut, Skip: -1},
	} {
		if _, err := New(nil, Options{Faults: []Fault{f}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %q", f, err, want)
		}
	}
}

func TestFailedInstanceCanGo(t *testing.T) {
	p := provider(t, Options{Faults: []Fault{{Kind: FaultStockOut}}})
	ctx := t.Context()
	if err := p.IncreaseSize(ctx, at(0), "a", 1); err != nil {
		t.Fatal(err)
	}
	p.Advance(at(10))
	if err := p.DeleteNodes(ctx, at(10), "a", []string{"a-0"}); err != nil {
		t.Fatal(err)
	}
	if g, _ := p.Group("a"); g.TargetSize != 1 || len(p.Instances("a")) != 0 {
		t.Errorf("got target %d with %v, want 1 with none", g.TargetSize, states(p, "a"))
	}
}

func TestUpdateGroup(t *testing.T) {
	p := provider(t, Options{})
	if err := p.SetBounds("b", 2, 1); err == nil {
		t.Error("min above max: want an error")
	}
	if err := p.SetBounds("b", 0, 9); err != nil {
		t.Fatal(err)
	}
	if err := p.UpdateGroup(scalehist.NodeGroup{Name: "a", MaxSize: 7, TargetSize: 5, MachineType: "m.2xlarge"}); err != nil {
		t.Fatal(err)
	}
	if err := p.UpdateGroup(scalehist.NodeGroup{Name: "c", MaxSize: 2, TargetSize: 2}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range p.Groups() {
		got = append(got, fmt.Sprintf("%s %d-%d at %d", g.Name, g.MinSize, g.MaxSize, g.TargetSize))
	}
	if diff := cmp.Diff([]string{"b 0-9 at 0", "a 0-7 at 1", "c 0-2 at 2"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGroupsComeAndGo: a group that comes has its place by name and asks for what it lacks; one that is removed keeps only the nodes
// that outlive it, which are no group's then, and no change of a size is noted for either.
func TestGroupsComeAndGo(t *testing.T) {
	p, err := New([]scalehist.NodeGroup{{Name: "a", MaxSize: 3, TargetSize: 3}, {Name: "c", MaxSize: 3}}, Options{
		Later: []string{"b"}, ProvisionDelay: map[string]time.Duration{"b": time.Second}, DefaultDelay: new(time.Duration)})
	if err != nil {
		t.Fatal(err)
	}
	p.Fill(at(0))
	p.Advance(at(0))
	if err := p.UpdateGroup(scalehist.NodeGroup{Name: "b", MaxSize: 4, TargetSize: 2}); err != nil {
		t.Fatal(err)
	}
	p.FillGroup(at(1), "b")
	p.FillGroup(at(1), "unknown")
	if err := p.RemoveGroup(at(1), "a", func(n string) bool { return n == "a-1" }); err != nil {
		t.Fatal(err)
	}
	if err := p.RemoveGroup(at(1), "a", nil); err == nil {
		t.Error("removed twice: want an error")
	}
	var names, gone []string
	for _, g := range p.Groups() {
		names = append(names, g.Name)
	}
	for _, e := range p.Advance(at(5)) {
		gone = append(gone, fmt.Sprint(e.Type, " ", e.NodeName))
	}
	if diff := cmp.Diff([]string{"b", "c"}, names); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"NodeGone a-0", "NodeGone a-2", "NodeJoined b-0", "NodeJoined b-1"}, gone); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if _, ok := p.Group("a"); ok || p.Instances("a") != nil || len(p.Resizes()) != 0 || p.IncreaseSize(t.Context(), at(6), "a", 1) == nil {
		t.Errorf("a is there still, or its size changed: %v", p.Resizes())
	}
	if err := p.UpdateGroup(scalehist.NodeGroup{Name: "a", MaxSize: 1, TargetSize: 1}); err != nil {
		t.Fatal(err)
	}
	p.FillGroup(at(6), "a")
	if got := p.Instances("a"); len(got) != 1 || got[0].NodeName != "a-3" {
		t.Errorf("a came again with %v, want one node of a new name", got)
	}
}

// TestTargetAndInstancesAgree: whatever is asked, the instances that count are as many as the target size, targets stay
// in bounds, and a name is used once.
func TestTargetAndInstancesAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, err := New([]scalehist.NodeGroup{{Name: "g", MaxSize: 6}}, Options{Faults: []Fault{{Kind: FaultStockOut, Count: 2, From: at(50)}, {Kind: FaultSlow, Delay: time.Minute, From: at(120)}}})
		if err != nil {
			rt.Fatal(err)
		}
		now := 0
		joined := map[string]bool{}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			now += rapid.IntRange(0, 40).Draw(rt, "seconds")
			for _, e := range p.Advance(at(now)) {
				if e.Type == NodeJoined && joined[e.NodeName] {
					rt.Fatalf("%s joined twice", e.NodeName)
				}
				joined[e.NodeName] = joined[e.NodeName] || e.Type == NodeJoined
			}
			// Refusals are fine; they must change nothing.
			switch rapid.IntRange(0, 2).Draw(rt, "call") {
			case 0:
				_ = p.IncreaseSize(t.Context(), at(now), "g", rapid.IntRange(0, 4).Draw(rt, "delta"))
			case 1:
				_ = p.DecreaseTargetSize(t.Context(), at(now), "g", rapid.IntRange(0, 4).Draw(rt, "delta"))
			case 2:
				if is := p.Instances("g"); len(is) > 0 {
					_ = p.DeleteNodes(t.Context(), at(now), "g", []string{is[rapid.IntRange(0, len(is)-1).Draw(rt, "which")].NodeName})
				}
			}
			live := 0
			for _, i := range p.Instances("g") {
				if i.State != InstanceDeleting {
					live++
				}
			}
			if g, _ := p.Group("g"); g.TargetSize != live || live < 0 || live > g.MaxSize {
				rt.Fatalf("target %d, max %d, instances %v", g.TargetSize, g.MaxSize, states(p, "g"))
			}
		}
	})
}
