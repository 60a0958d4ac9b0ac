package kvcl

import "strings"

// RBACFlags are Options.APIServerFlags of an API server that says who may what, for tests of what an account is allowed:
// a virtual cluster allows everything. They serve the APIs a recorder watches and those that roles are written with.
func RBACFlags() map[string]string {
	return map[string]string{
		"authorization-mode": "RBAC",
		"runtime-config": strings.Join([]string{
			"api/all=false", "api/v1=true", "apiregistration.k8s.io/v1=true", "apps/v1=true", "autoscaling/v2=true", "batch/v1=true", "policy/v1=true",
			"scheduling.k8s.io/v1=true", "storage.k8s.io/v1=true", "events.k8s.io/v1=true", "coordination.k8s.io/v1=true",
			"node.k8s.io/v1=true", "networking.k8s.io/v1=true", "apiextensions.k8s.io/v1=true", "rbac.authorization.k8s.io/v1=true",
			"authorization.k8s.io/v1=true", "admissionregistration.k8s.io/v1=true",
		}, ","),
	}
}
