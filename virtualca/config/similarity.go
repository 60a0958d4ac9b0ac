package config

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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

// Similar says whether fresh nodes of two groups are alike (processors/nodegroupset/compare_nodegroups.go); freeA and
// freeB are what the pods that come with them leave.
func (s *Settings) Similar(a, b *corev1.Node, freeA, freeB corev1.ResourceList) bool {
	if len(s.BalancingLabels) > 0 {
		for _, k := range s.BalancingLabels {
			x, okX := a.Labels[k]
			y, okY := b.Labels[k]
			if !okX || !okY || x != y {
				return false
			}
		}
		return true
	}
	if s.samePool(a.Labels, b.Labels) {
		return true
	}
	ca, cb := a.Status.Capacity, b.Status.Capacity
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
	return allWithin(a.Status.Allocatable, b.Status.Allocatable, s.AllocDifferenceRatio) &&
		allWithin(freeA, freeB, s.FreeDifferenceRatio) && s.sameLabels(a.Labels, b.Labels)
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
