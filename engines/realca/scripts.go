package realca

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// scripts are scenarios that measure one thing.
var scripts = map[string]func() *Scenario{
	"drain-0s":  func() *Scenario { return drainScript(0) },
	"drain-2s":  func() *Scenario { return drainScript(2 * time.Second) },
	"drain-12s": func() *Scenario { return drainScript(12 * time.Second) },
	"drain-40s": func() *Scenario { return drainScript(40 * time.Second) },
	"wakeups":   wakeupsScript,
}

// ScriptNames are the names that Scripted takes.
func ScriptNames() []string { return slices.Sorted(maps.Keys(scripts)) }

// Scripted is a scenario that measures one thing.
func Scripted(name string) (*Scenario, error) {
	f, ok := scripts[name]
	if !ok {
		return nil, fmt.Errorf("unknown script %q: choose one of %s", name, strings.Join(ScriptNames(), ", "))
	}
	return f(), nil
}

// shortTimers keep a run to a few minutes.
func shortTimers(more ...string) []string { return timers("1m", "30s", more...) }

// timers are the flags of a scenario whose unused nodes go after a time, and some time after the last scale-up.
func timers(unneeded, afterAdd string, more ...string) []string {
	return append([]string{
		"--kube-client-qps=200", "--kube-client-burst=400", "--scan-interval=10s", "--scale-down-unneeded-time=" + unneeded, "--scale-down-delay-after-add=" + afterAdd,
		"--scale-down-delay-after-delete=0s", "--scale-down-delay-after-failure=30s", "--node-delete-delay-after-taint=0s",
	}, more...)
}

// drainScript: four nodes that could be two, with pods that take some time to end.
func drainScript(terminates time.Duration) *Scenario {
	b := newBuilder(fmt.Sprintf("drain-%s", terminates), fmt.Sprintf("four nodes with two small pods each, of which some are drained; pods end %s after their deletion", terminates))
	b.group("std", "std-4", "z1", 1, 6, 4, 20*time.Second)
	b.daemonSet("node-agent", "100m", "128Mi")
	web := b.replicaSet("web", podShape{cpu: "700m", memory: "1Gi", terminates: terminates, grace: 60})
	for i := range 8 {
		b.placed(web, fmt.Sprintf("std-%d", i%4+1))
	}
	b.s.Flags = shortTimers("--expander=least-waste")
	b.s.Duration = 4*time.Minute + 8*terminates
	return b.s
}

// wakeupsScript: pods that arrive alone, at moments when the loop would not come by itself, and some that fit.
func wakeupsScript() *Scenario {
	b := newBuilder("wakeups", "one pod at a time: some that fit, some that need a node, to see what wakes the autoscaler")
	b.group("std", "std-4", "z1", 1, 8, 1, 25*time.Second)
	web := b.replicaSet("web", podShape{cpu: "300m", memory: "256Mi"})
	big := b.replicaSet("big", podShape{cpu: "3", memory: "4Gi"})
	huge := b.replicaSet("huge", podShape{cpu: "30", memory: "4Gi"})
	b.at(1*time.Second, web)   // fits
	b.at(15*time.Second, big)  // fits
	b.at(33*time.Second, big)  // needs a node
	b.at(36*time.Second, big)  // needs another while the first is on its way
	b.at(75*time.Second, huge) // fits nowhere
	b.at(79*time.Second, web)
	b.at(82*time.Second, huge)
	b.at(103*time.Second, web)
	b.at(104500*time.Millisecond, big)
	b.at(104700*time.Millisecond, big)
	b.s.Flags = shortTimers("--expander=least-waste")
	b.s.Duration = 3 * time.Minute
	return b.s
}
