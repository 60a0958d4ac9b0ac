package virtual

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsdefaults "k8s.io/kubernetes/pkg/apis/apps/v1"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
)

// nextName implements workload.Names: the next pod is one that was evicted, else one that was recorded and has not been here. Both are of the
// same ReplicaSet or, in a StatefulSet, of the same ordinal.
func (c *Cluster) nextName(owner metav1.Object, like string, _ int) (string, types.UID, bool) {
	if _, set := owner.(*appsv1.Deployment); set {
		return "", "", false // of a ReplicaSet: names are made of templates
	}
	w := c.controllers.of[owner.GetUID()]
	if w == nil { // a ReplicaSet that was made just now
		w = c.controllers.of[metav1.GetControllerOfNoCopy(owner).UID]
		c.controllers.of[owner.GetUID()] = w
	}
	fits := func(p *corev1.Pod) bool {
		switch w.ref.Kind {
		case statefulSet:
			return p.Name == like
		case jobKind:
			return c.pods[scalehist.NameOf(p)] == nil && ofJob(p, like)
		}
		return c.pods[scalehist.NameOf(p)] == nil && (w.run.alone || c.controllers.owner(w, p) == owner.GetUID())
	}
	for _, from := range []*[]*corev1.Pod{&w.run.evicted, &w.run.spares} {
		if i := slices.IndexFunc(*from, fits); i >= 0 {
			p := (*from)[i]
			*from = slices.Delete(*from, i, i+1)
			uid := c.nextUID(scalehist.NameOf(p), p.UID)
			c.controllers.given[uid] = given{pod: p, evicted: from == &w.run.evicted}
			return p.Name, uid, true
		}
	}
	if key := (types.NamespacedName{Namespace: owner.GetNamespace(), Name: like}); w.ref.Kind == statefulSet && c.births[key] > 0 {
		return like, c.nextUID(key, ""), true
	}
	return "", "", false
}

// owner is the UID of what controls a pod for the model; empty where that does not show.
func (k *controllers) owner(w *workload, p *corev1.Pod) types.UID {
	ref := metav1.GetControllerOfNoCopy(p)
	switch {
	case k.state.Deployment(w.run.root) == nil:
		return w.run.root
	case k.of[ref.UID] == w:
		return ref.UID
	case w.run.sets[ref.Name] == "":
		w.run.sets[ref.Name] = k.counterpart(w, ref.Name)
	}
	return w.run.sets[ref.Name]
}

// counterpart is the ReplicaSet that the Deployment has here of the template that a recorded one has, whatever its name is.
func (k *controllers) counterpart(w *workload, name string) types.UID {
	i := slices.IndexFunc(w.sets, func(rs *appsv1.ReplicaSet) bool { return rs.Name == name })
	if i < 0 || !hasTemplate(&w.sets[i].Spec.Template) {
		return ""
	}
	recorded := w.sets[i].DeepCopy()
	appsdefaults.SetObjectDefaults_ReplicaSet(recorded)
	for _, rs := range slices.Backward(k.state.ReplicaSets(w.run.root)) {
		if deploymentutil.EqualIgnoreHash(&rs.Spec.Template, &recorded.Spec.Template) {
			return rs.UID
		}
	}
	return ""
}

// view is a pod as the model knows it.
func (k *controllers) view(w *workload, p *corev1.Pod) *corev1.Pod {
	v := podlife.Copied(p)
	ref := metav1.GetControllerOfNoCopy(p)
	if owner := k.owner(w, p); owner != ref.UID {
		own := *ref
		own.UID = owner
		v.OwnerReferences = []metav1.OwnerReference{own}
	}
	if w.ref.Kind == statefulSet && p.Labels[appsv1.StatefulSetRevisionLabel] == "" {
		v.Labels = maps.Clone(p.Labels)
		metav1.SetMetaDataLabel(&v.ObjectMeta, appsv1.StatefulSetRevisionLabel, w.run.label)
	}
	if w.ref.Kind == jobKind {
		k.tracked(w, v)
	}
	return v
}

