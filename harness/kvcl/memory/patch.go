package memory

import (
	"context"
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/internal/plane"
)

// Patch changes an object as the API server's handler of patches does: the object as clients see it, patched as JSON, is
// an update.
func (s *server) Patch(ctx context.Context, k *plane.Kind, namespace, name string, pt types.PatchType, data []byte, sub ...string) (scalehist.Object, error) {
	u, err := s.updater(k, sub)
	if err != nil {
		return nil, err
	}
	apply := func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		if p, ok := old.(*core.Pod); ok && pt == types.StrategicMergePatchType && len(sub) == 1 && sub[0] == "status" && onlyStatus(data) {
			return patchedStatus(p, data)
		}
		have, err := external(k, old)
		if err != nil {
			return nil, err
		}
		want, err := patched(k, have, pt, data)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return internal(s.resources[k.Order], want)
	}
	out, _, err := u.Update(within(ctx, "patch", k, namespace, name, sub...), name, rest.DefaultUpdatedObjectInfo(nil, apply), rest.ValidateAllObjectFunc,
		rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	return s.result(k, out, err)
}

func patched(k *plane.Kind, have scalehist.Object, pt types.PatchType, data []byte) (scalehist.Object, error) {
	old, err := json.Marshal(have)
	if err != nil {
		return nil, err
	}
	var text []byte
	switch pt {
	case types.MergePatchType:
		text, err = jsonpatch.MergePatch(old, data)
	case types.StrategicMergePatchType:
		text, err = strategicpatch.StrategicMergePatch(old, data, k.New())
	default:
		return nil, fmt.Errorf("patch of type %q is not known", pt)
	}
	if err != nil {
		return nil, err
	}
	want := k.New()
	return want, json.Unmarshal(text, want)
}

// patchedStatus does with a patch of a pod's status what patched would, without turning the whole pod into JSON and back.
// Pods that wait get one such patch a try.
func patchedStatus(old *core.Pod, data []byte) (runtime.Object, error) {
	var have, want statusOnly
	if err := legacyscheme.Scheme.Convert(&old.Status, &have.Status, nil); err != nil {
		return nil, err
	}
	text, err := json.Marshal(have)
	if err != nil {
		return nil, err
	}
	if text, err = strategicpatch.StrategicMergePatch(text, data, &corev1.Pod{}); err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	p := *old
	p.Status = core.PodStatus{}
	return &p, legacyscheme.Scheme.Convert(&want.Status, &p.Status, nil)
}

// onlyStatus says whether a patch names nothing else: with the status, labels and annotations could be written.
func onlyStatus(patch []byte) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(patch, &fields) == nil && len(fields) == 1 && fields["status"] != nil
}

type statusOnly struct {
	Status corev1.PodStatus `json:"status"`
}
