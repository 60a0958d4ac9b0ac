package trace

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalehist/scalehist/internal/moment"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// FaultKind says what goes wrong.
type FaultKind string

// The kinds of faults. Those of a node group hit requests for its nodes made within the fault's time; those of nodes hit
// nodes that are there.
const (
	// FaultStockOut: instances asked for answer with a creation error (class OutOfResources unless Class says else) after Delay. With a Count
	// the creation is partial: the first Count of them fail, the rest come.
	FaultStockOut FaultKind = "stock-out"
	// FaultQuota is FaultStockOut with the code of a quota that is used up.
	FaultQuota FaultKind = "quota"
	// FaultRefuse: the increase itself is refused and nothing is made.
	FaultRefuse FaultKind = "refuse"
	// FaultProviderDown: the provider's API does not answer: loops of the autoscaler end at its refresh, no group grows or
	// shrinks, and no node is deleted.
	FaultProviderDown FaultKind = "provider-down"
	// FaultSlow: nodes join Delay later than usual.
	FaultSlow FaultKind = "slow"
	// FaultNeverRegister: instances come up, their nodes never join.
	FaultNeverRegister FaultKind = "never-register"
	// FaultNotReady: nodes lose their kubelet from From to To: condition Ready is Unknown, the node lifecycle's taints are
	// on, and pods go as their tolerations say, after five minutes if they have none.
	FaultNotReady FaultKind = "not-ready"
	// FaultSpotReclaim: at From the cloud takes nodes away with the pods on them. The target size stays, so the group asks
	// for replacements at once.
	FaultSpotReclaim FaultKind = "spot-reclaim"
	// FaultMetricsDown and those that follow: autoscalers of workloads ask for metrics, of the name Metric or any, and nobody answers; answers
	// take Delay; they are those of when the fault began; have no series; are not a number; are Value.
	FaultMetricsDown  FaultKind = "metrics-down"
	FaultMetricsSlow  FaultKind = "metrics-slow"
	FaultMetricsStale FaultKind = "metrics-stale"
	FaultMetricsEmpty FaultKind = "metrics-empty"
	FaultMetricsNaN   FaultKind = "metrics-nan"
	FaultMetricsWrong FaultKind = "metrics-wrong"
)

// FaultKinds lists the kinds, as a user chooses among them.
var FaultKinds = []FaultKind{
	FaultStockOut, FaultQuota, FaultRefuse, FaultProviderDown, FaultSlow, FaultNeverRegister, FaultNotReady, FaultSpotReclaim,
	FaultMetricsDown, FaultMetricsSlow, FaultMetricsStale, FaultMetricsEmpty, FaultMetricsNaN, FaultMetricsWrong,
}

// Fault is something that goes wrong in a scenario. ParseFault reads it from a line, ParseFaults from YAML.
type Fault struct {
	Kind FaultKind
	// NodeGroup is the group it hits; empty hits all groups, which the kinds of nodes do not allow.
	NodeGroup string
	// Node is the node it hits, for the kinds of nodes, instead of a group.
	Node string
	// From and To bound it: [From, To). A zero From is the start, a zero To no end; a spot reclaim has no To.
	From, To Instant
	// Count limits how many instances, calls or nodes it hits. Zero: no limit, or one node.
	Count int
	// Skip lets so many instances or calls through first; the kinds of nodes have none.
	Skip int
	// Class and Code are those of the creation error, for stock-out and quota. Empty: OutOfResources, and
	// RESOURCE_POOL_EXHAUSTED or QUOTA_EXCEEDED.
	Class cloudprovider.ErrorClass
	Code  string
	// Delay: for slow the extra time, for stock-out and quota the time to the error (zero: the provider's default).
	Delay time.Duration
	// Message is what the provider says; empty takes a stated text.
	Message string
	// Metric is the name of the metric that the kinds of metrics hit, instead of a group; empty hits all.
	Metric string
	// Value is the answer of FaultMetricsWrong.
	Value float64
}

