package virtual

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist/harness/kvcl/podlife"
)

// pod is a live pod as the virtual parts know it.
type pod struct {
	object *corev1.Pod
	// finishAt is set once a finite pod is Running.
	finishAt time.Time
	done     bool
	// readyAt is when it is ready, restartAt when a container of it starts again; zero: no such thing is to come.
	readyAt, restartAt time.Time
	// allocated is the pod with the resources that it has while a resize of it is deferred; nil: it has what it asks for.
	allocated *corev1.Pod
	// order counts births: the plane has its pods in this order, too.
	order int64
	// node it is filed under: the one it is on, or is meant for as the pod of a DaemonSet.
	node string
	// daemon is what reconcileDaemons looks the pod of a DaemonSet up by; empty for others.
	daemon string
	// workload is what it belongs to; nil where nothing with replicas owns it.
	workload *workload
	// budgets it counts for, by index, and whether as healthy.
	budgets []int
	healthy bool
}

// A step must not cost more because the cluster is large, so what is asked of all pods is kept: who finishes next, who is
// counted by which budget, which pods and DaemonSet pods a node has. put, show, finishing and drop keep it.

// put registers a pod that is born.
func (c *Cluster) put(key types.NamespacedName, p *pod) {
	if old := c.pods[key]; old != nil {
		c.drop(key) // replaced on the spot
	}
	c.arrivals++
	p.order = c.arrivals
	c.pods[key] = p
	if p.workload = c.workloads.of(p.object); p.workload != nil {
		p.workload.pods, p.workload.last = append(p.workload.pods, p), p.object
		p.workload.coming = max(0, p.workload.coming-1)
		c.workloads.touch(p.workload)
		c.controllers.put(p.workload, p.object)
	}
	c.changed(p)
	c.file(key, p)
	c.indexDaemon(key, p)
	c.lives.finishing.set(key, p, p.finishAt)
	c.tally.count(p)
}

// show replaces the object of a pod.
func (c *Cluster) show(p *pod, object *corev1.Pod) {
	c.tally.uncount(p)
	c.workloads.touch(p.workload)
	p.object = object
	c.controllers.put(p.workload, object)
	c.changed(p)
	c.tally.count(p)
	key := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
	if placeOf(object) != p.node {
		c.unfile(key, p)
		c.file(key, p)
	}
	if p.daemon != "" {
		c.unindexDaemon(key, p)
		c.indexDaemon(key, p) // it may have a node now
	}
}

// drop forgets a pod.
func (c *Cluster) drop(key types.NamespacedName) {
	p := c.pods[key]
	if p == nil {
		return
	}
	delete(c.pods, key)
	if p.workload != nil {
		p.workload.pods = slices.DeleteFunc(p.workload.pods, func(o *pod) bool { return o == p })
		c.gone(p.object)
		c.workloads.touch(p.workload)
	}
	c.changed(p)
	c.tally.uncount(p)
	c.unfile(key, p)
	c.unindexDaemon(key, p)
}

// changed counts the changes of pods that belong to their node.
func (c *Cluster) changed(p *pod) {
	if podlife.FollowsNode(p.object) {
		c.nodePods++
	}
}

// NodePods is another number after every step in which pods that belong to their node came, went or changed.
func (c *Cluster) NodePods() int64 { return c.nodePods }

// placeOf is the node a pod is on, or is meant for as the pod of a DaemonSet; "" for others.
func placeOf(p *corev1.Pod) string {
	if p.Spec.NodeName == "" && podlife.IsDaemon(p) {
		return podlife.DaemonNode(p)
	}
	return p.Spec.NodeName
}

// file files a pod under its node.
func (c *Cluster) file(key types.NamespacedName, p *pod) {
	if p.node = placeOf(p.object); p.node == "" {
		return
	}
	if c.onNode[p.node] == nil {
		c.onNode[p.node] = map[types.NamespacedName]*pod{}
	}
	c.onNode[p.node][key] = p
}

func (c *Cluster) unfile(key types.NamespacedName, p *pod) {
	if p.node == "" {
		return
	}
	delete(c.onNode[p.node], key)
	if len(c.onNode[p.node]) == 0 {
		delete(c.onNode, p.node)
	}
}

// podsWhere lists live pods that match, in the order of their births.
func podsWhere(pods map[types.NamespacedName]*pod, match func(*corev1.Pod) bool) []types.NamespacedName {
	var out []types.NamespacedName
	for key, p := range pods {
		if match(p.object) {
			out = append(out, key)
		}
	}
	slices.SortFunc(out, func(a, b types.NamespacedName) int { return cmp.Compare(pods[a].order, pods[b].order) })
	return out
}

func (c *Cluster) indexDaemon(key types.NamespacedName, p *pod) {
	if podlife.IsDaemon(p.object) {
		p.daemon = daemonID(p.object.Namespace, metav1.GetControllerOfNoCopy(p.object).Name, podlife.DaemonNode(p.object))
		c.daemonPods[p.daemon] = append(c.daemonPods[p.daemon], key)
	}
}

func (c *Cluster) unindexDaemon(key types.NamespacedName, p *pod) {
	if p.daemon == "" {
		return
	}
	c.daemonPods[p.daemon] = slices.DeleteFunc(c.daemonPods[p.daemon], func(k types.NamespacedName) bool { return k == key })
	if len(c.daemonPods[p.daemon]) == 0 {
		delete(c.daemonPods, p.daemon)
	}
}

func daemonID(namespace, daemonSet, node string) string {
	return namespace + "/" + daemonSet + "@" + node
}
