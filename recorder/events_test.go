package recorder

import (
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist/recorder/history"
)

// TestEventSeries: prior art recorded an event when it came and lost its repetitions. The fields of events.k8s.io survive.
func TestEventSeries(t *testing.T) {
	c, ns := client(t)
	path := filepath.Join(t.TempDir(), "h.db")
	rec := record(t, cluster, Options{Path: path})
	about := corev1.ObjectReference{Kind: "Pod", Namespace: ns, Name: "web", UID: "w"}
	e := must[*eventsv1.Event](t)(c.EventsV1().Events(ns).Create(t.Context(), &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web.3"},
		EventTime: metav1.NowMicro(), Reason: "Preempted", Action: "Preempting", Type: "Normal", Regarding: about,
		Related: &corev1.ObjectReference{Kind: "Pod", Namespace: ns, Name: "preemptor", UID: "p"},
		Note:    "Preempted by pod p", ReportingController: "default-scheduler", ReportingInstance: "host"}, metav1.CreateOptions{}))
	rec.flush()
	first := rec.now()
	last := metav1.NewMicroTime(e.EventTime.Add(time.Minute))
	e.Series = &eventsv1.EventSeries{Count: 5, LastObservedTime: last}
	must[*eventsv1.Event](t)(c.EventsV1().Events(ns).Update(t.Context(), e, metav1.UpdateOptions{}))
	rec.flush()
	rec.end()
	db := open(t, path)
	at := func(to time.Time) history.Event {
		events, err := db.Events(t.Context(), history.EventFilter{To: to, Reasons: []string{"Preempted"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Namespace == ns {
				return e
			}
		}
		t.Fatal("the event is not in the history")
		return history.Event{}
	}
	if got := at(first); got.Count != 1 {
		t.Errorf("count %d when it came, want 1", got.Count)
	}
	got := at(time.Time{})
	if got.Count != 5 || !got.LastAt.Equal(last.Truncate(time.Microsecond)) {
		t.Errorf("count %d last at %s, want 5 at %s", got.Count, got.LastAt, last.Time)
	}
	if got.Action != "Preempting" || got.Component != "default-scheduler" || got.Related == nil || got.Related.Name != "preemptor" || got.Message != "Preempted by pod p" {
		t.Errorf("event %+v, want the fields of events.k8s.io", got)
	}
}
