package history_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history"
)

// TestImpossibleSizesAreNotWritten: a group of which no cluster could have the nodes is not in a history, wherever it comes from.
func TestImpossibleSizesAreNotWritten(t *testing.T) {
	w := create(t, t.TempDir()+"/h.db")
	for _, spec := range []v1alpha1.NodeGroupSpec{{MaxSize: 1 << 30, TargetSize: 1 << 30}, {MaxSize: 1 << 30, MinSize: 100_001}} {
		g := &v1alpha1.NodeGroup{ObjectMeta: metav1.ObjectMeta{Name: "g", UID: uid(1)}, Spec: spec}
		err := w.Write(t.Context(), []history.Entry{change(0, scalehist.OpAdd, g)})
		if err == nil || !strings.Contains(err.Error(), "NodeGroup g: key") {
			t.Errorf("%+v: got %v", spec, err)
		}
	}
}
