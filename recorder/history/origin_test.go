package history

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
)

// TestIdentityOfOldHistories: one that was made before identities were kept has its cluster's among its objects.
func TestIdentityOfOldHistories(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const real = "11111111-2222-4333-8444-555555555555"
	for _, c := range []struct {
		uid     types.UID
		to      string
		refused bool
	}{
		{real, real, false},
		{real, "99999999-2222-4333-8444-555555555555", true},
		{real, "", true},
		{"", VirtualIdentity, false},
		{"", real, true},
	} {
		path := filepath.Join(t.TempDir(), "h.db")
		w, err := Create(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		ns := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: c.uid}}
		if err := w.Write(t.Context(), []Entry{{ObservedAt: at, Change: scalehist.Change{Op: scalehist.OpAdd, Object: ns}}}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		w, err = Create(t.Context(), path, Options{Identity: c.to})
		if err == nil {
			err = w.Close()
		}
		var other *OtherClusterError
		if errors.As(err, &other) != c.refused || !c.refused && err != nil {
			t.Errorf("UID %q continued with identity %q: %v, want refused: %t", c.uid, c.to, err, c.refused)
		}
	}
}
