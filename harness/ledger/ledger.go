package ledger

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
	"github.com/scalehist/scalehist/harness/moments"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// Ledger writes down what happens in a replay, for the report. The replay calls Begin with the instant of each step, then what
// happened in the order in which it did, and Commit.
type Ledger struct {
	in       *trace.Input
	provider *cloudprovider.Provider

	// Moments are the clusters that decisions were made about; what runs the autoscaler adds them.
	Moments moments.Builder

	start, end   scalehist.ClusterSnapshot
	groupsAtZero []scalehist.NodeGroup // and those that came since
	lives        map[string]*groupLife
	engineStart  scalehist.CASettings
	changes      []scalehist.SettingsChange
	engineSeen   bool
	warnings     []string

	batches   []scalehist.Batch
	batch     scalehist.Batch
	decisions []scalehist.Decision
	steps     []scalehist.SizeStep
	resizes   int                     // how many of the provider's are among steps
	remeasure bool                    // what nodes offer may have changed in this step
	deletions map[types.UID]time.Time // of pods that terminated at the start
	loops     int
	explained []byte // what the last decision explained
	// explaining is memory for the next one.
	explaining []byte
	expecting  bool // the last decision waits for more pods
	texts      texts
	amounts    amounts
	joined     []*nodeLedger // in this step, of which it is not yet known what they offer

	// pods are the live ones by name, demands all that ever were fed in or lost their node, in order.
	pods      map[types.NamespacedName]*podLedger
	demands   []*podLedger
	fedIn     [][]*podLedger // beside batches: what each fed in
	placed    [][]placement  // beside batches: who got a node in each
	placing   []placement
	feeding   []*podLedger
	nodeList  []*nodeLedger
	byNode    map[string]*nodeLedger
	gated     map[types.NamespacedName]bool // had scheduling gates when they came, and no node yet
	live      int                           // nodes that are there
	nodePods  nodePods
	workloads workloads

	// CompareUntil says where the comparison with the recording ends, nil for a replay without one; reached is how things were
	// then, nil before.
	CompareUntil func() time.Time
	reached      *Reached
	waiting      int // pods without a node after the last step

	// lastAction is the last of decisions that asked anything of the cloud provider or began to remove a node.
	lastAction *scalehist.Decision
}

// Reached is what a replay shows at the instant where the comparison with the recording ends.
type Reached struct {
	Pending scalehist.PendingStats
	// Left counts the pods without a node.
	Left int
}

// nodeLedger follows one node from joining to leaving.
type nodeLedger struct {
	name, group string
	requested   time.Time
	joined      time.Time
	gone        time.Time
	standing    bool // at the start
	object      *corev1.Node
	offers      map[string]string // when it joined
	offersNow   map[string]string
	measured    bool // offersNow is known
}

// New begins a ledger with the cluster of the start.
func New(in *trace.Input, p *cloudprovider.Provider, o *scalehist.Objects) *Ledger {
	l := &Ledger{in: in, provider: p, pods: map[types.NamespacedName]*podLedger{}, byNode: map[string]*nodeLedger{}, gated: map[types.NamespacedName]bool{}}
	l.groupsAtZero = p.Groups()
	l.start = l.snapshot(in.Start, o, in.Settings)
	for _, n := range o.Nodes {
		group, _ := p.GroupForNode(n)
		l.addNode(&nodeLedger{name: n.Name, group: group, joined: in.Start, standing: true, object: n})
	}
	l.nodePods.look(l, o)
	l.batch = scalehist.Batch{} // those of the start are in its snapshot
	for _, p := range o.Pods {
		l.holdBack(p)
		// They count once they have lost their node: then they wait like any other.
		if p.Spec.NodeName != "" && !podlife.FollowsNode(p) {
			l.pods[scalehist.NameOf(p)] = l.follow(p, in.Start)
		}
	}
	l.measureStart(o)
	l.warnings = append(l.warnings, in.Warnings...)
	return l
}

func (l *Ledger) addNode(n *nodeLedger) {
	l.nodeList = append(l.nodeList, n)
	l.byNode[n.name] = n
	l.live++
}

// gone notes that a node has left.
func (l *Ledger) gone(name string, at time.Time) {
	if n := l.byNode[name]; n != nil {
		if n.gone.IsZero() {
			l.live--
		}
		n.gone = at
	}
}

// Warn adds a warning to the report, once.
func (l *Ledger) Warn(text string) {
	if !slices.Contains(l.warnings, text) {
		l.warnings = append(l.warnings, text)
	}
}

