package fit

import fwk "k8s.io/kube-scheduler/framework"

// nodeList is a list of nodes made when it is asked for, and kept until a change concerns it.
type nodeList struct {
	nodes []fwk.NodeInfo
	good  bool
}

func (l *nodeList) get(all []fwk.NodeInfo, in func(fwk.NodeInfo) bool) []fwk.NodeInfo {
	if !l.good {
		// A new slice: a plugin may hold the old one.
		l.nodes, l.good = nil, true
		for _, n := range all {
			if in(n) {
				l.nodes = append(l.nodes, n)
			}
		}
	}
	return l.nodes
}

// changed drops the lists of nodes that a change concerns; it is called when the change is made and before it is undone.
func (s *Snapshot) changed(c *change) {
	switch {
	case c.pod != nil:
		if a := c.pod.GetPod().Spec.Affinity; a == nil || (a.PodAffinity == nil && a.PodAntiAffinity == nil) {
			return
		}
	case len(c.slot.info.PodsWithAffinity) == 0 && (c.old == nil || len(c.old.info.PodsWithAffinity) == 0):
		return
	}
	s.affine, s.antiAffine = nodeList{}, nodeList{}
}
