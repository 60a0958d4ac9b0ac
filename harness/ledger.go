package harness

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/virtual"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// ledger writes down what happens in a replay, for the report.
type ledger struct {
	in       *trace.Input
	provider *cloudprovider.Provider

	start, end   scalehist.ClusterSnapshot
	moments      scalehist.MomentKeeper
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
	explained string // what the last decision explained
	expecting bool   // the last decision waits for more pods
	texts     texts
	amounts   amounts
	joined    []*nodeLedger // in this step, of which it is not yet known what they offer

	// pods are the live ones by name, demands all that ever were fed in or lost their node, in order.
	pods     map[types.NamespacedName]*podLedger
	demands  []*podLedger
	fedIn    [][]*podLedger // beside batches: what each fed in
	placed   [][]placement  // beside batches: who got a node in each
	placing  []placement
	feeding  []*podLedger
	nodeList []*nodeLedger
	byNode   map[string]*nodeLedger
	gated    map[types.NamespacedName]bool // had scheduling gates when they came, and no node yet
	live     int                           // nodes that are there
	nodePods nodePods

	// until is where the comparison with the recording ends; reached is how things stood then, nil before.
	until   func() time.Time
	reached *reached
	waiting int // pods without a node after the last step

	// lastAction is the last of decisions that asked anything of the cloud provider or began to remove a node.
	lastAction *scalehist.Decision
}

// reached is what a replay shows at the instant where the comparison with the recording ends.
type reached struct {
	pending scalehist.PendingStats
	// left counts the pods without a node.
	left int
}

// texts holds one copy of each text of a report.
type texts map[string]string

// share puts the copy there is in place of an equal text.
func (t *texts) share(text *string) {
	if len(*text) == 0 {
		return
	}
	if *t == nil {
		*t = texts{}
	}
	if known, ok := (*t)[*text]; ok {
		*text = known
		return
	}
	(*t)[*text] = *text
}

func (t *texts) shareAll(list []string) {
	for i := range list {
		t.share(&list[i])
	}
}

// podLedger follows one demand: a pod, and itself again after an eviction.
type podLedger struct {
	entry        scalehist.DeployedPod
	waitingSince time.Time
	waited       time.Duration
	waits        bool
	counted      bool              // is among the demands
	fed          bool              // is told by the batch that fed it in
	asks         map[string]string // for now: entry has what it asked for when it was fed in
}

// placement is a node that a pod got at an instant.
type placement struct {
	pod *podLedger
	at  *time.Time
	scalehist.Placement
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

func newLedger(in *trace.Input, p *cloudprovider.Provider, o *scalehist.Objects) *ledger {
	l := &ledger{in: in, provider: p, pods: map[types.NamespacedName]*podLedger{}, byNode: map[string]*nodeLedger{}, gated: map[types.NamespacedName]bool{}}
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
		if p.Spec.NodeName != "" && !virtual.FollowsNode(p) {
			l.pods[scalehist.NameOf(p)] = l.follow(p, in.Start)
		}
	}
	l.measureStart(o)
	l.warnings = append(l.warnings, in.Warnings...)
	return l
}

func (l *ledger) addNode(n *nodeLedger) {
	l.nodeList = append(l.nodeList, n)
	l.byNode[n.name] = n
	l.live++
}

// gone notes that a node has left.
func (l *ledger) gone(name string, at time.Time) {
	if n := l.byNode[name]; n != nil {
		if n.gone.IsZero() {
			l.live--
		}
		n.gone = at
	}
}

func (l *ledger) warn(text string) {
	if !slices.Contains(l.warnings, text) {
		l.warnings = append(l.warnings, text)
	}
}

func (l *ledger) settings(at time.Time, s scalehist.CASettings) {
	if !l.engineSeen {
		l.engineSeen, l.engineStart, l.start.CASettings = true, s, s
		return
	}
	l.changes = append(l.changes, scalehist.SettingsChange{At: at, Settings: s})
}

func (l *ledger) begin(t time.Time) {
	if l.reached == nil && l.until != nil {
		if until := l.until(); t.After(until) {
			l.reached = &reached{l.pending(until), l.waiting}
		}
	}
	l.batch = scalehist.Batch{At: t, DeployedPods: []scalehist.DeployedPod{}}
	l.feeding, l.placing = nil, nil
}

// standing counts the nodes there are.
func (l *ledger) standing() int { return l.live }

