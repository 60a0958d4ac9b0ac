package kubelet

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func TestAssumedTermination(t *testing.T) {
	for name, tt := range map[string]struct {
		grace *int64
		want  time.Duration
	}{
		"no grace period": {nil, DefaultTermination},
		"a long one":      {ptr.To[int64](600), DefaultTermination},
		"a short one":     {ptr.To[int64](1), time.Second},
		"none":            {ptr.To[int64](0), 0},
	} {
		if got := AssumedTermination(&corev1.Pod{Spec: corev1.PodSpec{TerminationGracePeriodSeconds: tt.grace}}); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
