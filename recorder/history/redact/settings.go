package redact

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist/internal/caflags"
)

// The two ConfigMaps a history holds.
const (
	priorityMap   = "cluster-autoscaler-priority-expander"
	prioritiesKey = "priorities"
	statusKey     = "status"
)

func (r *rewriter) configMap(c *corev1.ConfigMap) {
	for _, k := range slices.Sorted(maps.Keys(c.Data)) {
		switch {
		case c.Name == priorityMap && k == prioritiesKey:
			c.Data[k] = r.priorities(c.Data[k])
		case c.Name == priorityMap:
			delete(c.Data, k) // the expander reads no other
		case k == statusKey:
			c.Data[k] = r.status(c.Data[k])
		default:
			delete(c.Data, k) // the autoscaler writes no other
		}
	}
	c.BinaryData = nil
}

// priorities turns expressions over node group names into lists of the names they match in this history: an expression
// is a text of the house. What matches nothing becomes an expression that matches nothing.
func (r *rewriter) priorities(text string) string {
	var raw map[int][]string
	err := yaml.Unmarshal([]byte(text), &raw)
	if r.collecting || text == "" {
		for priority := range raw {
			r.number(strconv.Itoa(priority))
		}
		return text
	}
	now := "not-yaml: [" // as unreadable as the original
	if err == nil {
		var b strings.Builder
		for _, priority := range slices.Sorted(maps.Keys(raw)) {
			fmt.Fprintf(&b, "%s:\n", r.number(strconv.Itoa(priority)))
			for _, e := range raw[priority] {
				fmt.Fprintf(&b, "- %q\n", r.expression(e))
			}
		}
		now = b.String()
	}
	r.mapping.Texts[now] = text
	return now
}

func (r *rewriter) expression(e string) string {
	re, err := regexp.Compile(e)
	if err != nil {
		return "(" // as invalid as the original
	}
	var names []string
	for _, g := range r.priorityGroups {
		if re.MatchString(g) {
			names = append(names, regexp.QuoteMeta(r.name("node group", g)))
		}
	}
	if len(names) == 0 {
		return "^" + redactedText + "nothing$"
	}
	return "^(?:" + strings.Join(names, "|") + ")$"
}

var (
	shellWord = regexp.MustCompile(`\S+`)
	shells    = words(`sh bash ash dash /bin/sh /bin/bash /bin/ash /bin/dash -c exec -ec`)
)

// arguments rewrites the command line of the autoscaler, the only one a history holds.
func (r *rewriter) arguments(list []string) []string {
	flag := ""
	for i, a := range list {
		list[i] = shellWord.ReplaceAllStringFunc(a, func(w string) string {
			out, next := r.argument(w, flag)
			flag = next
			return out
		})
	}
	return list
}

// argument rewrites one word; flag is the one before it that has no value yet.
func (r *rewriter) argument(w, flag string) (out, next string) {
	core := strings.Trim(w, `'"`)
	at := strings.Index(w, core)
	wrap := func(s string) string { return w[:at] + s + w[at+len(core):] }
	switch {
	case core == "" || shells[core]:
		return w, ""
	case strings.HasPrefix(core, "-") && strings.Trim(core, "-") != "" && !isInteger(core):
		name, value, ok := strings.Cut(core, "=")
		plain := strings.TrimLeft(name, "-")
		dashes := name[:len(name)-len(plain)]
		if !ok {
			return wrap(dashes + r.flagName(plain)), plain
		}
		return wrap(dashes + r.flagName(plain) + "=" + r.flagValue(plain, value)), ""
	case flag != "":
		return wrap(r.flagValue(flag, core)), ""
	case path.Base(core) == "cluster-autoscaler":
		return wrap(r.name("path", core)), ""
	}
	return wrap(r.name("argument", core)), ""
}

// flagName keeps the flags that a cluster-autoscaler has or had.
func (r *rewriter) flagName(name string) string {
	if caflags.Known(name) {
		return name
	}
	return r.name("flag", name)
}

// wordFlags are the flags whose values are words of upstream, alone or in lists.
var wordFlags = words(`cloud-provider expander estimator feature-gates logging-format log-format stderrthreshold`)

// flagWords are those words.
var flagWords = words(`
	true false alicloud aws azure baiducloud bizflycloud brightbox cherryservers civo cloudstack clusterapi coreweave datacrunch digitalocean
	equinixmetal exoscale externalgrpc gce hetzner huaweicloud ionoscloud kamatera kubemark kwok linode magnum mcm oci ovhcloud packet
	rancher scaleway slicer tencentcloud utho virtual volcengine vultr
	random most-pods least-waste least-nodes price priority grpc binpacking text json INFO WARNING ERROR FATAL
	AllAlpha AllBeta DynamicResourceAllocation ContextualLogging LoggingAlphaOptions LoggingBetaOptions`)

// keyFlags are the flags whose values are keys of labels and taints.
var keyFlags = words(`balancing-ignore-label balancing-label ignore-taint startup-taint status-taint
	startup-taint-prefix status-taint-prefix ignore-daemonsets-label`)

// flagParts are what separates names within a value.
var flagParts = regexp.MustCompile(`[^:;=,&|]+`)

// discovery are the words of --node-group-auto-discovery.
var discovery = words(`asg mig label clusterapi tag namePrefix min max clusterName namespace openstack k8s.io/cluster-autoscaler/enabled`)

// flagRange are two amounts: of nodes, cores, bytes.
var flagRange = regexp.MustCompile(`^\d{1,9}:\d{1,9}$`)

func (r *rewriter) flagValue(name, v string) string {
	switch {
	case v == "" || v == "true" || v == "false":
		return v
	case caflags.Known(name) && (isAmount(v) || flagRange.MatchString(v)):
		return v
	case name == "nodes":
		if parts := strings.SplitN(v, ":", 3); len(parts) == 3 && flagRange.MatchString(parts[0]+":"+parts[1]) {
			return parts[0] + ":" + parts[1] + ":" + r.name("node group", parts[2])
		}
	case strings.HasSuffix(name, "scheduler-names"):
		return flagParts.ReplaceAllStringFunc(v, func(s string) string { return r.name("scheduler", s) })
	case wordFlags[name]:
		return flagParts.ReplaceAllStringFunc(v, func(s string) string { return r.open("flag value", s, flagWords) })
	case keyFlags[name]:
		return r.labelKey(v)
	case name == "gpu-total":
		if kind, rest, ok := strings.Cut(v, ":"); ok && flagRange.MatchString(rest) {
			return r.resource(kind) + ":" + rest
		}
	case name == "node-group-auto-discovery":
		return flagParts.ReplaceAllStringFunc(v, func(s string) string {
			if rest, ok := strings.CutPrefix(s, "k8s.io/cluster-autoscaler/"); ok && !discovery[s] {
				return "k8s.io/cluster-autoscaler/" + r.name("discovery", rest)
			}
			return r.open("discovery", s, discovery)
		})
	}
	return flagParts.ReplaceAllStringFunc(v, func(s string) string { return r.open("flag value", s, plainValues) })
}