// NodeFault is a fault of nodes, at instants of the recording.
type NodeFault struct {
	// Kind is FaultNotReady or FaultSpotReclaim.
	Kind FaultKind
	// Node is the node it hits, or NodeGroup the group and Count how many nodes of it, the oldest first.
	Node      string
	NodeGroup string
	Count     int
	// To is when the nodes are back; zero is never. A reclaim has none.
	From, To time.Time
	// Recorded says that the recording shows it.
	Recorded bool
}

// Instant is a time of the recording, or an offset from the start of the window.
type Instant struct {
	At     time.Time
	Offset time.Duration
	Set    bool
}

// Offset is an instant so long after the start of the window.
func Offset(d time.Duration) Instant { return Instant{Offset: d, Set: true} }

// At is an instant of the recording.
func At(t time.Time) Instant { return Instant{At: t.UTC(), Set: true} }

func (i Instant) resolve(start time.Time) time.Time {
	switch {
	case !i.Set:
		return time.Time{}
	case !i.At.IsZero():
		return i.At
	}
	return start.Add(i.Offset)
}

// String writes an instant as ParseFault reads it.
func (i Instant) String() string {
	switch {
	case !i.Set:
		return ""
	case !i.At.IsZero():
		return i.At.Format(time.RFC3339Nano)
	}
	return "+" + i.Offset.String()
}

func (k FaultKind) ofNodes() bool { return k == FaultNotReady || k == FaultSpotReclaim }

// fails: instances asked for answer with a creation error.
func (k FaultKind) fails() bool { return k == FaultStockOut || k == FaultQuota }

func (k FaultKind) delays() bool { return k == FaultSlow || k == FaultMetricsSlow || k.fails() }

// ofMetrics gives the kind that the source of metrics knows; false for others.
func (k FaultKind) ofMetrics() (load.FaultKind, bool) {
	kind, ok := strings.CutPrefix(string(k), "metrics-")
	return load.FaultKind(kind), ok
}

// check refuses what makes no sense; what there is in the cluster is not known yet.
func (f Fault) check() error {
	_, metrics := f.Kind.ofMetrics()
	switch {
	case !slices.Contains(FaultKinds, f.Kind):
		return fmt.Errorf("unknown kind %q: choose one of %s", f.Kind, kindNames())
	case !metrics && f.Metric != "":
		return fmt.Errorf("%s hits no metric", f.Kind)
	case metrics && (f.NodeGroup != "" || f.Node != "" || f.Count != 0 || f.Skip != 0 || f.Message != ""):
		return fmt.Errorf("%s takes a metric, a time, and no node group, node, count, skip or message", f.Kind)
	case f.Kind != FaultMetricsWrong && f.Value != 0:
		return fmt.Errorf("%s takes no value", f.Kind)
	case math.IsNaN(f.Value) || math.IsInf(f.Value, 0):
		return fmt.Errorf("value %v is no number: there is %s", f.Value, FaultMetricsNaN)
	case f.Kind.ofNodes() && (f.NodeGroup == "") == (f.Node == ""):
		return fmt.Errorf("%s needs a node group or a node", f.Kind)
	case !f.Kind.ofNodes() && f.Node != "":
		return fmt.Errorf("%s hits node groups, not a node", f.Kind)
	case f.Kind == FaultProviderDown && f.NodeGroup != "":
		return fmt.Errorf("%s hits all node groups: leave out %s", f.Kind, f.NodeGroup)
	case f.Kind == FaultSpotReclaim && f.To.Set:
		return fmt.Errorf("%s happens at one instant: leave out its end", f.Kind)
	case f.Kind.ofNodes() && !f.From.Set:
		return fmt.Errorf("%s needs an instant", f.Kind)
	case f.Count < 0 || f.Delay < 0 || f.Skip < 0:
		return errors.New("count, skip and delay must not be negative")
	case f.Kind.ofNodes() && f.Skip > 0:
		return fmt.Errorf("%s takes no skip", f.Kind)
	case !f.Kind.fails() && (f.Class != "" || f.Code != ""):
		return fmt.Errorf("%s takes no class and no code: they are for stock-out and quota", f.Kind)
	case f.Class != "" && f.Class != cloudprovider.ErrorOutOfResources && f.Class != cloudprovider.ErrorOther:
		return fmt.Errorf("unknown class %q: choose OutOfResources or Other", f.Class)
	case strings.ContainsAny(f.Code, " ,;"):
		return fmt.Errorf("code %q is not one word", f.Code)
	case f.Node != "" && f.Count > 1:
		return errors.New("count is for node groups: one node is one")
	case (f.Kind == FaultSlow || f.Kind == FaultMetricsSlow) && f.Delay == 0:
		return fmt.Errorf("%s needs a delay", f.Kind)
	case !f.Kind.delays() && f.Delay != 0:
		return fmt.Errorf("%s takes no delay", f.Kind)
	case f.Kind.ofNodes() && f.Message != "":
		return fmt.Errorf("%s takes no message", f.Kind)
	}
	return nil
}