// stepped takes the resizes since the last call for the steps of one loop; 0 stands for none, and then those of one
// instant belong together.
func (l *ledger) stepped(loop int) {
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

// commit keeps the step if anything came in or moved.
func (l *ledger) commit(pending map[types.NamespacedName]bool) {
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

// fed notes the pods and nodes that a batch brought and took.
func (l *ledger) fed(changes []scalehist.Change) {
	for _, ch := range changes {
		switch o := ch.Object.(type) {
		case *corev1.Pod:
			l.fedPod(ch, o)
		case *corev1.Node:
			l.fedNode(ch, o)
			l.remeasure = true
		case *appsv1.DaemonSet:
			l.remeasure = true
		}
	}
}

func (l *ledger) fedPod(ch scalehist.Change, p *corev1.Pod) {
	key := scalehist.NameOf(p)
	switch ch.Op {
	case scalehist.OpAdd:
		known := l.follow(p, ch.At)
		known.waitingSince, known.waits = l.batch.At, p.Spec.NodeName == ""
		l.pods[key] = known
		l.count(known)
		known.fed = true
		l.feeding = append(l.feeding, known)
		l.holdBack(p)
	case scalehist.OpUpdate:
		l.resizedPod(p)
	case scalehist.OpDelete:
		if p.Annotations[virtual.WhenDoneAnnotation] != "" {
			return // it goes when it has run its time
		}
		delete(l.gated, key)
		l.batch.DeletedPods = append(l.batch.DeletedPods, key.String())
		if known := l.pods[key]; known != nil {
			known.stopWaiting(l.batch.At)
			delete(l.pods, key)
		}
	}
}

// fedNode notes nodes outside every group, which come and go on their own.
func (l *ledger) fedNode(ch scalehist.Change, n *corev1.Node) {
	switch ch.Op {
	case scalehist.OpAdd:
		l.batch.NodesJoined = append(l.batch.NodesJoined, n.Name)
		l.addNode(&nodeLedger{name: n.Name, joined: l.batch.At, standing: true, object: n})
	case scalehist.OpDelete:
		if known := l.byNode[n.Name]; known == nil || !known.gone.IsZero() {
			return // it went here before it did in the recording
		}
		l.batch.NodesGone = append(l.batch.NodesGone, n.Name)
		l.gone(n.Name, l.batch.At)
	}
}

// holdBack notes a pod that has no node and may not have one yet.
func (l *ledger) holdBack(p *corev1.Pod) {
	if p.Spec.NodeName == "" && len(p.Spec.SchedulingGates) > 0 {
		l.gated[scalehist.NameOf(p)] = true
	}
}

func (l *ledger) deployed(p *corev1.Pod, at time.Time) scalehist.DeployedPod {
	entry := scalehist.DeployedPod{
		Requests:  l.amounts.of(resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})),
		Namespace: p.Namespace, Name: p.Name, CreatedAt: createdAt(p, at), RecordedNodeName: l.in.RecordedNodes[p.UID],
	}
	if at, ok := l.in.Deletions[p.UID]; ok {
		entry.DeletedAt = &at
	}
	return entry
}

// count takes a pod among the demands, once.
func (l *ledger) count(p *podLedger) {
	if !p.counted {
		p.counted = true
		l.demands = append(l.demands, p)
	}
}

func createdAt(p *corev1.Pod, at time.Time) time.Time {
	if p.CreationTimestamp.IsZero() {
		return at.UTC()
	}
	return p.CreationTimestamp.UTC()
}

// waitedBy is how long it has waited up to an instant, the present wait included.
func (p *podLedger) waitedBy(t time.Time) time.Duration {
	if p.waits {
		return p.waited + t.Sub(p.waitingSince)
	}
	return p.waited
}

func (p *podLedger) stopWaiting(t time.Time) {
	if p.waits {
		p.waited += t.Sub(p.waitingSince)
		p.waits = false
	}
}

// settled follows every pod through what happened to it, in order.
func (l *ledger) settled(t time.Time, st virtual.Step) {
	for _, e := range st.Events {
		p := l.pods[e.Pod]
		delete(l.gated, e.Pod) // what happens to pods happens to those that had, or have now, their turn
		switch e.Kind {
		case virtual.PodFinished:
			l.batch.Ended = append(l.batch.Ended, e.Pod.String())
			delete(l.pods, e.Pod) // nothing more happens to it but that it is tidied up
		case virtual.PodLost:
			l.batch.Ended = append(l.batch.Ended, e.Pod.String())
			if p != nil {
				p.stopWaiting(t)
				delete(l.pods, e.Pod)
			}
		case virtual.PodBound:
			l.batch.Scheduled++
			if p != nil {
				p.stopWaiting(t)
				p.entry.NodeName = e.Node
				at := t
				p.entry.ScheduledAt = &at
				l.placing = append(l.placing, placement{p, &at, scalehist.Placement{Pod: e.Pod.String(), Node: e.Node}})
			}
		case virtual.PodVictim:
			l.batch.Preempted = append(l.batch.Preempted, e.Pod.String())
			if p != nil { // back below if somebody recreates it
				p.entry.NodeName, p.entry.ScheduledAt = "", nil
			}
		case virtual.PodReturned:
			l.batch.Returned = append(l.batch.Returned, e.Pod.String())
			if p != nil {
				l.count(p)
				p.waits, p.waitingSince = true, t
				p.entry.NodeName, p.entry.ScheduledAt = "", nil
			}
		}
	}
}

