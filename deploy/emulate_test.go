package deploy

import (
	"bytes"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist/cmd/scalehist/cli"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

const emulateNamespace = "scalehist-emulate"

// TestEmulate: a real API server takes every object; the pods are let into their namespace without rights; the command lines are ones that the
// commands take.
func TestEmulate(t *testing.T) {
	objects := build(t, "emulate")
	there(t, objects[0])
	for _, o := range objects {
		if err := create(t, o, true); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	var job batchv1.Job
	find(t, objects, "Job", "server", &job)
	var set appsv1.StatefulSet
	find(t, objects, "StatefulSet", "worker", &set)
	for name, c := range map[string]struct {
		spec corev1.PodSpec
		// wrong is the flag that ends the command before it does anything, want what it says then.
		wrong, want string
	}{
		"server": {job.Spec.Template.Spec, "--listen=256.0.0.1:1", "choose another --listen"},
		"worker": {set.Spec.Template.Spec, "--cgroup=no/such", "choose another --measure"},
	} {
		pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: emulateNamespace}, Spec: c.spec}
		if err := create(t, unstructuredOf(t, pod), true); err != nil {
			t.Errorf("pod %s: %v", name, err)
		}
		if c.spec.AutomountServiceAccountToken == nil || *c.spec.AutomountServiceAccountToken {
			t.Errorf("pod %s has a token of the cluster", name)
		}
		var out, errs bytes.Buffer
		args := append(c.spec.Containers[0].Args[:len(c.spec.Containers[0].Args):len(c.spec.Containers[0].Args)], c.wrong)
		if code := cli.Execute(t.Context(), args, console.IO{In: strings.NewReader(""), Out: &out, Err: &errs}); code != console.ExitFailed || !strings.Contains(errs.String(), c.want) {
			t.Errorf("arguments of %s: exit %d, %s", name, code, errs.String())
		}
	}
}
