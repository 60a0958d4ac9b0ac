package crosscheck

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
)

func intstrPort(g *gen) intstr.IntOrString {
	return pick(g, intstr.FromString("http"), intstr.FromInt32(8000))
}

// updatePod updates a pod: half of the time as it was given last, as recordings do, else as the control plane shows it.
func (g *gen) updatePod() Change {
	p, ok := g.some("Pod").(*corev1.Pod)
	if !ok {
		return g.addPod()
	}
	f := podUpdates[g.n(len(podUpdates))]
	g.reach("pod update: " + f.name)
	do := f.draw(g)
	if g.in(2) {
		g.reach("pod update: as shown")
		return edited(p, f.name, func(obj scalehist.Object) { do(obj.(*corev1.Pod)) })
	}
	p = p.DeepCopy()
	do(p)
	return g.updated(p)
}

// podUpdate draws an update, to be done later to a pod not known yet.
type podUpdate struct {
	name string
	draw func(g *gen) func(*corev1.Pod)
}

func always(do func(*corev1.Pod)) func(*gen) func(*corev1.Pod) {
	return func(*gen) func(*corev1.Pod) { return do }
}

var podUpdates = []podUpdate{
	{"nothing", always(func(*corev1.Pod) {})},
	{"label", func(g *gen) func(*corev1.Pod) {
		key, value := pick(g, "tier", "app", "v"), pick(g, "front", "web", "2")
		return func(p *corev1.Pod) { metav1.SetMetaDataLabel(&p.ObjectMeta, key, value) }
	}},
	{"no labels", always(func(p *corev1.Pod) { p.Labels = nil })},
	{"annotation", func(g *gen) func(*corev1.Pod) {
		value := fmt.Sprint(g.n(3))
		return func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, "example.com/a", value) }
	}},
	{"running", func(g *gen) func(*corev1.Pod) {
		var like corev1.Pod
		run(g, &like)
		return func(p *corev1.Pod) { like.Status.DeepCopyInto(&p.Status) }
	}},
	{"running on a node", func(g *gen) func(*corev1.Pod) {
		var like corev1.Pod
		run(g, &like)
		node := g.nodeName()
		return func(p *corev1.Pod) {
			if p.Spec.NodeName == "" {
				p.Spec.NodeName = node
			}
			like.Status.DeepCopyInto(&p.Status)
		}
	}},
	{"bound", func(g *gen) func(*corev1.Pod) {
		node := g.nodeName()
		return func(p *corev1.Pod) {
			if p.Spec.NodeName == "" {
				p.Spec.NodeName = node
			}
		}
	}},
	{"succeeded", always(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })},
	{"failed", always(func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "low on resource"
	})},
	{"conditions", func(g *gen) func(*corev1.Pod) {
		status, at := pick(g, corev1.ConditionTrue, corev1.ConditionFalse), g.past()
		return func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodRunning
			for i := range p.Status.Conditions {
				if p.Status.Conditions[i].Type == corev1.PodReady {
					p.Status.Conditions[i].Status, p.Status.Conditions[i].LastTransitionTime = status, at
					return
				}
			}
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: status, LastTransitionTime: at})
		}
	}},
	{"nominated", func(g *gen) func(*corev1.Pod) {
		node := g.nodeName()
		return func(p *corev1.Pod) { p.Status.NominatedNodeName = node }
	}},
	{"resize", func(g *gen) func(*corev1.Pod) {
		cpu := resource.MustParse(pick(g, "200m", "1", "3"))
		return func(p *corev1.Pod) {
			r := &p.Spec.Containers[0].Resources
			r.Requests = r.Requests.DeepCopy()
			if r.Requests == nil {
				r.Requests = corev1.ResourceList{}
			}
			r.Requests[corev1.ResourceCPU] = cpu
		}
	}},
	{"resize limits", func(g *gen) func(*corev1.Pod) {
		list := corev1.ResourceList{"cpu": resource.MustParse(pick(g, "200m", "1")), "memory": resource.MustParse("256Mi")}
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: list.DeepCopy(), Limits: list.DeepCopy()}
		}
	}},
	{"gates lifted", always(func(p *corev1.Pod) { p.Spec.SchedulingGates = nil })},
	{"one gate lifted", always(func(p *corev1.Pod) {
		if len(p.Spec.SchedulingGates) > 0 {
			p.Spec.SchedulingGates = p.Spec.SchedulingGates[1:]
		}
	})},
	{"gated pod gets a node selector", always(func(p *corev1.Pod) {
		if len(p.Spec.SchedulingGates) > 0 {
			p.Spec.NodeSelector = map[string]string{labelDisk: "ssd"}
		}
	})},
	{"going", func(g *gen) func(*corev1.Pod) {
		at := g.past()
		return func(p *corev1.Pod) { p.DeletionTimestamp = &at }
	}},
	{"toleration", always(func(p *corev1.Pod) {
		p.Spec.Tolerations = append(append([]corev1.Toleration{}, p.Spec.Tolerations...), corev1.Toleration{Key: taintKey, Operator: corev1.TolerationOpExists})
	})},
	{"image", always(func(p *corev1.Pod) { p.Spec.Containers[0].Image = "image:2" })},
	{"deadline", always(func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](30) })},
	{"owner", func(g *gen) func(*corev1.Pod) {
		ref := g.owner("ReplicaSet", "apps/v1")
		return func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{ref} }
	}},
	{"other UID", always(func(p *corev1.Pod) { p.UID = "other" })},
}