// Settings notes the settings that are in force from an instant on; the first are those of the start.
func (l *Ledger) Settings(at time.Time, s scalehist.CASettings) {
	if !l.engineSeen {
		l.engineSeen, l.engineStart, l.start.CASettings = true, s, s
		return
	}
	l.changes = append(l.changes, scalehist.SettingsChange{At: at, Settings: s})
}

// Begin begins a step.
func (l *Ledger) Begin(t time.Time) {
	if l.reached == nil && l.CompareUntil != nil {
		if until := l.CompareUntil(); t.After(until) {
			l.reached = &Reached{l.pending(until), l.waiting}
		}
	}
	l.batch = scalehist.Batch{At: t, DeployedPods: []scalehist.DeployedPod{}}
	l.feeding, l.placing = nil, nil
}

// Standing counts the nodes there are.
func (l *Ledger) Standing() int { return l.live }

// stepped takes the resizes since the last call for the steps of one loop; 0 stands for none, and then those of one
// instant belong together.
func (l *Ledger) stepped(loop int) {
	fresh := l.provider.Resizes()[l.resizes:]
	l.resizes += len(fresh)
	for i := 0; i < len(fresh); {
		n := 1
		for i+n < len(fresh) && fresh[i+n].At.Equal(fresh[i].At) {
			n++
		}
		step := scalehist.SizeStep{At: fresh[i].At.UTC(), Loop: loop}
		for _, f := range fresh[i : i+n] {
			j := slices.IndexFunc(step.Changes, func(c scalehist.SizeChange) bool { return c.NodeGroup == f.Group })
			if j < 0 {
				step.Changes = append(step.Changes, scalehist.SizeChange{NodeGroup: f.Group, From: f.From, To: f.To})
				continue
			}
			step.Changes[j].To = f.To
		}
		step.Changes = slices.DeleteFunc(step.Changes, func(c scalehist.SizeChange) bool { return c.From == c.To })
		if len(step.Changes) > 0 {
			l.steps = append(l.steps, step)
		}
		i += n
	}
}

// Commit keeps the step if anything came in or moved.
func (l *Ledger) Commit(pending map[types.NamespacedName]bool) {
	l.stepped(0)
	b := &l.batch
	b.Unschedulable = len(pending)
	for key := range l.gated {
		if pending[key] {
			delete(l.gated, key) // its gates are gone: the scheduler has tried it
		}
	}
	b.HeldBack = len(l.gated)
	l.waiting = b.Unschedulable + b.HeldBack
	slices.Sort(b.DeletedPods)
	if len(l.feeding)+len(b.Resized)+len(b.Offers)+len(b.Ended)+len(b.DeletedPods)+len(b.NodesJoined)+len(b.NodesGone)+len(b.Preempted)+len(b.Returned)+
		len(b.NodePods)+len(b.NodePodsGone)+b.Scheduled > 0 {
		l.batches = append(l.batches, *b)
		l.fedIn = append(l.fedIn, l.feeding)
		l.placed = append(l.placed, l.placing)
	}
}

// NodeEvents notes the nodes that the cloud provider brought and took.
func (l *Ledger) NodeEvents(events []cloudprovider.Event) {
	for _, e := range events {
		switch e.Type {
		case cloudprovider.NodeJoined:
			l.batch.NodesJoined = append(l.batch.NodesJoined, e.NodeName)
			n := &nodeLedger{name: e.NodeName, group: e.Group, requested: l.requestedAt(e), joined: e.At, object: e.Node}
			l.addNode(n)
			l.joined = append(l.joined, n)
		case cloudprovider.NodeGone:
			l.batch.NodesGone = append(l.batch.NodesGone, e.NodeName)
			l.gone(e.NodeName, e.At)
		}
	}
}

// requestedAt is when the instance behind a join was asked for.
func (l *Ledger) requestedAt(e cloudprovider.Event) time.Time {
	for _, i := range l.provider.Instances(e.Group) {
		if i.NodeName == e.NodeName {
			return i.CreatedAt
		}
	}
	return e.At
}

// Finish notes the cluster at the end of what was played so far. More may be played afterwards.
func (l *Ledger) Finish(end time.Time, o *scalehist.Objects) {
	l.stepped(0)
	l.end = l.snapshot(end, o, l.inForce())
}

// ReachedBy is what the replay shows where the comparison with the recording ends, or at its end if it has not come that far.
func (l *Ledger) ReachedBy(end time.Time) Reached {
	if l.reached != nil {
		return *l.reached
	}
	return Reached{l.pending(end), len(l.end.UnscheduledPods)}
}
