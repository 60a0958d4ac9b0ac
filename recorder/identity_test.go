package recorder

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

const importedLog = `{"at":"2026-01-01T00:00:00Z","op":"add","object":{"apiVersion":"v1","kind":"Node","metadata":{"name":"far"}}}`

// refused records into path, which must fail and leave the file as it was.
func refused(t *testing.T, path string) error {
	t.Helper()
	before := must[[]byte](t)(os.ReadFile(path))
	r, err := New(cluster, Options{Path: path, Cluster: "the same name"})
	if err != nil {
		t.Fatal(err)
	}
	err = r.Run(t.Context())
	if err == nil {
		t.Fatal("the recording was not refused")
	}
	if after := must[[]byte](t)(os.ReadFile(path)); string(before) != string(after) {
		t.Error("the refused file was changed")
	}
	return err
}

func TestRefusesAnImport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	if _, err := transfer.Import(t.Context(), strings.NewReader(importedLog), path, transfer.ImportOptions{Name: "a/trace.jsonl"}); err != nil {
		t.Fatal(err)
	}
	err := refused(t, path)
	var imported *history.ImportedError
	if !errors.As(err, &imported) || imported.Source != "import of trace.jsonl" {
		t.Errorf("error %v, want an ImportedError that names the log", err)
	}
}

// otherCluster makes a history whose cluster had the given identity, with the name that the tests' cluster is given.
func otherCluster(t *testing.T, identity string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "h.db")
	w, err := history.Create(t.Context(), path, history.Options{Cluster: "the same name", Identity: identity})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Begin(t.Context(), virtualStart, nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.End(t.Context(), virtualStart), w.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRefusesAnotherCluster: what makes a cluster the same is the UID of its kube-system, not its name.
func TestRefusesAnotherCluster(t *testing.T) {
	for _, identity := range []string{"11111111-2222-4333-8444-555555555555", history.VirtualIdentity} {
		err := refused(t, otherCluster(t, identity))
		var other *history.OtherClusterError
		if !errors.As(err, &other) || other.Have != identity || other.Want == "" {
			t.Errorf("error %v, want an OtherClusterError from %s", err, identity)
		}
	}
}

// TestUnreadableIdentity: without leave to read the identity, a history that has one is not continued.
func TestUnreadableIdentity(t *testing.T) {
	r, err := New(reader(t, "no-namespaces", "pods", "nodes"), Options{Path: otherCluster(t, "one"), Kinds: []string{"Pod"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "allow get, list and watch on namespaces") {
		t.Errorf("error %v, want one that says what to allow", err)
	}
}

// TestIdentityIsKept: the identity is stored with the first recording, and the same cluster under another name goes on.
func TestIdentityIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	record(t, cluster, Options{Path: path, Cluster: "one"}).end()
	meta, err := open(t, path).Meta(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, _ := client(t)
	want := kubeSystemUID(t, c)
	if diff := cmp.Diff(want, meta["cluster_uid"]); diff != "" {
		t.Errorf("identity (-want +got):\n%s", diff)
	}
	record(t, cluster, Options{Path: path, Cluster: "two"}).end()
	_, err = history.Create(t.Context(), path, history.Options{Identity: "another"})
	var other *history.OtherClusterError
	if !errors.As(err, &other) || other.Have != want {
		t.Errorf("error %v, want an OtherClusterError", err)
	}
}

func kubeSystemUID(t *testing.T, c kubernetes.Interface) string {
	t.Helper()
	ns, err := c.CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(ns.UID)
}
