package vpa

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/model"
)

// TestSeldomPrograms runs programs that random ones seldom are, by what they are about.
func TestSeldomPrograms(t *testing.T) {
	defer model.InitializeAggregationsConfig(nil)
	const day = 24 * time.Hour
	idle := action{kind: "observe", after: time.Minute, pod: 4, container: "app", cpu: -1}
	busy := action{kind: "observe", after: time.Minute, pod: 4, container: "app", cpu: 100, memory: 1 << 30}
	for name, program := range map[string][]action{
		// The usage of a finished pod is forgotten. One more sample, though it is no new peak, makes its container one to recommend for.
		"a sample after a collection": {
			{kind: "pod", pod: 4, variant: 4}, {kind: "vpa", pod: 2, variant: 6}, idle,
			{kind: "collect", after: time.Minute}, idle, {kind: "recommend"}, {kind: "collect", after: time.Minute}, {kind: "save"},
		},
		"usage expires after eight days": {
			{kind: "pod", pod: 4}, {kind: "vpa", pod: 2, variant: 6}, busy,
			{kind: "collect", after: 8*day - time.Minute}, {kind: "recommend"}, {kind: "collect", after: time.Hour}, {kind: "recommend"}, {kind: "save"},
		},
		"a pod without usage is forgotten after eight days": {
			{kind: "pod", pod: 4}, {kind: "vpa", pod: 2, variant: 6},
			{kind: "collect", after: 8*day - time.Minute}, {kind: "recommend"}, {kind: "collect", after: time.Hour}, {kind: "recommend"},
		},
		// Another label set, forgotten with its usage: later samples count for nothing, as upstream.
		"usage after new labels and a collection": {
			{kind: "pod", pod: 4}, {kind: "vpa", pod: 2, variant: 6}, busy, {kind: "pod", pod: 4, variant: 1}, busy,
			{kind: "collect", after: 9 * day}, busy, {kind: "recommend"}, {kind: "save"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if failure := runProgram(t, nil, program, false); failure != "" {
					t.Error(failure)
				}
			})
		})
	}
}
