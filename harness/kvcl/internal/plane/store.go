package plane

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
)

// item is one object: what the API server cannot keep, and the object with that put back.
type item struct {
	kind *Kind
	// ordinal counts creations: the order of Objects, and of pods in the queue.
	ordinal int64
	// apiUID is the server's random UID; uid and created are the recorded or virtual ones.
	apiUID  types.UID
	uid     types.UID
	created metav1.Time
	// deletion is kept for pods and claims that were already going when they were recorded.
	deletion *metav1.Time
	// service is the recorded spec of a Service; its network fields are not sent.
	service *corev1.ServiceSpec
	// scheduled is the PodScheduled condition as Cluster shows it: given to Apply, or in virtual time.
	scheduled *corev1.PodCondition
	// phase is that of a PersistentVolume as Cluster shows it, since when phaseAt says in virtual time.
	phase   corev1.PersistentVolumePhase
	phaseAt metav1.Time
	// sent is a pod as Apply last sent it, without what the API server filled in.
	sent scalehist.Object
	// latest is the object as the API server last returned or showed it. Only its UID and times may be ours.
	latest scalehist.Object
	// obj is what Cluster shows; nil until the watch has shown the object.
	obj scalehist.Object
	// shown is the version of obj: a watch may bring earlier ones still.
	shown uint64
	// takenBack: it was made beside one that was refused, and nobody is to hear of it. hushed is the version up to which
	// that is so of updates.
	takenBack bool
	hushed    uint64
	// budget is the status of a PodDisruptionBudget as Apply was given it.
	budget *policyv1.PodDisruptionBudgetStatus
	// implicit namespaces were made because something in them was.
	implicit bool
	// listed: it is one of those that Objects shows, once it has an obj.
	listed bool
}

// store knows every object by name and by the server's UID. One goroutine uses it.
type store struct {
	byName   []map[string]*item
	byUID    []map[types.UID]*item
	ordinals int64
	// podOrdinal is by virtual UID: the scheduler asks.
	podOrdinal map[types.UID]int64
	podByUID   map[types.UID]*item
	names      map[string]int
	listing    listing
}

func newStore() *store {
	s := &store{
		byName: make([]map[string]*item, len(Kinds)), byUID: make([]map[types.UID]*item, len(Kinds)),
		podOrdinal: map[types.UID]int64{}, podByUID: map[types.UID]*item{}, names: map[string]int{},
		listing: newListing(),
	}
	for i := range Kinds {
		s.byName[i], s.byUID[i] = map[string]*item{}, map[types.UID]*item{}
	}
	return s
}

// newItem makes the identity of an object that is about to be created. The UID given wins, else it is named by a
// counter; so does the creation time given, else at.
func (s *store) newItem(k *Kind, obj scalehist.Object, at time.Time) *item {
	s.ordinals++
	it := &item{kind: k, ordinal: s.ordinals, uid: obj.GetUID(), created: obj.GetCreationTimestamp(), deletion: obj.GetDeletionTimestamp()}
	if it.uid == "" {
		n := fmt.Sprintf("%s/%s/%s", k.Name, obj.GetNamespace(), obj.GetName())
		s.names[n]++
		it.uid = types.UID(fmt.Sprintf("%s#%d", n, s.names[n]))
	}
	if it.created.IsZero() {
		it.created = metav1.NewTime(at.UTC())
	}
	if svc, ok := obj.(*corev1.Service); ok {
		it.service = svc.Spec.DeepCopy()
	}
	if k == PodKind {
		s.podOrdinal[it.uid] = it.ordinal
	}
	return it
}

// add files an item under the name and UID of the object the API server returned.
func (s *store) add(it *item, created scalehist.Object) {
	it.apiUID, it.latest = created.GetUID(), created
	s.byName[it.kind.Order][Name(created)] = it
	if other := s.byUID[it.kind.Order][it.apiUID]; other != nil {
		s.listing.leave(other)
	}
	s.byUID[it.kind.Order][it.apiUID] = it
	s.listing.join(it)
	if it.kind == PodKind {
		s.podOrdinal[it.uid] = it.ordinal
		s.podByUID[it.uid] = it
	}
}

