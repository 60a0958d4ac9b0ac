package stored

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history/projection"
	"github.com/scalehist/scalehist/recorder/history/snapshot"
)

// TestGroupOptionsRoundTrip: the options of a group are kept, as the same, through the object that a history stores.
func TestGroupOptionsRoundTrip(t *testing.T) {
	share, gpu, yes, no := 0.3, 0.7, true, false
	d := func(n int) *scalehist.Duration { v := scalehist.Duration(time.Duration(n) * time.Minute); return &v }
	want := scalehist.NodeGroup{Name: "a", MaxSize: 3, Options: &scalehist.NodeGroupOptions{
		ScaleDownUtilizationThreshold: &share, ScaleDownGPUUtilizationThreshold: &gpu, ScaleDownUnneededTime: d(1), ScaleDownUnreadyTime: d(2),
		MaxNodeProvisionTime: d(3), MaxNodeStartupTime: d(4), ZeroOrMaxNodeScaling: &yes, AllowNonAtomicScaleUpToMax: &no, IgnoreDaemonSetsUtilization: &yes,
	}}
	kept, ok := projection.Of(snapshot.NodeGroupObject(want))
	if !ok {
		t.Fatal("a node group is not kept")
	}
	object := snapshot.NodeGroupObject(want)
	if diff := cmp.Diff(object.Spec, object.DeepCopy().Spec); diff != "" {
		t.Errorf("copy (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(object.Spec.Options, snapshot.NodeGroupObject(snapshot.NodeGroup(object)).Spec.Options); diff != "" {
		t.Errorf("there and back (-want +got):\n%s", diff)
	}
	e, _, err := Encode(kept)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Options, snapshot.NodeGroup(object).Options); diff != "" || len(e.Content) == 0 {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}
