package workload

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/utils/ptr"
)

// family is the pods of one controller, in order of creation.
type family struct {
	pods []*corev1.Pod
	// numbers are those of the pods, which only grow along pods; number has them by UID, last is the last one given.
	numbers []int
	number  map[types.UID]int
	last    int
	// made counts what the controller made, by what Names calls like.
	made map[string]int
}

func (s *State) family(owner types.UID) *family {
	f := s.families[owner]
	if f == nil {
		f = &family{made: map[string]int{}, number: map[types.UID]int{}}
		s.families[owner] = f
	}
	return f
}

// SetPod reports a pod as it is now: what the scheduler, a kubelet or a user made of it, or one that was there before. Its controller
// may be applied later. A pod that is known by its UID may have another name by now: then its old one is free. It is an error where a pod has no controller, UID or name.
func (s *State) SetPod(p *corev1.Pod) error {
	ref := metav1.GetControllerOfNoCopy(p)
	if ref == nil || p.UID == "" || p.Name == "" {
		return fmt.Errorf("pod %s/%s: want a name, a UID and a controller", p.Namespace, p.Name)
	}
	if f := s.familyOf[p.UID]; f != nil && apiequality.Semantic.DeepEqual(f.pods[f.index(p.UID)], p) {
		return nil // nobody would hear of it
	}
	s.setPod(ref.UID, p.DeepCopy())
	s.dirty[ref.UID] = true
	return nil
}

func (s *State) setPod(owner types.UID, p *corev1.Pod) {
	f := s.family(owner)
	if i := f.index(p.UID); i >= 0 {
		if had := f.pods[i]; had.Name != p.Name {
			delete(s.podNames, nameOf(had))
			s.podNames[nameOf(p)] = true
		}
		f.pods[i] = p
		return
	}
	f.last++
	f.pods, f.numbers = append(f.pods, p), append(f.numbers, f.last)
	f.number[p.UID] = f.last
	s.familyOf[p.UID] = f
	s.podNames[nameOf(p)] = true
}

// index is the place of a pod, -1 if it is not there.
func (f *family) index(uid types.UID) int {
	n, ok := f.number[uid]
	if !ok {
		return -1
	}
	i, _ := slices.BinarySearch(f.numbers, n)
	return i
}

// RemovePod reports that a pod is gone. A UID that is not known is no error: it was gone before.
func (s *State) RemovePod(uid types.UID) {
	f := s.familyOf[uid]
	if f == nil {
		return
	}
	p := f.pods[f.index(uid)]
	if j := s.jobs[metav1.GetControllerOfNoCopy(p).UID]; j != nil && tracked(p) {
		ending := *p
		if ending.DeletionTimestamp == nil {
			ending.DeletionTimestamp = &p.CreationTimestamp
		}
		j.gone = append(j.gone, &ending)
	}
	s.removePod(p)
	s.dirty[metav1.GetControllerOfNoCopy(p).UID] = true
}

func (s *State) removePod(p *corev1.Pod) {
	f := s.familyOf[p.UID]
	i := f.index(p.UID)
	delete(s.podNames, nameOf(f.pods[i]))
	f.pods, f.numbers = slices.Delete(f.pods, i, i+1), slices.Delete(f.numbers, i, i+1)
	delete(f.number, p.UID)
	delete(s.familyOf, p.UID)
}

// deletePod asks for the end of a pod. One that runs on a node ends when RemovePod says so; one that nothing runs of is gone at once
// (pkg/registry/core/pod/strategy.go, CheckGracefulDelete).
func (t *turn) deletePod(p *corev1.Pod) {
	t.did(Action{Verb: DeletePod, Object: p})
	grace := ptr.Deref(p.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded || grace <= 0 {
		t.removePod(p)
		return
	}
	if p.DeletionTimestamp != nil {
		return
	}
	ending := *p
	ending.DeletionTimestamp = ptr.To(metav1.NewTime(t.second().Add(time.Duration(grace) * time.Second)))
	ending.DeletionGracePeriodSeconds = &grace
	t.setPod(metav1.GetControllerOfNoCopy(p).UID, &ending)
}

// createPod makes a pod of a template, as a controller and the API server together do. change, if any, is what the controller adds.
func (t *turn) createPod(template *corev1.PodTemplateSpec, owner metav1.Object, kind schema.GroupVersionKind, fixed string, change func(*corev1.Pod)) error {
	p, err := controller.GetPodFromTemplate(template, owner.(runtime.Object), metav1.NewControllerRef(owner, kind))
	if err != nil {
		return fmt.Errorf("create a pod of %s %s/%s: %w", kind.Kind, owner.GetNamespace(), owner.GetName(), err)
	}
	if change != nil {
		change(p)
	}
	p.Namespace = owner.GetNamespace()
	p.Name, p.UID = t.drawn(t.family(owner.GetUID()), owner, generatePrefix(p), fixed)
	p.CreationTimestamp = metav1.NewTime(t.second())
	p.Status.Phase = corev1.PodPending
	t.setPod(owner.GetUID(), p)
	t.did(Action{Verb: CreatePod, Object: p})
	return nil
}

// active are the pods of a controller that neither ended nor are ending.
func (f *family) active() []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(f.pods), func(p *corev1.Pod) bool { return !controller.IsPodActive(p) })
}
