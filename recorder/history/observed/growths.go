package observed

import (
	"regexp"
	"strconv"

	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history"
)

// Growth is one growth of a node group, as an event of a cluster-autoscaler states it.
type Growth struct {
	Event     history.Event
	NodeGroup string
	From, To  int
}

var (
	// triggered is what it writes on each pod that needs the nodes: "pod triggered scale-up: [{ng 1->2 (max: 5)}]".
	triggered = regexp.MustCompile(`\{(\S+) (\d+)->(\d+) \(max: \d+\)\}`)
	// sized is what it writes on its status ConfigMap, after the fact.
	sized = regexp.MustCompile(`^Scale-up: group (\S+) size set to (\d+) instead of (\d+) \(max: \d+\)$`)
)

// MarkedForRemoval is what it writes on a node, with the reason ScaleDown, when it begins to remove it.
const MarkedForRemoval = "marked the node as toBeDeleted/unschedulable"

// scalingReasons are the reasons of events that say what an autoscaler did to sizes.
var scalingReasons = []string{"TriggeredScaleUp", "ScaledUpGroup", "ScaleDown"}

// Growths are the growths of groups that an event states: several if one scale-up takes several groups, none for most events.
func Growths(e history.Event) []Growth {
	var out []Growth
	add := func(group, from, to string) {
		a, errA := strconv.Atoi(from)
		b, errB := strconv.Atoi(to)
		if errA == nil && errB == nil && max(a, b) <= v1alpha1.MaxNodes { // else more than a size is
			out = append(out, Growth{Event: e, NodeGroup: group, From: a, To: b})
		}
	}
	switch e.Reason {
	case "TriggeredScaleUp":
		for _, m := range triggered.FindAllStringSubmatch(e.Message, -1) {
			add(m[1], m[2], m[3])
		}
	case "ScaledUpGroup":
		if m := sized.FindStringSubmatch(e.Message); m != nil {
			add(m[1], m[3], m[2])
		}
	}
	return out
}