// revision says which pods of a workload are alike: those of one ReplicaSet, or of one revision of a StatefulSet. The pod is one as the model
// knows it.
func revision(w *workload, p *corev1.Pod) string {
	if w.ref.Kind == statefulSet {
		return p.Labels[appsv1.StatefulSetRevisionLabel]
	}
	return string(podlife.ControllerUID(p))
}

// replica is the pod behind one that a controller made: one that was evicted or recorded; else one like the last of its revision, with the
// requests of the template where that was recorded; else one of the template. evicted: it comes back.
func (c *Cluster) replica(w *workload, made *corev1.Pod, now time.Time) (p *corev1.Pod, evicted bool, err error) {
	g := c.controllers.given[made.UID]
	delete(c.controllers.given, made.UID)
	like := w.run.like[revision(w, made)]
	switch {
	case g.pod != nil && w.sameRevision(g.pod, made):
		p = podlife.Newborn(c.template(g.pod), now)
	case like != nil:
		p = alike(c.template(like), made, now)
		if w.run.template {
			requests(p, made)
		}
	case w.run.template:
		p = podlife.Copied(made)
		p.Finalizers, p.GenerateName = nil, ""
		p.CreationTimestamp = metav1.NewTime(now)
	default:
		return nil, false, fmt.Errorf("%s is to have another pod, but neither a pod of it nor its template was recorded to make one like it", w.ref)
	}
	p.Name, p.UID = made.Name, made.UID
	p.Labels = maps.Clone(p.Labels)
	for _, l := range []string{appsv1.DefaultDeploymentUniqueLabelKey, appsv1.StatefulSetRevisionLabel, appsv1.StatefulSetPodNameLabel, appsv1.PodIndexLabel} {
		if value, has := made.Labels[l]; has && (!w.run.alone || p.Labels[l] != "") {
			metav1.SetMetaDataLabel(&p.ObjectMeta, l, value)
		}
	}
	indexed(p, made)
	if !w.run.alone {
		p.OwnerReferences = made.OwnerReferences
	}
	return p, g.evicted, nil
}

// sameRevision says whether a pod that was here or recorded is of the revision that is made now. Of a StatefulSet's revision that only the
// recorded cluster knows it is the newest, as the one that is made.
func (w *workload) sameRevision(p, made *corev1.Pod) bool {
	if w.ref.Kind != statefulSet || w.run.alone {
		return true
	}
	label := cmp.Or(p.Labels[appsv1.StatefulSetRevisionLabel], w.run.label)
	return label == made.Labels[appsv1.StatefulSetRevisionLabel] || w.run.like[label] == nil
}

// alike is another pod like one that was here.
func alike(like, made *corev1.Pod, now time.Time) *corev1.Pod {
	p := podlife.Newborn(like, now).DeepCopy()
	delete(p.Annotations, podlife.WhenDoneAnnotation)
	if metav1.GetControllerOfNoCopy(like).Kind != jobKind { // whose pods are to end
		delete(p.Annotations, podlife.RunForAnnotation) // of that one pod's life
	}
	if made.Labels[appsv1.StatefulSetPodNameLabel] == "" {
		return p
	}
	p.Spec.Hostname = made.Name
	for i := range p.Spec.Volumes {
		if claim := p.Spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			if template, ok := strings.CutSuffix(claim.ClaimName, "-"+like.Name); ok {
				claim.ClaimName = template + "-" + made.Name
			}
		}
	}
	return p
}

// requests gives the containers of a pod what its template says, where it says something: admission may have changed those of the other pod.
func requests(p, made *corev1.Pod) {
	for _, lists := range [][2][]corev1.Container{{p.Spec.Containers, made.Spec.Containers}, {p.Spec.InitContainers, made.Spec.InitContainers}} {
		for i := range lists[0] {
			for _, own := range lists[1] {
				if own.Name == lists[0][i].Name && len(own.Resources.Requests)+len(own.Resources.Limits) > 0 {
					lists[0][i].Resources = *own.Resources.DeepCopy()
				}
			}
		}
	}
}

// ordinalOf is the number of a pod of a StatefulSet.
func ordinalOf(set, name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, set+"-")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 0
}