// forget drops an item whose object is gone.
func (s *store) forget(it *item, objName string) {
	o := it.kind.Order
	if s.byName[o][objName] == it {
		delete(s.byName[o], objName)
	}
	delete(s.byUID[o], it.apiUID)
	s.listing.leave(it)
	if it.kind == PodKind && s.podByUID[it.uid] == it {
		delete(s.podByUID, it.uid)
	}
}

func (s *store) find(k *Kind, objName string) *item { return s.byName[k.Order][objName] }

// serverMade says whether the API server makes the object on its own, some time after its start. Such objects are
// not part of the cluster until Apply adds them.
func serverMade(k *Kind, objName string) bool {
	switch k.Name + " " + objName {
	case "Namespace default", "Namespace kube-system", "Namespace kube-public", "Namespace kube-node-lease",
		"Service default/kubernetes", "ConfigMap kube-system/extension-apiserver-authentication",
		"ConfigMap kube-system/kube-apiserver-legacy-service-account-token-tracking",
		"PriorityClass system-cluster-critical", "PriorityClass system-node-critical":
		return true
	}
	return false
}

// restore puts back into obj, in place, what the API server could not keep. obj must not be shared.
func (it *item) restore(obj scalehist.Object, now time.Time) scalehist.Object {
	obj.SetUID(it.uid)
	obj.SetCreationTimestamp(it.created)
	obj.SetManagedFields(nil)
	if it.deletion != nil {
		obj.SetDeletionTimestamp(it.deletion)
	}
	switch o := obj.(type) {
	case *corev1.Pod:
		it.restoreScheduled(o, now)
	case *corev1.PersistentVolume:
		it.restorePhase(o, now)
	case *policyv1.PodDisruptionBudget:
		it.restoreBudget(o, now)
	case *corev1.Service:
		if it.service != nil {
			o.Spec = *it.service
		}
	}
	return obj
}

// restorePhase replaces the wall-clock time at which the API server saw the phase of a volume change.
func (it *item) restorePhase(pv *corev1.PersistentVolume, now time.Time) {
	if pv.Status.LastPhaseTransitionTime == nil {
		return
	}
	switch {
	case it.obj == nil && it.phase == "":
		it.phase, it.phaseAt = pv.Status.Phase, it.created
	case it.phase != pv.Status.Phase:
		it.phase, it.phaseAt = pv.Status.Phase, metav1.NewTime(now)
	}
	pv.Status.LastPhaseTransitionTime = it.phaseAt.DeepCopy()
}

// restoreScheduled replaces the wall-clock time of PodScheduled, which the API server stamps at creation and binding
// and the scheduler in its patches, and puts in the newest message, of which the API server has the first.
func (it *item) restoreScheduled(p *corev1.Pod, now time.Time) {
	for i := range p.Status.Conditions {
		c := &p.Status.Conditions[i]
		if c.Type != corev1.PodScheduled {
			continue
		}
		switch {
		case it.scheduled == nil || it.scheduled.Status != c.Status:
			it.scheduled = c.DeepCopy()
			it.scheduled.ObservedGeneration = 0
			it.scheduled.LastProbeTime = metav1.Time{}
			it.scheduled.LastTransitionTime = metav1.NewTime(now)
			if it.obj == nil {
				it.scheduled.LastTransitionTime = it.created
			}
		case it.scheduled.Reason != c.Reason:
			it.scheduled.Reason, it.scheduled.Message = c.Reason, c.Message
		}
		*c = *it.scheduled
	}
}

// setUnschedulable records why the pod found no node, and shows it.
func (it *item) setUnschedulable(message, nominated string, now time.Time) {
	c := &corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message,
		LastTransitionTime: metav1.NewTime(now),
	}
	if it.scheduled != nil && it.scheduled.Status == corev1.ConditionFalse {
		c.LastTransitionTime = it.scheduled.LastTransitionTime
	}
	it.scheduled = c
	p := *it.obj.(*corev1.Pod)
	p.Status.NominatedNodeName = nominated
	conditions := make([]corev1.PodCondition, 0, len(p.Status.Conditions)+1)
	for _, old := range p.Status.Conditions {
		if old.Type != corev1.PodScheduled {
			conditions = append(conditions, old)
		}
	}
	p.Status.Conditions = append(conditions, *c)
	it.obj = &p
}
