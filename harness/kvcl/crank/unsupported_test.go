package crank_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist/harness/kvcl/crank"
)

func TestUnsupported(t *testing.T) {
	claims := func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} }
	group := func(p *corev1.Pod) {
		p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: ptr.To("training")}
	}
	for _, c := range []struct {
		name  string
		edits []func(*corev1.Pod)
		want  string
	}{
		{"plain", nil, ""},
		{"claims", []func(*corev1.Pod){claims}, crank.DynamicResources},
		{"group", []func(*corev1.Pod){group}, crank.PodGroups},
		{"both", []func(*corev1.Pod){group, claims}, crank.DynamicResources},
		{"ended", []func(*corev1.Pod){claims, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }}, ""},
		{"extended resource", []func(*corev1.Pod){func(p *corev1.Pod) {
			p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "a"}
		}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
			for _, e := range c.edits {
				e(p)
			}
			err := crank.Unsupported(p)
			if c.want == "" {
				if err != nil {
					t.Fatalf("got %v, want none", err)
				}
				return
			}
			var got *crank.UnsupportedError
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want an UnsupportedError", err)
			}
			if got.Advice == "" {
				t.Error("no advice")
			}
			want := &crank.UnsupportedError{Pod: types.NamespacedName{Namespace: "default", Name: "a"}, Feature: c.want, Advice: got.Advice}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
