package redact

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// The two ConfigMaps a history holds.
const (
	priorityMap   = "cluster-autoscaler-priority-expander"
	prioritiesKey = "priorities"
)

func (r *rewriter) configMap(c *corev1.ConfigMap) {
	for _, k := range slices.Sorted(maps.Keys(c.Data)) {
		switch {
		case c.Name == priorityMap && k == prioritiesKey:
			c.Data[k] = r.priorities(c.Data[k])
		case c.Name == priorityMap:
			delete(c.Data, k)
		default:
			c.Data[k] = r.status(c.Data[k])
		}
	}
	c.BinaryData = nil
}

// priorities turns expressions over node group names into lists of the names they match in this history: an expression
// is a text of the house. What matches nothing becomes an expression that matches nothing.
func (r *rewriter) priorities(text string) string {
	if r.collecting || text == "" {
		return text
	}
	now := "not-yaml: [" // as unreadable as the original
	var raw map[int][]string
	if err := yaml.Unmarshal([]byte(text), &raw); err == nil {
		var b strings.Builder
		for _, priority := range slices.Sorted(maps.Keys(raw)) {
			fmt.Fprintf(&b, "%d:\n", priority)
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

// statusName is the line that names a node group in the status ConfigMap, in its text and its YAML form.
var statusName = regexp.MustCompile(`^(\s*(?:- )?[nN]ame:\s*)(\S+)(\s*)$`)

// statusMessage is the line with a provider's words.
var statusMessage = regexp.MustCompile(`^(\s*(?:- )?(?:errorMessage|message):\s*)(.*)$`)

func (r *rewriter) status(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if m := statusName.FindStringSubmatch(l); m != nil {
			lines[i] = m[1] + r.name("node group", m[2]) + m[3]
		} else if m := statusMessage.FindStringSubmatch(l); m != nil {
			lines[i] = m[1] + r.text(m[2])
		} else {
			lines[i] = token.ReplaceAllStringFunc(l, r.word)
		}
	}
	return strings.Join(lines, "\n")
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
		if !ok {
			return w, strings.TrimLeft(name, "-")
		}
		return wrap(name + "=" + r.flagValue(strings.TrimLeft(name, "-"), value)), ""
	case flag != "":
		return wrap(r.flagValue(flag, core)), ""
	case path.Base(core) == "cluster-autoscaler":
		return wrap(r.name("path", core)), ""
	}
	return wrap(r.name("argument", core)), ""
}

// openFlags are the flags whose values are words of upstream.
var openFlags = words(`
	cloud-provider expander estimator feature-gates logging-format log-format vmodule stderrthreshold profiling
	allowed-scheduler-names bypassed-scheduler-names`)

// keyFlags are the flags whose values are keys of labels and taints.
var keyFlags = words(`balancing-ignore-label balancing-label ignore-taint startup-taint status-taint
	startup-taint-prefix status-taint-prefix ignore-daemonsets-label`)

// flagAmount are values without names: numbers, ranges, durations, yes or no.
var flagAmount = regexp.MustCompile(`^(true|false|-?\d+(\.\d+)?(:-?\d+)?|((\d+(\.\d+)?)(h|m|s|ms))+)$`)

// flagParts are what separates names within a value.
var flagParts = regexp.MustCompile(`[^:;=,&|]+`)

// discovery are the words of --node-group-auto-discovery.
var discovery = words(`asg mig label clusterapi tag namePrefix min max clusterName namespace openstack k8s.io/cluster-autoscaler/enabled`)

func (r *rewriter) flagValue(name, v string) string {
	switch {
	case v == "", flagAmount.MatchString(v):
		return v
	case name == "nodes":
		if parts := strings.SplitN(v, ":", 3); len(parts) == 3 {
			return parts[0] + ":" + parts[1] + ":" + r.name("node group", parts[2])
		}
	case strings.HasSuffix(name, "scheduler-names"):
		return flagParts.ReplaceAllStringFunc(v, func(s string) string { return r.name("scheduler", s) })
	case openFlags[name]:
		return v
	case keyFlags[name]:
		return r.labelKey(v)
	case name == "gpu-total":
		if kind, rest, ok := strings.Cut(v, ":"); ok {
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
