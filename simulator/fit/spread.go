package fit

import (
	"context"
	"maps"
	"math"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// spreadStateKey is where PodTopologySpread keeps its PreFilter state.
const spreadStateKey = "PreFilter" + names.PodTopologySpread

// follower replays changes on one PreFilter state. The plugins' own AddPod and RemovePod do the counting; what they
// leave out is done here: domains that come and go with their nodes, and the smallest count of each spread constraint.
// The plugin keeps only its two smallest domains, enough for preemption (which takes pods off and puts them back) but
// wrong once both have grown past a third.
type follower struct {
	c   *Checker
	ctx context.Context
	pod *corev1.Pod
	st  *state
	spreadView
	// gone are domains whose last node may have left.
	gone []domain
}

type domain struct {
	constraint int
	value      string
}

// tally counts the domains of a spread constraint by their number of matching pods.
type tally struct {
	domains map[int]int
	least   int
}

func newTally(counts map[string]int) tally {
	t := tally{domains: map[int]int{}, least: math.MaxInt32}
	for _, n := range counts {
		t.add(n)
	}
	return t
}

func (t *tally) add(n int) {
	t.domains[n]++
	t.least = min(t.least, n)
}

func (t *tally) drop(n int) {
	if t.domains[n]--; t.domains[n] > 0 {
		return
	}
	delete(t.domains, n)
	if n != t.least {
		return
	}
	t.least = math.MaxInt32
	for k := range t.domains {
		t.least = min(t.least, k)
	}
}

func cloneTallies(in []tally) []tally {
	if in == nil {
		return nil
	}
	out := make([]tally, len(in))
	for i := range in {
		out[i] = tally{maps.Clone(in[i].domains), in[i].least}
	}
	return out
}

// spreadView is what PodTopologySpread's PreFilter state has for each constraint: its topology key, the matching pods
// by domain, and the field with the smallest number of them.
type spreadView struct {
	keys   []string
	counts []map[string]int
	least  []reflect.Value
}

// viewSpread reads the state, which has no exported type but exported fields; without them: false. It is false, too, for
// a constraint with an empty selector: PreFilter counts no pod for it, AddPod every one.
func viewSpread(cycle fwk.CycleState) (spreadView, bool) {
	data, err := cycle.Read(spreadStateKey)
	if err != nil {
		return spreadView{}, false
	}
	v := reflect.ValueOf(data)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return spreadView{}, false
	}
	v = v.Elem()
	counts, constraints, paths := v.FieldByName("TpValueToMatchNum"), v.FieldByName("Constraints"), v.FieldByName("CriticalPaths")
	if !counts.IsValid() || !constraints.IsValid() || !paths.IsValid() || constraints.Kind() != reflect.Slice || paths.Kind() != reflect.Slice {
		return spreadView{}, false
	}
	var out spreadView
	var ok bool
	if out.counts, ok = counts.Interface().([]map[string]int); !ok || constraints.Len() != len(out.counts) || paths.Len() != len(out.counts) {
		return spreadView{}, false
	}
	for i := range out.counts {
		key, selector, path := constraints.Index(i).FieldByName("TopologyKey"), constraints.Index(i).FieldByName("Selector"), paths.Index(i)
		if path.Kind() == reflect.Pointer {
			path = path.Elem()
		}
		if !selector.IsValid() || !selector.CanInterface() {
			return spreadView{}, false
		}
		if l, ok := selector.Interface().(labels.Selector); !ok || l.Empty() {
			return spreadView{}, false
		}
		if key.Kind() != reflect.String || path.Kind() != reflect.Array || path.Len() != 2 {
			return spreadView{}, false
		}
		least := path.Index(0).FieldByName("MatchNum")
		if !least.IsValid() || !least.CanSet() || !least.CanInt() {
			return spreadView{}, false
		}
		out.keys, out.least = append(out.keys, key.String()), append(out.least, least)
	}
	return out, true
}

