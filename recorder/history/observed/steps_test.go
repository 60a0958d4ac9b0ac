package observed_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history/observed"
)

func TestStepsFromEventsWhereSizesDoNotMove(t *testing.T) {
	onPod := func(n int, name, message string) *corev1.Event {
		return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: uid(n)}, Reason: "TriggeredScaleUp", Message: message,
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: name}}
	}
	db := open(t, write(t,
		change(0, scalehist.OpAdd, nodeGroup("p2", 1)),
		change(time.Second, scalehist.OpAdd, onPod(1, "b", "pod triggered scale-up: [{p3 1->3 (max: 3)} {p2 1->2 (max: 3)}]")),
		change(time.Second, scalehist.OpAdd, onPod(2, "a", "pod triggered scale-up: [{p3 1->3 (max: 3)}]"))))
	steps, source, err := observed.Steps(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	want := []scalehist.RecordedStep{{At: at(time.Second), NodeGroup: "p3", From: 1, To: 3, Pods: []string{"default/a", "default/b"}}, {At: at(time.Second), NodeGroup: "p2", From: 1, To: 2, Pods: []string{"default/b"}}}
	if diff := cmp.Diff(want, steps); diff != "" || source != observed.StepsFromEvents {
		t.Errorf("steps from %s (-want +got):\n%s", source, diff)
	}
}

func TestStepsFromSizes(t *testing.T) {
	db := open(t, write(t,
		change(0, scalehist.OpAdd, nodeGroup("g", 1)),
		change(10*time.Second, scalehist.OpUpdate, nodeGroup("g", 4)),
		change(10*time.Second, scalehist.OpUpdate, nodeGroup("g", 3)),
		change(time.Minute, scalehist.OpDelete, nodeGroup("g", 3))))
	steps, source, err := observed.Steps(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	want := []scalehist.RecordedStep{{At: at(10 * time.Second), NodeGroup: "g", From: 1, To: 4}, {At: at(10 * time.Second), NodeGroup: "g", From: 4, To: 3}}
	if diff := cmp.Diff(want, steps); diff != "" || source != observed.StepsFromSizes {
		t.Errorf("steps from %s (-want +got):\n%s", source, diff)
	}
	sizes, err := observed.NodeGroupSizes(t.Context(), db, at(10*time.Second), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	wantSizes := []observed.NodeGroupSize{{At: at(10 * time.Second), NodeGroup: "g", MaxSize: 9, TargetSize: 3}, {At: at(time.Minute), NodeGroup: "g", MaxSize: 9, TargetSize: 3, Deleted: true}}
	if diff := cmp.Diff(wantSizes, sizes); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
}
