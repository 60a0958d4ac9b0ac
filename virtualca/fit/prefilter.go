package fit

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// current returns the PreFilter state of a shape for the snapshot as it is now. An older one is brought forward by
// replaying the log where the plugins allow it, else made anew.
func (c *Checker) current(ctx context.Context, sh *shape) *state {
	s := c.snapshot
	for n := len(sh.states); n > 0 && !c.live(&sh.states[n-1]); n = len(sh.states) {
		sh.states[n-1] = state{}
		sh.states = sh.states[:n-1]
	}
	n := len(sh.states)
	if n == 0 {
		return c.fresh(ctx, sh)
	}
	top := &sh.states[n-1]
	if top.at == len(s.log) {
		return top
	}
	// A pod whose required anti-affinity may match this shape turns a skipped InterPodAffinity on.
	antiSince := len(s.antiAt) > 0 && s.antiAt[len(s.antiAt)-1] > top.at
	if top.local && !antiSince && !sh.volatile {
		return top
	}
	if sh.volatile || !top.status.IsSuccess() || (antiSince && !top.affinity) || !replayable(s.log[top.at:]) {
		return c.fresh(ctx, sh)
	}
	if top.level < len(s.forks) {
		next := *top
		next.cycle = top.cycle.Clone()
		next.level, next.forkID = c.place()
		sh.states = append(sh.states, next)
		top = &sh.states[len(sh.states)-1]
	}
	if !c.replay(ctx, sh.pod, top) {
		return c.fresh(ctx, sh)
	}
	return top
}

// live says whether the log still contains everything the state saw.
func (c *Checker) live(st *state) bool {
	if st.base != c.base || st.at > len(c.snapshot.log) {
		return false
	}
	return st.level == 0 || (len(c.snapshot.forks) >= st.level && c.snapshot.forks[st.level-1].id == st.forkID)
}

// place is the present fork level and its identity.
func (c *Checker) place() (level, id int) {
	if level = len(c.snapshot.forks); level > 0 {
		id = c.snapshot.forks[level-1].id
	}
	return level, id
}

func (c *Checker) fresh(ctx context.Context, sh *shape) *state {
	st := state{base: c.base, at: len(c.snapshot.log), cycle: framework.NewCycleState()}
	st.level, st.forkID = c.place()
	st.result, st.status, _ = c.fw.RunPreFilterPlugins(ctx, st.cycle, sh.pod)
	skipped := st.cycle.GetSkipFilterPlugins()
	st.spread, st.affinity = !skipped.Has(names.PodTopologySpread), !skipped.Has(names.InterPodAffinity)
	st.local = !st.spread && !st.affinity
	if n := len(sh.states); n > 0 && sh.states[n-1].level == st.level {
		sh.states = sh.states[:n-1]
	}
	sh.states = append(sh.states, st)
	return &sh.states[len(sh.states)-1]
}

// replayable: the plugins can follow pods and new nodes, but not a node that left with its pods and domains.
func replayable(log []change) bool {
	for i := range log {
		if log[i].op == opRemoveNode || log[i].op == opReplaceNode {
			return false
		}
	}
	return true
}

func (c *Checker) replay(ctx context.Context, pod *corev1.Pod, st *state) bool {
	log := c.snapshot.log[st.at:]
	for i := range log {
		e := &log[i]
		switch e.op {
		case opAddPod:
			if s := c.fw.RunPreFilterExtensionAddPod(ctx, st.cycle, pod, e.pod, e.node); !s.IsSuccess() {
				return false
			}
		case opRemovePod:
			if s := c.fw.RunPreFilterExtensionRemovePod(ctx, st.cycle, pod, e.pod, e.node); !s.IsSuccess() {
				return false
			}
		case opAddNode:
			if st.spread && !c.addDomains(ctx, pod, st.cycle, e.node) {
				return false
			}
			// Pods placed on it later have entries of their own, but stand on the NodeInfo already: this needs
			// the pods it came with.
			for _, p := range c.cameWith(e.node, log[i+1:]) {
				if s := c.fw.RunPreFilterExtensionAddPod(ctx, st.cycle, pod, p, e.node); !s.IsSuccess() {
					return false
				}
			}
		}
	}
	st.at = len(c.snapshot.log)
	return !st.spread || repairSpread(st.cycle)
}