func (l *ledger) nodes(events []cloudprovider.Event) {
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
func (l *ledger) requestedAt(e cloudprovider.Event) time.Time {
	for _, i := range l.provider.Instances(e.Group) {
		if i.NodeName == e.NodeName {
			return i.CreatedAt
		}
	}
	return e.At
}

// decided keeps a decision that mattered: one that acted, or that explains itself differently from the one before.
func (l *ledger) decided(d scalehist.Decision) (mattered bool) {
	l.loops++
	l.stepped(d.Loop)
	explained := explanation(d)
	if mattered = d.Acted() || explained != l.explained; mattered {
		if waits := waitsForMore(d); waits && l.expecting {
			l.decisions = l.decisions[:len(l.decisions)-1] // the pods that woke this loop are all that is new
		}
		l.keep(d)
	}
	l.expecting = waitsForMore(d)
	l.explained = explained
	return mattered
}

// waitsForMore is a loop that found only new pods and did nothing else. Each pod of a burst wakes one: the last of a row is kept.
func waitsForMore(d scalehist.Decision) bool {
	return d.Outcome == scalehist.ScaleUpInCooldown && !d.Acted() && len(d.Deleting) == 0
}

// keep files a decision for the report. Of a long replay its reasons are most of what is kept, and few of them differ.
func (l *ledger) keep(d scalehist.Decision) {
	l.texts.shareAll(d.Unneeded)
	for i := range d.Unremovable {
		l.texts.share(&d.Unremovable[i].Node)
		l.texts.share(&d.Unremovable[i].Reason)
	}
	l.texts.shareAll(d.UnschedulablePods)
	for i := range d.Options {
		l.texts.share(&d.Options[i].Reason)
		l.texts.shareAll(d.Options[i].PodNames)
	}
	for _, list := range [][]scalehist.GroupReason{d.Skipped, d.Rejected} {
		for i := range list {
			l.texts.share(&list[i].Reason)
		}
	}
	l.texts.shareAll(d.Notes)
	l.decisions = append(l.decisions, d)
	if d.Acted() || len(d.Deleting) > 0 {
		l.lastAction = &d
	}
}

// worked keeps what was done between two loops, if it asked anything of the cloud provider or says something.
func (l *ledger) worked(d scalehist.Decision) {
	l.stepped(0)
	if d.Acted() || len(d.Notes) > 0 {
		l.keep(d)
		l.expecting = false
	}
}

// explanation is what a reader would learn from a decision, beyond its time and number.
func explanation(d scalehist.Decision) string {
	var b strings.Builder
	if d.Outcome != scalehist.ScaleUpNotNeeded && d.Outcome != "" {
		b.WriteString(string(d.Outcome)) // else nothing new, in the first loop too
	}
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
	explainScaleDown(&b, d)
	return b.String()
}

// explainScaleDown adds which nodes could go and which could not. Why nothing went is only of interest when something could.
func explainScaleDown(b *strings.Builder, d scalehist.Decision) {
	if len(d.Unneeded) > 0 || d.ScaleDown == scalehist.ScaleDownError {
		b.WriteString("\x03" + string(d.ScaleDown))
	}
	for _, n := range d.Unneeded {
		b.WriteString("\x04" + n)
	}
	for _, n := range d.Unremovable {
		// A node that was looked at a moment ago is not looked at again: it stays for the same reason.
		b.WriteString("\x05" + n.Node + "\x00" + strings.TrimPrefix(n.Reason, "RecentlyUnremovable: "))
	}
	for _, n := range d.Deleting {
		b.WriteString("\x06" + n.Node)
	}
}

func (l *ledger) lastSummary() string {
	if len(l.decisions) == 0 {
		return ""
	}
	return l.decisions[len(l.decisions)-1].Summary()
}

// finish notes the cluster at the end of what was played so far. More may be played afterwards.
func (l *ledger) finish(end time.Time, o *scalehist.Objects) {
	l.stepped(0)
	l.end = l.snapshot(end, o, l.inForce())
}

// reachedBy is what the replay shows where the comparison with the recording ends, or at its end if it has not come that far.
func (l *ledger) reachedBy(end time.Time) reached {
	if l.reached != nil {
		return *l.reached
	}
	return reached{l.pending(end), len(l.end.UnscheduledPods)}
}
