package virtual_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/virtual"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

// notebook is a control plane that schedules nothing and remembers what it was sent last of each budget.
type notebook struct {
	budgets map[string]*policyv1.PodDisruptionBudget
	writes  int
}

func (n *notebook) Apply(_ context.Context, changes []scalehist.Change) error {
	for _, ch := range changes {
		if b, ok := ch.Object.(*policyv1.PodDisruptionBudget); ok {
			n.budgets[b.Name] = b
			n.writes++
		}
	}
	return nil
}

func (n *notebook) Settle(context.Context, time.Time) (kvcl.Settled, error) {
	return kvcl.Settled{}, nil
}
func (n *notebook) Pod(string, string) *corev1.Pod                          { return nil }
func (n *notebook) Objects() *scalehist.Objects                             { return &scalehist.Objects{} }
func (n *notebook) Evict(context.Context, string, string) error             { return nil }
func (n *notebook) SetTaints(context.Context, string, []corev1.Taint) error { return nil }
func (n *notebook) Client() (kubernetes.Interface, bool)                    { return nil, false }
func (n *notebook) Close() error                                            { return nil }

// TestBudgetStatus: for any pods and any budget the status is what the disruption controller would write.
func TestBudgetStatus(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plane := &notebook{budgets: map[string]*policyv1.PodDisruptionBudget{}}
		now := virtualTime
		c := virtual.New(plane, virtual.Options{})
		do := func(op scalehist.Op, o scalehist.Object) {
			if err := c.Apply(t.Context(), []scalehist.Change{{At: now, Op: op, Object: o}}); err != nil {
				t.Fatal(err)
			}
		}
		do(scalehist.OpAdd, node("n1", "9"))
		b := budget("b", 0)
		b.Spec.MinAvailable = nil
		number := rapid.IntRange(0, 6).Draw(t, "number")
		percent := rapid.IntRange(0, 100).Draw(t, "percent")
		kind := rapid.SampledFrom([]string{"min", "min%", "max", "max%", "none"}).Draw(t, "kind")
		asInt, asPercent := intstr.FromInt32(int32(number)), intstr.FromString(fmt.Sprintf("%d%%", percent))
		switch kind {
		case "min":
			b.Spec.MinAvailable = &asInt
		case "min%":
			b.Spec.MinAvailable = &asPercent
		case "max":
			b.Spec.MaxUnavailable = &asInt
		case "max%":
			b.Spec.MaxUnavailable = &asPercent
		}
		do(scalehist.OpAdd, b)

		expected, healthy := 0, 0
		for i := range rapid.IntRange(0, 8).Draw(t, "pods") {
			p := pod(fmt.Sprintf("p-%d", i), "1")
			fate := rapid.SampledFrom([]string{"running", "pending", "finished", "deleted", "other label", "other namespace"}).Draw(t, "fate")
			switch fate {
			case "other label":
				p.Labels = map[string]string{"app": "db"}
			case "other namespace":
				p.Namespace = "elsewhere"
			case "finished":
				runFor(on(p, "n1"), time.Second)
			case "running", "deleted":
				on(p, "n1")
			}
			do(scalehist.OpAdd, p)
			switch fate {
			case "running":
				expected, healthy = expected+1, healthy+1
			case "pending":
				expected++
			case "deleted":
				do(scalehist.OpDelete, p)
			}
		}
		now = now.Add(time.Minute)
		if _, err := c.Settle(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		share := int(math.Ceil(float64(percent) * float64(expected) / 100))
		desired := map[string]int{"min": number, "min%": share, "max": max(0, expected-number), "max%": max(0, expected-share)}[kind]
		allowed := max(0, healthy-desired)
		want := policyv1.PodDisruptionBudgetStatus{ExpectedPods: int32(expected), CurrentHealthy: int32(healthy), DesiredHealthy: int32(desired), DisruptionsAllowed: int32(allowed)}
		got := plane.budgets["b"].Status
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(want, "ObservedGeneration")); diff != "" {
			t.Fatalf("status of %s (-want +got):\n%s", kind, diff)
		}
		writes := plane.writes
		if _, err := c.Settle(t.Context(), now.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if plane.writes != writes {
			t.Fatalf("the status was written again without a change")
		}
	})
}