func (c *Checker) cameWith(n *framework.NodeInfo, later []change) []fwk.PodInfo {
	added := 0
	for i := range later {
		if later[i].node == n {
			if later[i].op == opRemovePod {
				return c.pristine(n, later)
			}
			added++
		}
	}
	return n.Pods[:len(n.Pods)-added]
}

// pristine lists the pods a node had before the changes, when some of them took pods off.
func (c *Checker) pristine(n *framework.NodeInfo, later []change) []fwk.PodInfo {
	pods := append([]fwk.PodInfo(nil), n.Pods...)
	for i := len(later) - 1; i >= 0; i-- {
		switch {
		case later[i].node != n:
		case later[i].op == opAddPod:
			pods = pods[:len(pods)-1]
		case later[i].op == opRemovePod:
			pods = append(pods, later[i].pod)
			swapLast(pods, later[i].at)
		}
	}
	return pods
}

// spreadStateKey is where PodTopologySpread keeps its PreFilter state.
const spreadStateKey = "PreFilter" + names.PodTopologySpread

// addDomains makes the domains of a new node known to the spread constraints. The plugin itself says which count: its
// PreFilter runs over that node alone, without pods, and what it finds is added with a count of zero.
func (c *Checker) addDomains(ctx context.Context, pod *corev1.Pod, cycle fwk.CycleState, n *framework.NodeInfo) bool {
	have, ok := domains(cycle)
	if !ok {
		return false
	}
	all := c.snapshot.nodes
	c.snapshot.nodes = []fwk.NodeInfo{NewNodeInfo(n.Node())}
	alone := framework.NewCycleState()
	_, status, _ := c.fw.RunPreFilterPlugins(ctx, alone, pod)
	c.snapshot.nodes = all
	found, ok := domains(alone)
	if !ok || !status.IsSuccess() || len(found) != len(have) {
		return false
	}
	for i := range found {
		for value := range found[i] {
			if _, known := have[i][value]; !known {
				have[i][value] = 0
			}
		}
	}
	return true
}

// domains are the counts by topology value that PodTopologySpread keeps for each constraint. Its state has no exported
// type, but exported fields; without them: false.
func domains(cycle fwk.CycleState) ([]map[string]int, bool) {
	v, ok := spreadState(cycle)
	if !ok {
		return nil, false
	}
	counts := v.FieldByName("TpValueToMatchNum")
	if !counts.IsValid() {
		return nil, false
	}
	m, ok := counts.Interface().([]map[string]int)
	return m, ok
}

func spreadState(cycle fwk.CycleState) (reflect.Value, bool) {
	data, err := cycle.Read(spreadStateKey)
	if err != nil {
		return reflect.Value{}, false
	}
	v := reflect.ValueOf(data)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return reflect.Value{}, false
	}
	return v.Elem(), true
}

// repairSpread sets the smallest match numbers of every spread constraint from its counts. The plugin's own AddPod
// keeps only the two smallest domains, enough for preemption (which takes pods off and puts them back) but wrong once
// both have grown past a third. Its state has no exported type, but exported fields; without them: false.
func repairSpread(cycle fwk.CycleState) bool {
	byDomain, ok := domains(cycle)
	v, _ := spreadState(cycle)
	if !ok {
		return false
	}
	paths := v.FieldByName("CriticalPaths")
	if !paths.IsValid() || paths.Kind() != reflect.Slice || len(byDomain) != paths.Len() {
		return false
	}
	for i, counts := range byDomain {
		path := paths.Index(i)
		if path.Kind() == reflect.Pointer {
			path = path.Elem()
		}
		if path.Kind() != reflect.Array || path.Len() != 2 || !path.CanSet() {
			return false
		}
		low := [2]struct {
			value string
			num   int
			set   bool
		}{}
		for value, num := range counts {
			less := func(k int) bool {
				return !low[k].set || num < low[k].num || (num == low[k].num && value < low[k].value)
			}
			switch {
			case less(0):
				low[1] = low[0]
				low[0].value, low[0].num, low[0].set = value, num, true
			case less(1):
				low[1].value, low[1].num, low[1].set = value, num, true
			}
		}
		for k := range low {
			value, num := path.Index(k).FieldByName("TopologyValue"), path.Index(k).FieldByName("MatchNum")
			if !value.IsValid() || !num.IsValid() {
				return false
			}
			if low[k].set {
				value.SetString(low[k].value)
				num.SetInt(int64(low[k].num))
			}
		}
	}
	return true
}
