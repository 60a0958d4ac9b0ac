package history_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
)

func coreEvent(n int, reason, message string, count int32, last time.Duration) *corev1.Event {
	return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a.1", UID: uid(n), CreationTimestamp: metav1.NewTime(start)},
		Type: "Normal", Reason: reason, Message: message, Count: count, FirstTimestamp: metav1.NewTime(start), LastTimestamp: metav1.NewTime(at(last)),
		Source:         corev1.EventSource{Component: "cluster-autoscaler"},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "a", UID: uid(77), APIVersion: "v1"}}
}

// The prototypes kept the first sighting of an event only: repetitions, which update count or series, were lost.
func TestRepeatedEventsAreKept(t *testing.T) {
	series := &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b.1", UID: uid(2)}, Type: "Warning", Reason: "FailedScheduling",
		Note: "0/1 nodes", EventTime: metav1.NewMicroTime(at(1500 * time.Microsecond)), ReportingController: "default-scheduler",
		Regarding: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "b", UID: "text-uid"}, Related: &corev1.ObjectReference{Kind: "Node", Name: "n"}}
	repeated := series.DeepCopy()
	repeated.Series = &eventsv1.EventSeries{Count: 3, LastObservedTime: metav1.NewMicroTime(at(9 * time.Second))}
	db := write(t,
		change(0, scalehist.OpAdd, coreEvent(1, "TriggeredScaleUp", "one", 1, 0)),
		change(time.Second, scalehist.OpAdd, series),
		change(2*time.Second, scalehist.OpUpdate, coreEvent(1, "TriggeredScaleUp", "two", 2, 2*time.Second)),
		change(3*time.Second, scalehist.OpUpdate, coreEvent(1, "TriggeredScaleUp", "two", 2, 2*time.Second)), // a relist
		change(10*time.Second, scalehist.OpUpdate, repeated),
		change(11*time.Second, scalehist.OpUpdate, coreEvent(1, "TriggeredScaleUp", "one", 5, 11*time.Second)),
		change(time.Minute, scalehist.OpDelete, coreEvent(1, "TriggeredScaleUp", "one", 5, 11*time.Second)), // its hour is over
	)
	got, err := db.Events(t.Context(), history.EventFilter{})
	if err != nil {
		t.Fatal(err)
	}
	want := []history.Event{
		{ObservedAt: start, LastObservedAt: at(11 * time.Second), At: start, LastAt: at(11 * time.Second), Count: 5, UID: uid(1), Namespace: "default", Name: "a.1",
			Type: "Normal", Reason: "TriggeredScaleUp", Message: "one", Component: "cluster-autoscaler",
			Regarding: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "a", UID: uid(77), APIVersion: "v1"}},
		{ObservedAt: at(time.Second), LastObservedAt: at(10 * time.Second), At: at(1500 * time.Microsecond), LastAt: at(9 * time.Second), Count: 3, UID: uid(2),
			Namespace: "default", Name: "b.1", Type: "Warning", Reason: "FailedScheduling", Message: "0/1 nodes", Component: "default-scheduler",
			Regarding: series.Regarding, Related: series.Related},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	// Within a window an event is what it had become by its end.
	got, err = db.Events(t.Context(), history.EventFilter{From: at(-1), To: at(5 * time.Second), Reasons: []string{"TriggeredScaleUp", "Other"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Count != 2 || got[0].Message != "two" {
		t.Errorf("in the window: %+v", got)
	}
	if c := changes(t, db, time.Time{}, time.Time{}); len(c) != 0 {
		t.Errorf("events are among the object changes: %q", c)
	}
	stats, err := db.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantCounts := []history.ReasonCount{{Reason: "FailedScheduling", Events: 1, Occurrences: 3}, {Reason: "TriggeredScaleUp", Events: 1, Occurrences: 5}}
	if diff := cmp.Diff(wantCounts, stats.Events); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
}

// TestStatsAsJSON: inspections and the web API have these names.
func TestStatsAsJSON(t *testing.T) {
	want := `{"kinds":[{"kind":"Pod","objects":1,"versions":2,"contents":3}],"events":[{"reason":"r","events":4,"occurrences":5}],"usages":6,"samples":7,"fileBytes":8}`
	got := asJSON(history.Stats{Kinds: []history.KindStats{{Kind: "Pod", Objects: 1, Versions: 2, Contents: 3}},
		Events: []history.ReasonCount{{Reason: "r", Events: 4, Occurrences: 5}}, Usages: 6, Samples: 7, FileBytes: 8})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
