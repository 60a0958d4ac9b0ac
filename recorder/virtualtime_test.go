package recorder

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/transfer"
	"github.com/scalehist/scalehist/recorder/sources"
)

// known gives pods a virtual time and UID by their name; it knows nothing else.
type known map[string]time.Time

func (k known) ObjectTime(o scalehist.Object) (time.Time, string, bool) {
	at, ok := k[o.GetName()]
	return at, "Pod/" + o.GetName() + "#1", ok
}

var virtualStart = time.Date(2024, 5, 28, 10, 0, 0, 0, time.UTC)

// play runs the same story in virtual time against the real API server, and returns the history as text.
func play(t *testing.T, ns string) string {
	t.Helper()
	c, err := newClient()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "h.db")
	clock := testclock.NewFakeClock(virtualStart)
	times := known{}
	for i := range 5 {
		times[fmt.Sprintf("web-%d", i)] = virtualStart.Add(time.Duration(i) * time.Minute)
	}
	rec := record(t, cluster, Options{Path: path, Cluster: "play", Clock: clock, Times: times, NodeGroups: sources.None(),
		Kinds: []string{"Pod", "Node", "Event", "Deployment"}})
	pods := c.CoreV1().Pods(ns)
	for i := range 5 {
		name := fmt.Sprintf("web-%d", i)
		p := must[*corev1.Pod](t)(pods.Create(t.Context(), pod(ns, name), metav1.CreateOptions{}))
		must[*corev1.Node](t)(c.CoreV1().Nodes().Create(t.Context(), node(fmt.Sprintf("n-%d", i), "g"), metav1.CreateOptions{}))
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		must[*corev1.Pod](t)(pods.UpdateStatus(t.Context(), p, metav1.UpdateOptions{}))
		must[*corev1.Event](t)(c.CoreV1().Events(ns).Create(t.Context(), &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprintf("%s.%x", name, time.Now().UnixNano())}, EventTime: metav1.NowMicro(),
			Reason: "Scheduled", Type: "Normal", Message: "assigned", Action: "Binding", ReportingController: "default-scheduler", ReportingInstance: "some-host",
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: ns, Name: name, UID: p.UID}}, metav1.CreateOptions{}))
		rec.flush()
		clock.Step(time.Minute)
	}
	for i := range 5 {
		if err := pods.Delete(t.Context(), fmt.Sprintf("web-%d", i), metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
			t.Fatal(err)
		}
		if err := c.CoreV1().Nodes().Delete(t.Context(), fmt.Sprintf("n-%d", i), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	rec.flush()
	clock.Step(time.Minute)
	rec.end()
	db := open(t, path)
	from, to := db.Span()
	if !from.Equal(virtualStart) || !to.Equal(virtualStart.Add(6*time.Minute)) {
		t.Errorf("the history spans %s to %s, want virtual time only", from, to)
	}
	var out bytes.Buffer
	if err := transfer.Export(t.Context(), db, &out, from, to, transfer.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestVirtualTimeSameBytes: a story played twice on a real API server is recorded as the same bytes, without the wall
// clock, random UIDs or the host's name.
func TestVirtualTimeSameBytes(t *testing.T) {
	_, ns := client(t)
	first, second := play(t, ns), play(t, ns)
	if diff := cmp.Diff(strings.Split(first, "\n"), strings.Split(second, "\n")); diff != "" {
		t.Errorf("two recordings of the same story differ:\n%s", diff)
	}
	this := fmt.Sprintf(`"%d-`, time.Now().Year())
	for line := range strings.SplitSeq(first, "\n") {
		if strings.Contains(line, this) || strings.Contains(line, "some-host") {
			t.Errorf("the wall clock or the host reached the history: %s", line)
		}
	}
	if n := strings.Count(first, `"reason":"Scheduled"`); n != 5 {
		t.Errorf("%d Scheduled events, want 5", n)
	}
	if !strings.Contains(first, `"uid":"Pod/web-3#1"`) {
		t.Errorf("no object with the virtual UID Pod/web-3#1 in:\n%s", first)
	}
}

// TestStampsFollowStatus: a stamp keeps its virtual time beside the same status and gets a new one when the status
// flips, be it within one second of the wall clock.
func TestStampsFollowStatus(t *testing.T) {
	tr := newTranslator(known{"web-0": virtualStart})
	wall := metav1.Now().Rfc3339Copy()
	ready := func(status corev1.ConditionStatus, minute int) time.Time {
		p := pod("d", "web-0")
		p.UID, p.CreationTimestamp = "real", wall
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: wall}}
		e := &history.Entry{ObservedAt: virtualStart.Add(time.Duration(minute) * time.Minute), Change: scalehist.Change{Op: scalehist.OpUpdate, Object: p}}
		tr.object(e)
		if !p.CreationTimestamp.Time.Equal(virtualStart) || p.UID != "Pod/web-0#1" {
			t.Errorf("created %s UID %s, want the hook's", p.CreationTimestamp, p.UID)
		}
		return p.Status.Conditions[0].LastTransitionTime.Time
	}
	var got []int
	for i, status := range []corev1.ConditionStatus{"False", "False", "True", "True", "False"} {
		got = append(got, int(ready(status, i).Sub(virtualStart)/time.Minute))
	}
	if diff := cmp.Diff([]int{0, 0, 2, 2, 4}, got); diff != "" {
		t.Errorf("minute of the last transition (-want +got):\n%s", diff)
	}
}
