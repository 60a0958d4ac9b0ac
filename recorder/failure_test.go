package recorder

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	testclock "k8s.io/utils/clock/testing"

	"github.com/scalehist/scalehist/recorder/history"
)

// cable is a TCP connection to the API server that can be cut.
type cable struct {
	net.Listener
	to    string
	mu    sync.Mutex
	conns []net.Conn
	still sync.RWMutex // held for writing while nothing passes
}

// stall keeps connections open and lets nothing pass, from now until called with false.
func (c *cable) stall(on bool) {
	if on {
		c.still.Lock()
	} else {
		c.still.Unlock()
	}
}

// pass copies what arrives while the cable is not stalled.
func (c *cable) pass(to, from net.Conn) {
	defer to.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		c.still.RLock()
		if _, werr := to.Write(b[:n]); err == nil {
			err = werr
		}
		c.still.RUnlock()
		if err != nil {
			return
		}
	}
}

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{Listener: l, to: to}
	go c.carry(l)
	t.Cleanup(c.unplug)
	return c
}

// carry connects until the listener ends.
func (c *cable) carry(l net.Listener) {
	for {
		near, err := l.Accept()
		if err != nil {
			return
		}
		c.mu.Lock()
		to := c.to
		c.mu.Unlock()
		far, err := net.Dial("tcp", to)
		if err != nil {
			_ = near.Close()
			continue
		}
		c.mu.Lock()
		c.conns = append(c.conns, near, far)
		c.mu.Unlock()
		go c.pass(far, near)
		go c.pass(near, far)
	}
}

// lead makes new connections go elsewhere, and says where they went.
func (c *cable) lead(to string) (former string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	former, c.to = c.to, to
	return former
}

// cut ends all connections; new ones work.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
}

// unplug ends all connections, and refuses new ones until plug.
func (c *cable) unplug() {
	_ = c.Close()
	c.cut()
}

func (c *cable) plug(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", c.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.Listener = l
	go c.carry(l)
}

// TestWatchDropped cuts all watches while pods come and go: nothing is lost, and nothing is called a gap of pods. Only
// the watch of pods has shown something: client-go lists again, after 0.8 s, when a watch ends within its first second
// and has shown nothing (VeryShortWatchError), and that is a gap of its kind if the recording lasts until then.
func TestWatchDropped(t *testing.T) {
	c, ns := client(t)
	path := filepath.Join(t.TempDir(), "h.db")
	rec, line, _ := throughCable(t, path) // time stands still: no machine is too slow to resume at once
	must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Create(t.Context(), pod(ns, "before"), metav1.CreateOptions{}))
	rec.flush()
	start := rec.now()
	line.cut()
	must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Create(t.Context(), pod(ns, "during"), metav1.CreateOptions{}))
	if err := c.CoreV1().Pods(ns).Delete(t.Context(), "before", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		t.Fatal(err)
	}
	rec.flush()
	at := rec.now()
	rec.end()
	db := open(t, path)
	if diff := cmp.Diff([]string{"during"}, podNames(snapshotAt(t, db, at), ns)); diff != "" {
		t.Errorf("pods after the cut (-want +got):\n%s", diff)
	}
	gaps, err := db.Gaps(t.Context(), start, at)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range gaps {
		if slices.Contains(g.Kinds, "Pod") {
			t.Errorf("gap %+v, want none: the watch of pods resumed", g)
		}
	}
}

// TestNewListAfterExpiredWatch: a watch that cannot resume lists again. What is not listed any more was deleted, and
// what came and went may be missing.
func TestNewListAfterExpiredWatch(t *testing.T) {
	c, ns := client(t)
	path := filepath.Join(t.TempDir(), "h.db")
	rec := record(t, cluster, Options{Path: path})
	must[*corev1.Pod](t)(c.CoreV1().Pods(ns).Create(t.Context(), pod(ns, "old"), metav1.CreateOptions{}))
	rec.flush()
	start := rec.now()
	fresh := pod(ns, "new")
	fresh.UID, fresh.ResourceVersion = "fresh", "999999"
	for _, w := range rec.watches {
		if w.kind == "Pod" { // as the reflector does after "410 Gone"
			if err := w.Replace([]any{fresh}, "999999"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := rec.commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	at := rec.now()
	rec.end()
	db := open(t, path)
	if diff := cmp.Diff([]string{"new"}, podNames(snapshotAt(t, db, at), ns)); diff != "" {
		t.Errorf("pods after the new list (-want +got):\n%s", diff)
	}
	gaps, err := db.Gaps(t.Context(), start, at)
	if err != nil {
		t.Fatal(err)
	}
	if len(gaps) != 1 || len(gaps[0].Kinds) != 1 || gaps[0].Kinds[0] != "Pod" {
		t.Errorf("gaps %+v, want one of Pod", gaps)
	}
}

// reader may list the given resources and nothing else.
func reader(t *testing.T, user string, resources ...string) *rest.Config {
	t.Helper()
	c, _ := client(t)
	allow(t, c, user, user, []string{"list", "watch"}, resources...)
	cfg := rest.CopyConfig(cluster)
	cfg.Impersonate.UserName = user
	waitAllowed(t, c, user, resources...)
	return cfg
}

// allow gives a user a role with the test's life.
func allow(t *testing.T, c kubernetes.Interface, name, user string, verbs []string, resources ...string) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: resources, Verbs: verbs}}}
	must[*rbacv1.ClusterRole](t)(c.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}))
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: []rbacv1.Subject{{Kind: "User", Name: user, APIGroup: rbacv1.GroupName}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}}
	must[*rbacv1.ClusterRoleBinding](t)(c.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}))
	t.Cleanup(func() {
		ctx := context.Background()
		if err := c.RbacV1().ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		if err := c.RbacV1().ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// waitAllowed waits until the authorizer, which has the role from a watch, lets the user list the resources.
func waitAllowed(t *testing.T, c kubernetes.Interface, user string, resources ...string) {
	t.Helper()
	for _, resource := range resources {
		err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
			review, err := c.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
					Verb: "list", Resource: resource}}}, metav1.CreateOptions{})
			if err != nil {
				return false, err
			}
			return review.Status.Allowed, nil
		})
		if err != nil {
			t.Fatalf("user %s may not list %s: %v", user, resource, err)
		}
	}
}

