package harness_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/trace"
)

// TestUnsupportedPods: a window with pods that nobody can schedule is refused; without them it replays, and says so.
func TestUnsupportedPods(t *testing.T) {
	t.Parallel()
	script := func() *trace.Input {
		in := small(t)
		for i := range in.Changes {
			if p, ok := in.Changes[i].Object.(*corev1.Pod); ok && p.Name == "web-2" {
				p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: new("gpu")}}
			}
		}
		return in
	}
	_, err := harness.NewInputReplayer(t.Context(), script(), harness.WithAutoscaler(greedyOn("std")))
	var unsupported *trace.UnsupportedError
	if !errors.As(err, &unsupported) || len(unsupported.Uses) != 1 || len(unsupported.Uses[0].Arriving) != 1 {
		t.Fatalf("error %v, want an trace.UnsupportedError with one pod that arrives", err)
	}
	got := replay(t, script(), harness.With(func(s *harness.Settings) { s.SkipUnsupported = true }))
	if got.Pending.Of != 1 {
		t.Errorf("%d pods came, want web-1 alone", got.Pending.Of)
	}
	const warning = "dynamic resource allocation (spec.resourceClaims): left out 1 pod (default/web-2): "
	if len(got.Warnings) == 0 || !strings.HasPrefix(got.Warnings[0], warning) {
		t.Errorf("warnings %q, want one that begins with %q", got.Warnings, warning)
	}
}
