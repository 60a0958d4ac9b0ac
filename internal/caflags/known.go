package caflags

import (
	_ "embed"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// program is every flag of cluster-autoscaler 1.36.1: name, type, default. A test of package virtualca holds it against
// the program.
//
//go:embed flags-1.36.1.tsv
var program string

// known are the types of all flags by name.
var known = func() map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(program) {
		if name, rest, ok := strings.Cut(line, "\t"); ok {
			out[name], _, _ = strings.Cut(rest, "\t")
		}
	}
	for _, name := range gone {
		out[name] = typeSetting
	}
	return out
}()

// typeSetting is a switch, a number or a duration: the type of a flag of which nobody knows more.
const typeSetting = "setting"

// gone are flags of earlier versions.
var gone = []string{"filter-out-schedulable-pods-uses-packing", "gce-expander-ephemeral-storage-support", "ignore-scheduler-processing",
	"kube-client-qps-for-provisioning-requests", "max-autoprovisioned-node-group-count", "max-empty-bulk-delete", "node-autoprovisioning-enabled",
	"node-deletion-in-batch-enabled", "parallel-drain", "verify-unschedulable-pods"}

// Known says whether a cluster-autoscaler has or had a flag of this name.
func Known(name string) bool { return known[name] != "" }

// texts are the flags whose value is text that somebody reads later: it decides what scales, or which node groups there
// are. The text of others (addresses, files, credentials of providers) is not kept.
var texts = func() map[string]bool {
	out := map[string]bool{}
	for _, name := range []string{"allowed-scheduler-names", "balancing-ignore-label", "balancing-label", "bypassed-scheduler-names",
		"check-capacity-processor-instance", "cloud-provider", "cluster-name", "cores-total", "drain-priority-config", "estimator", "expander",
		"feature-gates", "gpu-total", "ignore-taint", "memory-total", "namespace", "node-group-auto-discovery", "nodes", "startup-taint",
		"startup-taint-prefix", "status-config-map-name", "status-taint"} {
		out[name] = true
	}
	return out
}()

// plainText is what such text is made of: names, labels, globs, URLs of instance groups.
var plainText = regexp.MustCompile(`^[\w.:/=,*+@-]*$`)

// plainSize is a number with or without a unit.
var plainSize = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?([KMGT]i?)?$`)

// variable is the name of an environment variable, whose value is not recorded.
var variable = regexp.MustCompile(`^\$\([A-Za-z_][A-Za-z0-9_]*\)$`)

// fits says whether a value is of a type whose values cannot be a secret.
func fits(kind, value string) bool {
	parses := func(err error) bool { return err == nil }
	switch kind {
	case "bool":
		_, err := strconv.ParseBool(value)
		return parses(err)
	case "int", "uint", "Level":
		_, err := strconv.ParseInt(value, 10, 64)
		return parses(err)
	case "float":
		_, err := strconv.ParseFloat(value, 64)
		return parses(err)
	case "duration":
		_, err := time.ParseDuration(value)
		return parses(err)
	case "quantity":
		return plainSize.MatchString(value)
	case typeSetting:
		return fits("bool", value) || fits("float", value) || fits("duration", value)
	}
	return false
}