func (f *follower) begin() bool {
	var ok bool
	if f.spreadView, ok = viewSpread(f.st.cycle); !ok {
		return false
	}
	if f.st.tallies == nil {
		for _, counts := range f.counts {
			f.st.tallies = append(f.st.tallies, newTally(counts))
		}
	}
	return true
}

// add and remove follow one pod on a node.
func (f *follower) add(pod fwk.PodInfo, n *framework.NodeInfo) bool {
	return f.count(n, func() *fwk.Status { return f.c.fw.RunPreFilterExtensionAddPod(f.ctx, f.st.cycle, f.pod, pod, n) })
}

func (f *follower) remove(pod fwk.PodInfo, n *framework.NodeInfo) bool {
	return f.count(n, func() *fwk.Status { return f.c.fw.RunPreFilterExtensionRemovePod(f.ctx, f.st.cycle, f.pod, pod, n) })
}

// count lets a plugin change the counts of a node's domains and takes the difference over into the tallies.
func (f *follower) count(n *framework.NodeInfo, change func() *fwk.Status) bool {
	of := n.Node().Labels
	var room [4]int
	before := room[:0]
	for i, key := range f.keys {
		before = append(before, f.counts[i][of[key]])
	}
	if !change().IsSuccess() {
		return false
	}
	for i, key := range f.keys {
		if now := f.counts[i][of[key]]; now != before[i] {
			f.st.tallies[i].drop(before[i])
			f.st.tallies[i].add(now)
		}
	}
	return true
}

// enter follows a node that comes with its pods; later are the changes after it.
func (f *follower) enter(sl *slot, later []change) bool {
	if f.st.spread {
		found, ok := f.domainsOf(sl.info)
		if !ok {
			return false
		}
		for i := range found {
			for value := range found[i] {
				if _, known := f.counts[i][value]; !known {
					f.counts[i][value] = 0
					f.st.tallies[i].add(0)
				}
			}
		}
	}
	// Pods placed on it later have entries of their own, but are on the NodeInfo already: this needs the pods it
	// came with.
	for _, p := range cameWith(sl, later) {
		if !f.add(p, sl.info) {
			return false
		}
	}
	return true
}

// leave follows a node that goes with its pods.
func (f *follower) leave(sl *slot) bool {
	for _, p := range sl.info.Pods {
		if !f.remove(p, sl.info) {
			return false
		}
	}
	for i, key := range f.keys {
		if value, ok := sl.info.Node().Labels[key]; ok {
			f.gone = append(f.gone, domain{i, value})
		}
	}
	return true
}

// end drops domains without a node and sets the smallest counts.
func (f *follower) end() bool {
	for _, d := range f.gone {
		count, known := f.counts[d.constraint][d.value]
		if !known {
			continue
		}
		stays, ok := f.inhabited(d)
		if !ok {
			return false
		}
		if !stays {
			delete(f.counts[d.constraint], d.value)
			f.st.tallies[d.constraint].drop(count)
		}
	}
	for i := range f.least {
		f.least[i].SetInt(int64(f.st.tallies[i].least))
	}
	return true
}

// inhabited says whether a node of the snapshot counts for a domain.
func (f *follower) inhabited(d domain) (stays, ok bool) {
	s := f.c.snapshot
	key := f.keys[d.constraint]
	for _, sl := range s.slots {
		if sl.info.Node().Labels[key] != d.value {
			continue
		}
		found, ok := f.domainsOf(sl.info)
		if !ok {
			return false, false
		}
		if _, is := found[d.constraint][d.value]; is {
			return true, true
		}
	}
	return false, true
}

// domainsOf are the domains a node counts for, by constraint. The plugin itself says which: its PreFilter runs over
// that node alone.
func (f *follower) domainsOf(n *framework.NodeInfo) ([]map[string]int, bool) {
	alone := framework.NewCycleState()
	if _, s := f.c.spread.PreFilter(f.ctx, alone, f.pod, []fwk.NodeInfo{n}); !s.IsSuccess() {
		return nil, false
	}
	v, ok := viewSpread(alone)
	return v.counts, ok && len(v.counts) == len(f.counts)
}
