package discovery

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/scalehist/scalehist/internal/docstore"
)

var start = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)

// canary is in kubeconfigs, and may be nowhere else.
const canary = "t0ken-of-the-remote-cluster"

func kubeconfigOf(server string) string {
	return `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: "` + server + `"}}], users: [{name: u, user: {token: ` + canary + `}}]}`
}

func cluster(name string) Registration {
	return Registration{Cluster: Cluster{Name: name, Region: "turin", Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")}}, Kubeconfig: kubeconfigOf("https://" + name)}
}

type rig struct {
	*Registry
	clock *clocktesting.FakeClock
	path  string
	store *docstore.Store
}

func newKey(t *testing.T, fill byte) *Key {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(hex.EncodeToString(bytes.Repeat([]byte{fill}, keySize))+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := ReadKey(path)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{clock: clocktesting.NewFakeClock(start), path: filepath.Join(t.TempDir(), "state.db")}
	r.reopen(t, newKey(t, 1))
	return r
}

// reopen is a restart.
func (r *rig) reopen(t *testing.T, k *Key) {
	t.Helper()
	if r.store != nil {
		if err := r.store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	store, err := docstore.Open(t.Context(), r.path, Kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	r.store = store
	if r.Registry, err = NewRegistry(t.Context(), RegistryOptions{Store: store, Key: k, Clock: r.clock, TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) register(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, _, err := r.Put(t.Context(), FromAPI, cluster(name)); err != nil {
			t.Fatal(err)
		}
	}
}

func (r *rig) names() (out []string) {
	for _, c := range r.List() {
		out = append(out, c.Name)
	}
	return out
}

func TestSilentClustersExpire(t *testing.T) {
	r := newRig(t)
	r.register(t, "b", "a")
	if _, _, err := r.Put(t.Context(), "secret/demo", cluster("secret")); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(40 * time.Second)
	if _, err := r.Heartbeat("a"); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(20 * time.Second)
	if diff := cmp.Diff([]string{"a", "secret"}, r.names()); diff != "" {
		t.Errorf("a silent cluster is listed, or one that is not silent is not (-want +got):\n%s", diff)
	}
	if _, err := r.Kubeconfig("b"); !errors.Is(err, ErrUnknown) {
		t.Errorf("the kubeconfig of a silent cluster: %v", err)
	}
	if _, err := r.Heartbeat("b"); !errors.Is(err, ErrUnknown) {
		t.Errorf("a heartbeat of a cluster that is not listed any more: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	said, ended := make(chan string, 4), make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx, func(text string, err error) {
			if err != nil {
				t.Error(err)
			}
			said <- text
		})
	}()
	if got := <-said; got != "cluster b was silent for 1m0s and is taken out of the list" {
		t.Errorf("it says %q", got)
	}
	for !r.clock.HasWaiters() {
		if t.Context().Err() != nil {
			t.Fatal("nobody waits")
		}
	}
	r.clock.Step(40 * time.Second)
	if got := <-said; !strings.HasPrefix(got, "cluster a was silent for 1m0s") {
		t.Errorf("it says %q", got)
	}
	cancel()
	<-ended
	r.reopen(t, newKey(t, 1))
	if diff := cmp.Diff([]string{"secret"}, r.names()); diff != "" {
		t.Errorf("after a restart (-want +got):\n%s", diff)
	}
}

func TestRestart(t *testing.T) {
	r := newRig(t)
	r.register(t, "a", "gone")
	if err := r.Remove(t.Context(), FromAPI, "gone"); err != nil {
		t.Fatal(err)
	}
	again := cluster("a")
	again.Region, again.Kubeconfig = "rome", ""
	if _, created, err := r.Put(t.Context(), FromAPI, again); err != nil || created {
		t.Fatalf("created %v, %v: want an update", created, err)
	}
	r.clock.Step(time.Hour) // it is off for an hour: nobody could be heard
	r.reopen(t, newKey(t, 1))
	list := r.List()
	if len(list) != 1 || list[0].Region != "rome" || !list[0].HasKubeconfig || !list[0].LastSeen.Equal(r.clock.Now()) {
		t.Errorf("got %+v", list)
	}
	if text, err := r.Kubeconfig("a"); err != nil || text != kubeconfigOf("https://a") {
		t.Errorf("the kubeconfig is not what it was: %q, %v", text, err)
	}
}

func TestKubeconfigsAreEncryptedAtRest(t *testing.T) {
	r := newRig(t)
	r.register(t, "a", "b")
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(r.path + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	seen := false
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		seen = seen || bytes.Contains(data, []byte("turin"))
		if bytes.Contains(data, []byte(canary)) {
			t.Errorf("%s has a token in it", filepath.Base(f))
		}
	}
	if !seen {
		t.Error("the files are not those of the registry")
	}
	r.store = nil
	store, err := docstore.Open(t.Context(), r.path, Kind)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := NewRegistry(t.Context(), RegistryOptions{Store: store, Key: newKey(t, 2), Clock: r.clock}); err == nil || !strings.Contains(err.Error(), "another key") {
		t.Errorf("with another key: %v", err)
	}
	k := newKey(t, 1)
	if _, err := k.open("b", k.seal("a", "x")); !errors.Is(err, errSealed) {
		t.Errorf("the kubeconfig of one cluster is read as that of another: %v", err)
	}
	if _, err := k.open("a", []byte("short")); !errors.Is(err, errSealed) {
		t.Errorf("garbage: %v", err)
	}
}

func TestWatch(t *testing.T) {
	r := newRig(t)
	r.register(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	events := r.Watch(ctx)
	r.register(t, "b", "a")
	if err := r.Remove(t.Context(), FromAPI, "b"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 5 {
		e := <-events
		name := ""
		if e.Cluster != nil {
			name = " " + e.Cluster.Name
		}
		got = append(got, string(e.Type)+name)
	}
	if diff := cmp.Diff([]string{"Added a", "Synced", "Added b", "Modified a", "Deleted b"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	cancel()
	if e, open := <-events; open {
		t.Errorf("after its end: %v", e)
	}
	slow := r.Watch(t.Context())
	for range backlog + 8 {
		r.register(t, "a")
	}
	n := 0
	for range slow {
		n++
	}
	if n < backlog {
		t.Errorf("a watcher that is behind gets %d events and then the end", n)
	}
}

func TestNoClusterIsLikeThat(t *testing.T) {
	r := newRig(t)
	r.register(t, "taken")
	for want, change := range map[string]func(*Registration){
		"name":              func(c *Registration) { c.Name = "../etc" },
		"labels":            func(c *Registration) { c.Labels = map[string]string{"a b": "c"} },
		"taints":            func(c *Registration) { c.Taints = []corev1.Taint{{Value: "x"}} },
		"nothing is shared": func(c *Registration) { c.Resources = nil },
		"is negative":       func(c *Registration) { c.Resources[corev1.ResourceCPU] = resource.MustParse("-1") },
		"apiServer":         func(c *Registration) { c.APIServer = "--kubeconfig=/etc/passwd" },
		"cannot be read":    func(c *Registration) { c.Kubeconfig = "{" },
		"current-context":   func(c *Registration) { c.Kubeconfig = "{apiVersion: v1, kind: Config}" },
		"would run a program": func(c *Registration) {
			c.Kubeconfig = strings.Replace(c.Kubeconfig, "token: "+canary, "exec: {command: /bin/rm, apiVersion: client.authentication.k8s.io/v1}", 1)
		},
		"names a file":             func(c *Registration) { c.Kubeconfig = strings.Replace(c.Kubeconfig, "token: ", "tokenFile: /", 1) },
		"is there already, from a": func(c *Registration) { c.Name = "taken" },
	} {
		c := cluster("x")
		change(&c)
		source := FromAPI
		if c.Name == "taken" {
			source = "secret/demo"
		}
		_, _, err := r.Put(t.Context(), source, c)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if diff := cmp.Diff([]string{"taken"}, r.names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestKeyFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	for _, text := range []string{"", "short", strings.Repeat("zz", 32)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKey(path); err == nil || !strings.Contains(err.Error(), "openssl rand") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte{7}, 32), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKey(path); err != nil {
		t.Error(err)
	}
}

// FuzzKubeconfig: whatever a kubeconfig is, it is taken or refused, and its text is in no error.
func FuzzKubeconfig(f *testing.F) {
	f.Add(kubeconfigOf("https://a"))
	f.Add("{")
	f.Add("users: [{user: {exec: {}}}]")
	f.Fuzz(func(t *testing.T, text string) {
		if err := checkKubeconfig(text + "\n# " + canary); err != nil && strings.Contains(err.Error(), canary) {
			t.Error(err)
		}
	})
}
