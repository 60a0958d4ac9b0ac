package harness

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/virtual"
	"github.com/scalehist/scalehist/virtualca/cloudprovider"
)

// ledger writes down what happens in a replay, for the report.
type ledger struct {
	in       *Input
	provider *cloudprovider.Provider

	start, end   scalehist.ClusterSnapshot
	groupsAtZero []scalehist.NodeGroup
	engineStart  scalehist.CASettings
	changes      []scalehist.SettingsChange
	engineSeen   bool
	warnings     []string

	batches   []scalehist.Batch
	batch     scalehist.Batch
	decisions []scalehist.Decision
	loops     int
	last      scalehist.Decision

	pods     map[types.NamespacedName]*podLedger
	order    []types.NamespacedName
	nodeList []*nodeLedger
	byNode   map[string]*nodeLedger
}

// podLedger follows one demand: a pod, and itself again after an eviction.
type podLedger struct {
	entry        scalehist.DeployedPod
	batch        int // index into batches where it was fed in, -1 for the start
	waitingSince time.Time
	waited       time.Duration
	waits        bool
	gone         bool
}

// nodeLedger follows one node from joining to leaving.
type nodeLedger struct {
	name, group string
	requested   time.Time
	joined      time.Time
	gone        time.Time
	standing    bool // at the start
	object      *corev1.Node
}

func newLedger(in *Input, p *cloudprovider.Provider, o *scalehist.Objects) *ledger {
	l := &ledger{in: in, provider: p, pods: map[types.NamespacedName]*podLedger{}, byNode: map[string]*nodeLedger{}}
	l.groupsAtZero = p.Groups()
	l.start = scalehist.NewSnapshot(in.Start, o, p.Groups(), in.Settings)
	for _, n := range o.Nodes {
		group, _ := p.GroupForNode(n)
		l.addNode(&nodeLedger{name: n.Name, group: group, joined: in.Start, standing: true, object: n})
	}
	l.warnings = append(l.warnings, in.Warnings...)
	return l
}

func (l *ledger) addNode(n *nodeLedger) {
	l.nodeList = append(l.nodeList, n)
	l.byNode[n.name] = n
}

func (l *ledger) warn(text string) {
	if !slices.Contains(l.warnings, text) {
		l.warnings = append(l.warnings, text)
	}
}

func (l *ledger) settings(at time.Time, s scalehist.CASettings) {
	if !l.engineSeen {
		l.engineSeen, l.engineStart = true, s
		return
	}
	l.changes = append(l.changes, scalehist.SettingsChange{At: at, Settings: s})
}

func (l *ledger) begin(t time.Time) { l.batch = scalehist.Batch{At: t} }

// commit keeps the step if anything came in or moved.
func (l *ledger) commit(_ *scalehist.Objects, unschedulable int) {
	b := &l.batch
	b.Unschedulable = unschedulable
	slices.Sort(b.DeletedPods)
	if len(b.DeployedPods)+len(b.DeletedPods)+len(b.NodesJoined)+len(b.NodesGone)+len(b.Preempted)+b.Scheduled > 0 {
		l.batches = append(l.batches, *b)
	}
}

// fed notes the pods that a batch brought and took.
func (l *ledger) fed(changes []scalehist.Change) {
	for _, ch := range changes {
		p, ok := ch.Object.(*corev1.Pod)
		if !ok {
			continue
		}
		key := keyOf(p)
		switch ch.Op {
		case scalehist.OpAdd:
			entry := scalehist.DeployedPod{
				Namespace: p.Namespace, Name: p.Name, CreatedAt: createdAt(p, ch.At), RecordedNodeName: l.in.RecordedNodes[key],
			}
			if at, ok := l.in.Deletions[key]; ok {
				entry.DeletedAt = &at
			}
			l.pods[key] = &podLedger{entry: entry, batch: len(l.batches), waitingSince: l.batch.At, waits: true}
			l.order = append(l.order, key)
			l.batch.DeployedPods = append(l.batch.DeployedPods, entry)
		case scalehist.OpDelete:
			l.batch.DeletedPods = append(l.batch.DeletedPods, key.String())
			if known := l.pods[key]; known != nil {
				known.stopWaiting(l.batch.At)
				known.gone = true
			}
		}
	}
}

