package harness

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/harness/trace"
)

// TestImpossibleSizesAreRefusedFirst: nothing is made for groups of which no cluster could have the nodes, each by itself or all
// together.
func TestImpossibleSizesAreRefusedFirst(t *testing.T) {
	start := time.Date(2026, time.March, 1, 10, 0, 0, 0, time.UTC)
	engine := func(Env) (scalehist.Autoscaler, error) { return nil, errors.New("booted") }
	replay := func(groups []scalehist.NodeGroup, later ...trace.GroupChange) error {
		in := &trace.Input{Name: "x", Start: start, End: start.Add(time.Hour), NodeGroups: groups, GroupChanges: later}
		_, err := NewInputReplayer(t.Context(), in, WithAutoscaler(engine), OnControlPlane(Memory))
		return err
	}
	var many []scalehist.NodeGroup
	for i := range 11 {
		many = append(many, scalehist.NodeGroup{Name: fmt.Sprintf("g-%02d", i), MaxSize: 10_000, TargetSize: 10_000})
	}
	huge := scalehist.NodeGroup{Name: "huge", MaxSize: 1 << 31, TargetSize: 1<<31 - 1}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"one group":    {replay([]scalehist.NodeGroup{huge}), "node group huge: min size 0 and target size 2147483647: want 0 to 100000"},
		"a min size":   {replay([]scalehist.NodeGroup{{Name: "a", MinSize: 1_000_000, MaxSize: 1_000_000}}), "node group a: min size 1000000"},
		"all together": {replay(many), "the node groups up to g-10 ask for 110000 nodes: a replay has at most 100000"},
		"one that comes": {replay(many[:1], trace.GroupChange{At: start.Add(time.Minute), Op: scalehist.OpAdd, Group: huge}),
			"node group huge: min size 0 and target size"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, c.err, c.want)
		}
	}
	if err := replay([]scalehist.NodeGroup{{Name: "a", MaxSize: v1alpha1.MaxNodes, TargetSize: v1alpha1.MaxNodes}}); err == nil || !strings.Contains(err.Error(), "booted") {
		t.Errorf("as many as there may be: got %v, want that the engine is asked for", err)
	}
}

// hasty is an engine with an interval of its own.
type hasty struct {
	scalehist.Autoscaler
	every time.Duration
}

func (h hasty) ScanInterval() time.Duration { return h.every }

// TestLoopsWithoutEndAreRefused: an interval that is none, or a stray year, is an error and not a replay that never ends.
func TestLoopsWithoutEndAreRefused(t *testing.T) {
	start := time.Date(2026, time.March, 1, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		every, span time.Duration
	}{{1, time.Hour}, {time.Millisecond, 24 * time.Hour}, {10 * time.Second, 100 * 365 * 24 * time.Hour}} {
		in := &trace.Input{Name: "x", Start: start, End: start.Add(c.span), NodeGroups: []scalehist.NodeGroup{{Name: "a", MaxSize: 1}}}
		engine := func(Env) (scalehist.Autoscaler, error) { return hasty{every: c.every}, nil }
		_, err := NewInputReplayer(t.Context(), in, WithAutoscaler(engine), OnControlPlane(Memory))
		if err == nil || !strings.Contains(err.Error(), "has more than 10000000 loops: choose a shorter window, or a longer --scan-interval") {
			t.Errorf("every %s for %s: got %v", c.every, c.span, err)
		}
	}
}

// TestUnsupportedIsRefusedFirst: nothing is started for a window that cannot be replayed.
func TestUnsupportedIsRefusedFirst(t *testing.T) {
	epoch := time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)
	in := &trace.Input{Start: epoch, End: epoch.Add(time.Minute), NodeGroups: []scalehist.NodeGroup{{Name: "std", MaxSize: 3}}, Changes: []scalehist.Change{
		{At: epoch, Op: scalehist.OpAdd, Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "a"},
			Spec: corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu"}}}}}}}
	engine := func(Env) (scalehist.Autoscaler, error) { return nil, errors.New("booted") }
	_, err := NewInputReplayer(t.Context(), in, WithAutoscaler(engine))
	var unsupported *trace.UnsupportedError
	if !errors.As(err, &unsupported) || strings.Contains(err.Error(), "booted") {
		t.Errorf("got %v, want an UnsupportedError", err)
	}
	_, err = NewInputReplayer(t.Context(), in, WithAutoscaler(engine), With(func(s *Settings) { s.SkipUnsupported = true }))
	if err == nil || errors.As(err, &unsupported) {
		t.Errorf("got %v, want the next complaint", err)
	}
}
