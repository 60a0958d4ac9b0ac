package virtualca

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// ignoredLabels never make two groups different when balancing.
var ignoredLabels = map[string]bool{
	corev1.LabelHostname: true, corev1.LabelTopologyZone: true, corev1.LabelTopologyRegion: true,
	corev1.LabelFailureDomainBetaZone: true, corev1.LabelFailureDomainBetaRegion: true,
	"beta.kubernetes.io/fluentd-ds-ready": true, "kops.k8s.io/instancegroup": true,
}

// ignoredByProvider are the labels that do so for one provider besides (processors/nodegroupset/{aws,azure,gce}_nodegroups.go).
var ignoredByProvider = map[string][]string{
	"aws": {"alpha.eksctl.io/instance-id", "alpha.eksctl.io/nodegroup-name", "eks.amazonaws.com/nodegroup", "k8s.amazonaws.com/eniConfig", "lifecycle",
		"topology.ebs.csi.aws.com/zone"},
	"azure": {azurePoolLabel, azureOldPoolLabel, "topology.disk.csi.azure.com/zone", "aksEngineVersion", "creationSource", "poolName",
		"kubernetes.azure.com/node-image-version", "kubernetes.azure.com/consolidated-additional-properties"},
	"gce": {"topology.gke.io/zone"},
}

// The labels of an AKS node pool, of today and before.
const (
	azurePoolLabel    = "kubernetes.azure.com/agentpool"
	azureOldPoolLabel = "agentpool"
)

// samePool: on Azure nodes of one pool are alike whatever else differs.
func (s *Settings) samePool(a, b map[string]string) bool {
	for _, k := range []string{azurePoolLabel, azureOldPoolLabel} {
		if s.CloudProvider == "azure" && a[k] != "" && a[k] == b[k] {
			return true
		}
	}
	return false
}

// similarGroups lists the groups that new nodes of a group may be shared with: alike by template, safe to scale, and
// able to take all pod groups this one can take.
func (l *loop) similarGroups(group string, schedulable map[string][]*podGroup) []string {
	if !l.a.settings.BalanceSimilarNodeGroups || l.zeroOrMax(group) || len(schedulable[group]) == 0 {
		return nil
	}
	var out []string
	for _, g := range l.groups {
		other := l.template(g.Name)
		if g.Name == group || other == nil || !l.a.settings.similar(l.template(group), other) {
			continue
		}
		if !l.a.state.healthy(g.Name) || l.a.state.backoff.Active(g.Name, l.now) {
			continue
		}
		if theirs, ok := schedulable[g.Name]; ok && containsAll(theirs, schedulable[group]) {
			out = append(out, g.Name)
		}
	}
	return out
}

func containsAll(have, want []*podGroup) bool {
	in := make(map[*podGroup]bool, len(have))
	for _, g := range have {
		in[g] = true
	}
	for _, g := range want {
		if !in[g] {
			return false
		}
	}
	return true
}

// similar compares two templates (processors/nodegroupset/compare_nodegroups.go).
func (s *Settings) similar(a, b *template) bool {
	if len(s.BalancingLabels) > 0 {
		for _, k := range s.BalancingLabels {
			x, okX := a.node.Labels[k]
			y, okY := b.node.Labels[k]
			if !okX || !okY || x != y {
				return false
			}
		}
		return true
	}
	if s.samePool(a.node.Labels, b.node.Labels) {
		return true
	}
	ca, cb := a.node.Status.Capacity, b.node.Status.Capacity
	if len(ca) != len(cb) {
		return false
	}
	for r, x := range ca {
		y, ok := cb[r]
		if !ok {
			return false
		}
		if r == corev1.ResourceMemory {
			if !within(x, y, s.MemoryDifferenceRatio) {
				return false
			}
		} else if x.Cmp(y) != 0 {
			return false
		}
	}
	return allWithin(a.node.Status.Allocatable, b.node.Status.Allocatable, s.AllocDifferenceRatio) &&
		allWithin(a.free(), b.free(), s.FreeDifferenceRatio) && s.sameLabels(a.node.Labels, b.node.Labels)
}

// free is what the pods of a fresh node leave.
func (t *template) free() corev1.ResourceList {
	out := t.node.Status.Allocatable.DeepCopy()
	for _, p := range t.pods {
		for r, q := range resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}) {
			if have, ok := out[r]; ok {
				have.Sub(q)
				out[r] = have
			}
		}
	}
	return out
}

func allWithin(a, b corev1.ResourceList, ratio float64) bool {
	if len(a) != len(b) {
		return false
	}
	for r, x := range a {
		y, ok := b[r]
		if !ok || !within(x, y, ratio) {
			return false
		}
	}
	return true
}

// within: the difference is at most the ratio of the larger.
func within(x, y resource.Quantity, ratio float64) bool {
	large, small := float64(x.MilliValue()), float64(y.MilliValue())
	if large < small {
		large, small = small, large
	}
	return large*ratio >= large-small
}

func (s *Settings) sameLabels(a, b map[string]string) bool {
	ignored := func(k string) bool {
		return ignoredLabels[k] || slices.Contains(s.BalancingIgnoreLabels, k) || slices.Contains(ignoredByProvider[s.CloudProvider], k)
	}
	count := func(m map[string]string) int {
		n := 0
		for k := range m {
			if !ignored(k) {
				n++
			}
		}
		return n
	}
	if count(a) != count(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ignored(k) && (!ok || v != w) {
			return false
		}
	}
	return true
}