func createdAt(p *corev1.Pod, at time.Time) time.Time {
	if p.CreationTimestamp.IsZero() {
		return at.UTC()
	}
	return p.CreationTimestamp.UTC()
}

func (p *podLedger) stopWaiting(t time.Time) {
	if p.waits {
		p.waited += t.Sub(p.waitingSince)
		p.waits = false
	}
}

func (l *ledger) settled(t time.Time, st virtual.Step) {
	for _, v := range st.Victims {
		l.batch.Preempted = append(l.batch.Preempted, v.Pod.String())
	}
	for _, key := range st.Returned {
		if p := l.pods[key]; p != nil && !p.gone {
			p.waits, p.waitingSince = true, t
			p.entry.NodeName, p.entry.ScheduledAt = "", nil
		}
	}
	for _, b := range st.Bindings {
		l.batch.Scheduled++
		if p := l.pods[b.Pod]; p != nil {
			p.stopWaiting(t)
			p.entry.NodeName = b.Node
			at := t
			p.entry.ScheduledAt = &at
		}
	}
}

func (l *ledger) nodes(events []cloudprovider.Event) {
	for _, e := range events {
		switch e.Type {
		case cloudprovider.NodeJoined:
			l.batch.NodesJoined = append(l.batch.NodesJoined, e.NodeName)
			l.addNode(&nodeLedger{name: e.NodeName, group: e.Group, requested: l.requestedAt(e), joined: e.At, object: e.Node})
		case cloudprovider.NodeGone:
			l.batch.NodesGone = append(l.batch.NodesGone, e.NodeName)
			if n := l.byNode[e.NodeName]; n != nil {
				n.gone = e.At
			}
		}
	}
}

// requestedAt is when the instance behind a join was asked for.
func (l *ledger) requestedAt(e cloudprovider.Event) time.Time {
	for _, i := range l.provider.Instances(e.Group) {
		if i.NodeName == e.NodeName {
			return i.CreatedAt
		}
	}
	return e.At
}

// decided keeps a decision that mattered: one that acted, or that explains itself differently from the one before.
func (l *ledger) decided(d scalehist.Decision) {
	l.loops++
	if d.Acted() || explanation(d) != explanation(l.last) {
		l.decisions = append(l.decisions, d)
	}
	l.last = d
}

// explanation is what a reader would learn from a decision, beyond its time and number.
func explanation(d scalehist.Decision) string {
	if d.Outcome == scalehist.ScaleUpNotNeeded || d.Outcome == "" {
		return "" // a quiet loop says nothing new, the first one too
	}
	var b strings.Builder
	b.WriteString(string(d.Outcome))
	for _, p := range d.UnschedulablePods {
		b.WriteString("\x00" + p)
	}
	for _, o := range d.Options {
		b.WriteString("\x01" + o.NodeGroup + "\x00" + o.Reason)
	}
	for _, list := range [][]scalehist.GroupReason{d.Skipped, d.Rejected} {
		for _, s := range list {
			b.WriteString("\x02" + s.NodeGroup + "\x00" + s.Reason)
		}
	}
	return b.String()
}

func (l *ledger) lastSummary() string {
	if len(l.decisions) == 0 {
		return ""
	}
	return l.decisions[len(l.decisions)-1].Summary()
}

func (l *ledger) finish(end time.Time, o *scalehist.Objects) {
	for _, key := range l.order {
		l.pods[key].stopWaiting(end)
	}
	l.end = scalehist.NewSnapshot(end, o, l.provider.Groups(), l.engineStart)
}