// TestForbiddenKindIsAGap: what the account may not list is a gap of that kind, not an error.
func TestForbiddenKindIsAGap(t *testing.T) {
	cfg := reader(t, "only-pods-and-nodes", "pods", "nodes")
	path := filepath.Join(t.TempDir(), "h.db")
	rec := record(t, cfg, Options{Path: path, Kinds: []string{"Job"}})
	begun := rec.now()
	refused := []Refused{{Kind: "Job", Resource: "jobs", Group: "batch", Forbidden: true}}
	if diff := cmp.Diff(refused, rec.Refused()); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	rec.flush()
	rec.end()
	db := open(t, path)
	gaps, err := db.Gaps(t.Context(), begun.Add(-time.Minute), begun.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	want := []history.Gap{{Kinds: []string{"Job"}, Why: "not allowed to list jobs.batch"}}
	for i := range gaps {
		gaps[i].From, gaps[i].To = time.Time{}, time.Time{}
	}
	if diff := cmp.Diff(want, gaps); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	recordings, err := db.Recordings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Node", "Pod", "NodeGroup"}, recordings[0].Kinds); diff != "" {
		t.Errorf("kinds of the recording (-want +got):\n%s", diff)
	}
}

// TestForbiddenPods: without pods there is nothing to record.
func TestForbiddenPods(t *testing.T) {
	cfg := reader(t, "only-nodes", "nodes")
	r, err := New(cfg, Options{Path: filepath.Join(t.TempDir(), "h.db"), Kinds: []string{"Node"}})
	if err != nil {
		t.Fatal(err)
	}
	err = r.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "use an account that may list and watch pods") {
		t.Errorf("error %v, want one that says what to do", err)
	}
}

// TestNoServer: an API server that does not answer is one clear error, and no file is made.
func TestNoServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	r, err := New(&rest.Config{Host: "127.0.0.1:1"}, Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "recorder: list") {
		t.Errorf("error %v, want one about the first list", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the history: %v, want none", err)
	}
	if err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "called before") {
		t.Errorf("second Run: %v, want an error", err)
	}
}

// TestTrouble: what cannot be watched shows, until it can.
func TestTrouble(t *testing.T) {
	r, err := New(&rest.Config{Host: "127.0.0.1:1"}, Options{Path: "unused.db"})
	if err != nil {
		t.Fatal(err)
	}
	lw := cache.ToListerWatcherWithContext(r.listWatch(newWatched(r, targets[0])))
	if _, err := lw.ListWithContext(t.Context(), metav1.ListOptions{}); err == nil {
		t.Fatal("a list without a server: no error")
	}
	if got, want := r.Stats().Trouble, "Namespace cannot be watched: "; !strings.HasPrefix(got, want) {
		t.Errorf("trouble %q, want it to begin with %q", got, want)
	}
	r.trouble.note(t.Context(), "Pod", errors.New("refused"))
	if got, want := r.Stats().Trouble, "2 kinds cannot be watched, Namespace among them: "; !strings.HasPrefix(got, want) {
		t.Errorf("trouble %q, want it to begin with %q", got, want)
	}
	r.trouble.note(t.Context(), "Pod", nil)
	r.trouble.note(t.Context(), "Namespace", nil)
	if got := r.Stats().Trouble; got != "" {
		t.Errorf("trouble %q after all went well, want none", got)
	}
}

// TestWriterFails: when the history refuses to be written, the recording ends with the reason and nobody is left
// waiting.
func TestWriterFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	record(t, cluster, Options{Path: path, Clock: testclock.NewFakeClock(virtualStart)}).end()
	r, err := New(cluster, Options{Path: path, Clock: testclock.NewFakeClock(virtualStart.Add(-time.Hour)), QueueSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	const want = "check the clock of this machine"
	if err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Run: %v, want %q", err, want)
	}
	if err := r.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Flush: %v, want the same", err)
	}
}

func TestRefusedText(t *testing.T) {
	got := RefusedText([]Refused{{Resource: "configmaps", Forbidden: true}, {Resource: "csinodes", Group: "storage.k8s.io"}, {Resource: "jobs", Group: "batch", Forbidden: true}})
	want := []string{
		"not recorded, the account may not read them: configmaps, jobs.batch; a ClusterRole with the verbs get, list, watch on them allows it",
		"not recorded, the API server does not serve them: csinodes.storage.k8s.io",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}
