package recorder

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	etcd "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist/recorder/history"
)

// TestServerRestarted: the API server itself is killed, is away for an hour of the recorder's clock, and comes back at the same address
// with what its etcd holds then, the past compacted away. Nothing is between recorder and server, and the recorder goes on by itself.
// How: pods change in etcd while no server runs, so that nobody can have seen it.
func TestServerRestarted(t *testing.T) {
	c, ns := client(t)
	create := func(name string) types.UID {
		return must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Create(t.Context(), pod(ns, name), metav1.CreateOptions{})).UID
	}
	rec, fake := onMovedClock(t, cluster, filepath.Join(t.TempDir(), "h.db"))
	o := &outage{recording: rec, t: t, clock: fake}
	before := map[string]types.UID{}
	for _, name := range []string{"changes", "goes", "stays", "swapped"} {
		before[name] = create(name)
	}
	o.begin(time.Hour, func() { killServer(t) })
	changeStore(t, ns)
	o.finish(func() { startServer(t) })
	after := map[string]types.UID{"changes": before["changes"], "stays": before["stays"], "during": "uid-during", "swapped": "uid-swapped"}
	after["after"] = create("after")
	o.flush()
	o.check(ns, "changes", "stays", "during", "swapped", "after")

	db := open(t, o.path)
	if diff := cmp.Diff(before, podUIDs(snapshotAt(t, db, o.from), ns)); diff != "" {
		t.Errorf("pods when the server was killed (-want +got):\n%s", diff)
	}
	s := snapshotAt(t, db, o.to)
	if diff := cmp.Diff(after, podUIDs(s, ns)); diff != "" {
		t.Errorf("pods in the end (-want +got):\n%s", diff)
	}
	for _, p := range s.Objects.Pods {
		if p.Namespace == ns && p.Name == "changes" && p.Status.Phase != corev1.PodRunning {
			t.Errorf("pod %s is %q in the end, want what became of it while the server was away", p.Name, p.Status.Phase)
		}
	}
	all, err := db.Missed(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	missed := slices.DeleteFunc(all, func(m history.Missed) bool { return m.Namespace != ns })
	want := []history.Missed{
		{Kind: "Pod", Namespace: ns, Name: "goes", UID: before["goes"], From: o.from, Seen: o.to, Why: whyRestarted},
		{Kind: "Pod", Namespace: ns, Name: "swapped", UID: before["swapped"], From: o.from, Seen: o.to, Why: whyRestarted},
	}
	if diff := cmp.Diff(want, missed); diff != "" {
		t.Errorf("missed deletions (-want +got):\n%s", diff)
	}
}

// killServer ends the API server that tests share, and starts it again after the test if that did not.
func killServer(t *testing.T) {
	t.Helper()
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	serverEnded = true
	t.Cleanup(func() { startServer(t) })
}

// serverEnded is set while the API server that tests share does not run.
var serverEnded bool

func startServer(t *testing.T) {
	t.Helper()
	if !serverEnded {
		return
	}
	serverEnded = false
	if err := server.Restart(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// changeStore changes the pods of a namespace behind the API server: one changes, one comes, one is another of that name, one is gone.
// No earlier version can be watched from.
func changeStore(t *testing.T, ns string) {
	t.Helper()
	store := newStore(t)
	stored, err := store.Get(t.Context(), podKey(ns, ""), etcd.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	pods := map[string][]byte{}
	for _, kv := range stored.Kvs {
		pods[string(kv.Key)] = kv.Value
	}
	put := func(name, like string, change func(*corev1.Pod)) {
		if _, err := store.Put(t.Context(), podKey(ns, name), changedPod(t, pods[podKey(ns, like)], change)); err != nil {
			t.Fatal(err)
		}
	}
	put("changes", "changes", func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })
	for name, like := range map[string]string{"during": "stays", "swapped": "swapped"} {
		put(name, like, func(p *corev1.Pod) { p.Name, p.UID = name, types.UID("uid-"+name) })
	}
	gone, err := store.Delete(t.Context(), podKey(ns, "goes"))
	if err != nil || gone.Deleted != 1 {
		t.Fatalf("deleted %+v, %v, want one pod", gone, err)
	}
	if _, err := store.Compact(t.Context(), gone.Header.Revision, etcd.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
}