func kindNames() string {
	var names []string
	for _, k := range FaultKinds {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// AddFault makes the fault one of the provider or one of nodes, at instants of the recording.
func (in *Input) AddFault(f Fault) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.NodeGroup != "" {
		if _, err := in.Group(f.NodeGroup); err != nil {
			return err
		}
	}
	from, to := f.From.resolve(in.Start), f.To.resolve(in.Start)
	if !from.IsZero() && !to.IsZero() && !from.Before(to) {
		return fmt.Errorf("from %s is not before to %s", moment.Stamp(from), moment.Stamp(to))
	}
	if kind, ok := f.Kind.ofMetrics(); ok {
		in.MetricFaults = append(in.MetricFaults, load.Fault{Kind: kind, Metric: f.Metric, From: from, To: to, Delay: f.Delay, Value: f.Value})
		return nil
	}
	if f.Kind.ofNodes() {
		in.NodeFaults = append(in.NodeFaults, NodeFault{Kind: f.Kind, NodeGroup: f.NodeGroup, Node: f.Node, Count: max(1, f.Count), From: from, To: to})
		return nil
	}
	p := cloudprovider.Fault{Group: f.NodeGroup, From: from, To: to, Delay: f.Delay, Skip: f.Skip, Count: f.Count, Class: f.Class, Code: f.Code, Message: f.Message}
	switch f.Kind {
	case FaultQuota:
		p.Kind = cloudprovider.FaultStockOut
		p.Code, p.Message = cmp.Or(p.Code, cloudprovider.CodeQuota), cmp.Or(p.Message, "quota exceeded")
	case FaultProviderDown:
		p.Kind = cloudprovider.FaultDown
	case FaultStockOut, FaultRefuse, FaultSlow, FaultNeverRegister:
		p.Kind = cloudprovider.FaultKind(f.Kind)
	}
	in.Faults = append(in.Faults, p)
	return nil
}

// String writes a fault as ParseFault reads it.
func (f Fault) String() string {
	out := string(f.Kind)
	switch {
	case f.Node != "":
		out += ":node/" + f.Node
	case f.NodeGroup != "":
		out += ":" + f.NodeGroup
	case f.Metric != "":
		out += ":" + f.Metric
	}
	switch {
	case f.Kind == FaultSpotReclaim:
		out += "@" + f.From.String()
	case f.From.Set || f.To.Set:
		out += "@" + f.From.String() + ".." + f.To.String()
	}
	if f.Skip > 0 {
		out += fmt.Sprintf(",skip=%d", f.Skip)
	}
	if f.Count > 0 {
		out += fmt.Sprintf(",count=%d", f.Count)
	}
	if f.Delay > 0 {
		out += ",delay=" + f.Delay.String()
	}
	if f.Class != "" {
		out += ",class=" + string(f.Class)
	}
	if f.Code != "" {
		out += ",code=" + f.Code
	}
	if f.Value != 0 {
		out += ",value=" + strconv.FormatFloat(f.Value, 'g', -1, 64)
	}
	if f.Message != "" {
		out += ",message=" + f.Message
	}
	return out
}
