package config

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist/simulator/nodetemplate"
)

// Prefixes of taints that upstream knows (cluster-autoscaler, utils/taints).
const (
	startupTaintPrefix = "startup-taint.cluster-autoscaler.kubernetes.io/"
	ignoreTaintPrefix  = "ignore-taint.cluster-autoscaler.kubernetes.io/"
	statusTaintPrefix  = "status-taint.cluster-autoscaler.kubernetes.io/"
)

// StartupTaint says whether a taint is one that a node has while it starts.
func (s *Settings) StartupTaint(key string) bool {
	return slices.Contains(s.StartupTaints, key) || strings.HasPrefix(key, startupTaintPrefix) || strings.HasPrefix(key, ignoreTaintPrefix) ||
		slices.ContainsFunc(s.StartupTaintPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// statusTaint says whether a taint shows the status of a node.
func (s *Settings) statusTaint(key string) bool {
	return slices.Contains(s.StatusTaints, key) || strings.HasPrefix(key, statusTaintPrefix)
}

// SanitizeTaints leaves the taints a fresh node of the group would have.
func (s *Settings) SanitizeTaints(taints []corev1.Taint) []corev1.Taint {
	var out []corev1.Taint
	for _, t := range nodetemplate.FreshTaints(taints) {
		if s.StartupTaint(t.Key) || s.statusTaint(t.Key) {
			continue
		}
		out = append(out, t)
	}
	return out
}
