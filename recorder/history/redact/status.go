package redact

import (
	"regexp"
	"strings"
)

// status rewrites what the cluster-autoscaler writes into its status ConfigMap, line by line: its text before 1.30 and its
// YAML since. A line whose key it does not write is replaced whole.
func (r *rewriter) status(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = r.statusLine(l)
	}
	return strings.Join(lines, "\n")
}

var (
	statusForm = regexp.MustCompile(`^( *(?:- )?)([A-Za-z-]+):( *)(.*)$`)
	statusHead = regexp.MustCompile(`^Cluster-autoscaler status at ` + timePattern + `:$`)
	statusTime = regexp.MustCompile(`^"?` + timePattern + `"?$`)
	statusSize = regexp.MustCompile(`^` + countPattern + `$`)
	// statusSizes are a word and the counts behind it, in the text before 1.30.
	statusSizes = regexp.MustCompile(`^([A-Za-z]+)(?: (\(.*\)))?$`)
	statusPair  = regexp.MustCompile(`([A-Za-z]+)=` + countPattern)
)

// What follows each key.
var (
	statusTitles = words(`clusterWide nodeGroups health nodeCounts registered scaleUp scaleDown backoffInfo Cluster-wide NodeGroups candidates`)
	statusWords  = words(`Running Initializing Healthy Unhealthy NoActivity NeedActivity InProgress Backoff CandidatesPresent NoCandidates`)
	statusCounts = words(`total ready notStarted beingDeleted unready resourceUnready longUnregistered longNotStarted unregistered missing
		registered candidates cloudProviderTarget minSize maxSize count`)
	statusTimes  = words(`time lastProbeTime lastTransitionTime LastProbeTime LastTransitionTime`)
	statusStates = words(`autoscalerStatus status health Health scaleUp ScaleUp scaleDown ScaleDown`)
)

func (r *rewriter) statusLine(l string) string {
	indent := l[:len(l)-len(strings.TrimLeft(l, " "))]
	m := statusForm.FindStringSubmatch(l)
	if m == nil {
		if strings.TrimSpace(l) == "" || statusHead.MatchString(l) {
			return l
		}
		return indent + r.text(l[len(indent):])
	}
	key, value := m[2], strings.TrimRight(m[4], " ")
	keep := false
	switch {
	case key == "name" || key == "Name":
		value, keep = r.name("node group", value), true
	case key == "errorCode":
		value, keep = r.code(value), true
	case key == "errorMessage" || key == "message":
		value, keep = r.text(value), true
	case value == "" || value == "[]" || value == "{}":
		keep = statusTitles[key] || statusStates[key] || statusCounts[key] || statusTimes[key]
	case statusTimes[key]:
		keep = statusTime.MatchString(value)
	case statusCounts[key]:
		keep = statusSize.MatchString(value)
	case statusStates[key]:
		keep = statusState(value)
	}
	if !keep {
		return indent + r.text(l[len(indent):])
	}
	return m[1] + key + ":" + m[3] + value
}

// statusState says whether a value is "Healthy", or "Healthy (ready=1 (minSize=1, maxSize=2))" with known keys.
func statusState(value string) bool {
	m := statusSizes.FindStringSubmatch(value)
	if m == nil || !statusWords[m[1]] {
		return false
	}
	for _, pair := range statusPair.FindAllStringSubmatch(m[2], -1) {
		if !statusCounts[pair[1]] {
			return false
		}
	}
	return strings.Trim(statusPair.ReplaceAllString(m[2], ""), " (),") == ""
}
