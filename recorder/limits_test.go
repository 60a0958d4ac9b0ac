package recorder

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

// TestImpossibleGroupsAreNotRecorded: a source that reads an absurd size somewhere does not end the recording.
func TestImpossibleGroupsAreNotRecorded(t *testing.T) {
	g := &nodeGroups{refused: map[string]string{}}
	group := func(name string, target int32) *v1alpha1.NodeGroup {
		return &v1alpha1.NodeGroup{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.NodeGroupSpec{MaxSize: 1 << 30, TargetSize: target}}
	}
	left := g.possible([]*v1alpha1.NodeGroup{group("a", 1), group("b", 1<<30), group("c", v1alpha1.MaxNodes)})
	if len(left) != 2 || left[0].Name != "a" || left[1].Name != "c" || g.refused["b"] == "" {
		t.Errorf("left %v, refused %v", left, g.refused)
	}
}
