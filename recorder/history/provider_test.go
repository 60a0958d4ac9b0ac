package history_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// TestProviderObjects: what a source noted on the groups and what was recorded of the provider itself are one list, each once.
func TestProviderObjects(t *testing.T) {
	group := func(name string, annotations map[string]string) *v1alpha1.NodeGroup {
		return &v1alpha1.NodeGroup{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid(len(name) * 7), Annotations: annotations},
			Spec: v1alpha1.NodeGroupSpec{MinSize: 1, MaxSize: 5, TargetSize: 2, MachineType: "m5.large"}}
	}
	deployment := func(name, pool string) string {
		return `
apiVersion: machine.sapcloud.io/v1alpha1
kind: MachineDeployment
metadata: {name: ` + name + `, namespace: shoot, uid: md-` + name + `}
spec:
  replicas: 3
  template: {spec: {class: {kind: MachineClass, name: c}, nodeTemplate: {metadata: {labels: {worker.gardener.cloud/pool: ` + pool + `, node.kubernetes.io/instance-type: m5.xlarge}}}}}
`
	}
	db := write(t,
		change(0, scalehist.OpAdd, group("noted", map[string]string{v1alpha1.WorkerPoolAnnotation: "a", v1alpha1.MachineDeploymentAnnotation: "shoot/a-z1"})),
		change(0, scalehist.OpAdd, group("shoot.b-z1", nil)),
		change(0, scalehist.OpAdd, group("plain-name", nil)),
		change(time.Second, scalehist.OpAdd, custom(t, deployment("a-z1", "a"))),
		change(time.Second, scalehist.OpAdd, custom(t, deployment("b-z1", "b"))),
		change(time.Second, scalehist.OpAdd, custom(t, deployment("b-z2", "b"))),
		change(time.Second, scalehist.OpAdd, custom(t, deployment("plain-name", "c"))),
		change(2*time.Second, scalehist.OpAdd, custom(t, `
apiVersion: extensions.gardener.cloud/v1alpha1
kind: Worker
metadata: {name: shoot, namespace: shoot, uid: w}
spec: {type: aws, pools: [{name: a, minimum: 1, maximum: 5}, {name: idle, minimum: 0, maximum: 5}]}
`)))
	s := snapshotAt(t, db, 2*time.Second)
	want := []scalehist.MachineDeployment{
		{Name: "a-z1", Namespace: "shoot", NodeGroup: "noted", Replicas: 2, MachineType: "m5.large"},
		{Name: "b-z1", Namespace: "shoot", NodeGroup: "shoot.b-z1", Replicas: 3, MachineType: "m5.xlarge"},
		{Name: "b-z2", Namespace: "shoot", Replicas: 3, MachineType: "m5.xlarge"},
		{Name: "plain-name", Namespace: "shoot", NodeGroup: "plain-name", Replicas: 3, MachineType: "m5.xlarge"},
	}
	if diff := cmp.Diff(want, s.MachineDeployments); diff != "" {
		t.Errorf("machine deployments (-want +got):\n%s", diff)
	}
	pools := []scalehist.WorkerPool{{Name: "a", NodeGroups: []string{"noted"}}, {Name: "b", NodeGroups: []string{"shoot.b-z1"}},
		{Name: "c", NodeGroups: []string{"plain-name"}}, {Name: "idle", NodeGroups: []string{}}}
	if diff := cmp.Diff(pools, s.WorkerPools); diff != "" {
		t.Errorf("worker pools (-want +got):\n%s", diff)
	}
	if got := snapshotAt(t, db, 0); len(got.MachineDeployments) != 1 || len(got.WorkerPools) != 1 {
		t.Errorf("before they came: %+v, %+v", got.MachineDeployments, got.WorkerPools)
	}
}
