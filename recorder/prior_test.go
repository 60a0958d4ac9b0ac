package recorder

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist/recorder/history"
)

// What the prototypes before this recorder got wrong, one test each; TestExpiredCredentials and TestMissedDeletes are
// two more.

// TestFlipBackIsRecorded: a node that changes from A to B and back to A is A again. Prior art knew the content already.
func TestFlipBackIsRecorded(t *testing.T) {
	c, ns := client(t)
	rec := record(t, cluster, Options{Path: filepath.Join(t.TempDir(), "h.db")})
	n := must[*corev1.Node](t)(c.CoreV1().Nodes().Create(t.Context(), node(ns, "g"), metav1.CreateOptions{}))
	for _, step := range []string{"A", "B", "A"} {
		n.Labels["step"] = step
		n = must[*corev1.Node](t)(c.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}))
		rec.flush()
		at := rec.now()
		db, err := history.Open(t.Context(), rec.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range snapshotAt(t, db, at).Objects.Nodes {
			if got.Name == ns && got.Labels["step"] != step {
				t.Errorf("the node is %q in the history, want %q", got.Labels["step"], step)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	rec.end()
}

// TestReusedNameKeepsItsPast: a name that is used again does not change when its first bearer ended. Prior art set the
// end of all of them.
func TestReusedNameKeepsItsPast(t *testing.T) {
	c, ns := client(t)
	path := filepath.Join(t.TempDir(), "h.db")
	rec := record(t, cluster, Options{Path: path})
	pods := c.CoreV1().Pods(ns)
	want := map[time.Time][]string{}
	for _, life := range []string{"first", "second"} {
		p := pod(ns, "web")
		p.Labels = map[string]string{"life": life}
		must[*corev1.Pod](t)(pods.Create(t.Context(), p, metav1.CreateOptions{}))
		rec.flush()
		want[rec.now()] = []string{life}
		if err := pods.Delete(t.Context(), "web", atOnce); err != nil { // without a deletion timestamp: prior art ignored those
			t.Fatal(err)
		}
		rec.flush()
		want[rec.now()] = nil
	}
	rec.end()
	db := open(t, path)
	got := map[time.Time][]string{}
	for at := range want {
		got[at] = nil
		for _, p := range snapshotAt(t, db, at).Objects.Pods {
			if p.Namespace == ns {
				got[at] = append(got[at], p.Labels["life"])
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lives by instant (-want +got):\n%s", diff)
	}
}

// TestEventsWhileAway: what happened while no recorder ran, and is stated by an event that is still there, is recorded;
// what happened before the first is not. Prior art dropped both.
func TestEventsWhileAway(t *testing.T) {
	c, ns := client(t)
	path := filepath.Join(t.TempDir(), "h.db")
	w := &world{c: c, ns: ns}
	happens := func() map[string]bool {
		t.Helper()
		before, err := w.events(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.act(t.Context(), actEvent, 0); err != nil {
			t.Fatal(err)
		}
		after, err := w.events(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]bool{}
		for uid := range after {
			if !before[uid] {
				out[string(uid)] = true
			}
		}
		return out
	}
	happens()
	record(t, cluster, Options{Path: path}).end()
	want := happens()
	record(t, cluster, Options{Path: path}).end()
	events, err := open(t, path).Events(t.Context(), history.EventFilter{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, e := range events {
		if e.Namespace == ns {
			got[string(e.UID)] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
