package discovery

import (
	"context"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/scalehist/scalehist/internal/realprogram/realtest"
)

func secret(name, info string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, Labels: map[string]string{"autoscaling": "true"}},
		Data: map[string][]byte{infoKey: []byte(info), kubeconfigKey: []byte(kubeconfigOf("https://" + name))}}
}

// TestSecrets: labelled Secrets are clusters as long as they are there; a watch that ends is opened again, which the original does not do.
func TestSecrets(t *testing.T) {
	const info = `{"resources": {"cpu": "4", "memory": "8Gi"}, "labels": {"hasGPU": "false"}, "hasNat": true}`
	r := newRig(t)
	if _, _, err := r.Put(t.Context(), "secret/demo", cluster("deleted-meanwhile")); err != nil {
		t.Fatal(err)
	}
	client := fake.NewSimpleClientset(secret("a", info), secret("broken", `{"resources": 1}`))
	var mu sync.Mutex
	var watches []watch.Interface
	client.PrependWatchReactor("secrets", func(a clienttesting.Action) (bool, watch.Interface, error) {
		o := metav1.ListOptions{}
		if w, ok := a.(clienttesting.WatchActionImpl); ok {
			o = w.ListOptions
		}
		w, err := client.Tracker().Watch(a.GetResource(), a.GetNamespace(), o)
		mu.Lock()
		defer mu.Unlock()
		watches = append(watches, w)
		return true, w, err
	})
	ctx, cancel := context.WithCancel(t.Context())
	said, ended := make(chan string, 16), make(chan error, 1)
	go func() {
		ended <- Secrets(ctx, client, "demo", r.Registry, func(text string, err error) { said <- text + ": " + err.Error() })
	}()
	listed := func(want string) {
		t.Helper()
		realtest.Eventually(t, "the list is not "+want, func() bool { return strings.Join(r.names(), " ") == want })
	}
	listed("a")
	if got := r.List()[0]; got.Resources.Cpu().Value() != 4 || got.Labels["hasGPU"] != "false" || !got.HasNAT || !got.HasKubeconfig || got.Expires != nil || got.Source != "secret/demo" {
		t.Errorf("got %+v", got)
	}
	if text := <-said; !strings.Contains(text, "Secret demo/broken is not listed") || !strings.Contains(text, "resources") {
		t.Errorf("it says %q", text)
	}
	mu.Lock()
	for _, w := range watches {
		w.Stop()
	}
	n := len(watches)
	mu.Unlock()
	realtest.Eventually(t, "no watch is opened again", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(watches) > n
	})
	secrets := client.CoreV1().Secrets("demo")
	if _, err := secrets.Create(t.Context(), secret("b", info), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	listed("a b")
	if _, err := secrets.Update(t.Context(), secret("b", strings.Replace(info, `"4"`, `"6"`, 1)), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	realtest.Eventually(t, "an update is not seen", func() bool { c, err := r.Get("b"); return err == nil && c.Resources.Cpu().Value() == 6 })
	if _, err := secrets.Update(t.Context(), secret("b", `{}`), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	listed("a") // a Secret that is no cluster any more
	if err := secrets.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	listed("")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	close(said)
	for text := range said {
		if strings.Contains(text, canary) {
			t.Errorf("it says %q", text)
		}
	}
}
