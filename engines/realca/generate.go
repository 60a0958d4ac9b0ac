package realca

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/scalehist/scalehist"
)

// generator makes scenarios of many features from a seed. The same seed gives the same scenario.
type generator struct {
	*builder
	rng      *rand.Rand
	features []string
	groups   []string
	zones    bool
	shapes   []podShape
	services []*service
	relaxed  *policyv1.PodDisruptionBudget // comes when nodes have been held back for a while
}

// service is a ReplicaSet whose size changes.
type service struct {
	owner
	set  *appsv1.ReplicaSet
	pods []*corev1.Pod
}

// Generate makes the scenario of a seed: node groups, pods that arrive in waves, and what else the seed brings.
func Generate(seed int64) *Scenario {
	g := &generator{builder: newBuilder(fmt.Sprintf("calm-%d", seed), ""), rng: rand.New(rand.NewPCG(uint64(seed), 11))} //nolint:gosec // a seed
	g.nodeGroups()
	g.daemonSet("node-agent", "100m", "128Mi")
	if g.chance(0.5) {
		g.daemonSet("log-shipper", "50m", "200Mi")
	}
	g.chooseShapes()
	g.standing()
	g.arrivals()
	g.ending()
	g.s.Flags = append(timers("40s", "20s", g.expander()), g.s.Flags...)
	g.s.What = strings.Join(g.features, ", ")
	g.inOrder()
	return g.s
}

func (g *generator) chance(p float64) bool { return g.rng.Float64() < p }

func (g *generator) between(low, high int) int { return low + g.rng.IntN(high-low+1) }

func (g *generator) has(feature string) { g.features = append(g.features, feature) }

func (g *generator) seconds(low, high int) time.Duration {
	return time.Duration(g.between(low*1000, high*1000)) * time.Millisecond
}

func (g *generator) pool(name, machineType, zone string, low, high, size int) {
	g.groups = append(g.groups, name)
	g.group(name, machineType, zone, low, high, size, time.Duration(g.between(15, 35))*time.Second)
}

func (g *generator) nodeGroups() {
	switch g.rng.IntN(4) {
	case 0:
		g.has("one group")
		g.pool("std", "std-4", "z1", 1, 9, g.between(1, 4))
	case 1:
		g.has("two machine sizes")
		g.pool("small", "std-4", "z1", 1, 8, g.between(1, 3))
		g.pool("large", "std-8", "z1", 0, 5, g.between(0, 1))
	case 2:
		g.has("three zones")
		g.zones = true
		for _, z := range []string{"a", "b", "c"} {
			g.pool("z"+z, "std-4", "z"+z, g.between(0, 1), 5, 1)
		}
		if g.chance(0.7) {
			g.has("balanced")
			g.s.Flags = append(g.s.Flags, "--balance-similar-node-groups=true")
		}
	default:
		g.has("general and much memory")
		g.pool("gen", "std-4", "z1", 1, 7, g.between(1, 3))
		g.pool("mem", "mem-4", "z1", 0, 5, 0)
		if g.chance(0.5) {
			g.pool("tiny", "std-2", "z1", 0, 6, g.between(0, 2))
		}
	}
	if g.chance(0.25) {
		i := g.rng.IntN(len(g.s.Groups))
		g.has("stock-out of " + g.s.Groups[i].Name)
		until := g.seconds(30, 80)
		g.s.Groups[i].StockOuts = [][2]time.Duration{{0, until}}
		g.s.Flags = append(g.s.Flags, "--initial-node-group-backoff-duration=1m")
	}
}

func (g *generator) expander() string {
	e := []string{"least-waste", "least-waste", "most-pods", "least-nodes", "least-nodes,least-waste", "priority"}[g.rng.IntN(6)]
	g.has(e)
	if e == "priority" {
		var b strings.Builder
		for i, p := range g.rng.Perm(len(g.groups)) {
			fmt.Fprintf(&b, "%d:\n- ^%s$\n", 10*(i+1), g.groups[p])
		}
		g.s.Priorities = b.String()
	}
	return "--expander=" + e
}

func (g *generator) chooseShapes() {
	all := []podShape{
		{cpu: "700m", memory: "1Gi"}, {cpu: "400m", memory: "2Gi"}, {cpu: "1500m", memory: "3Gi"}, {cpu: "250m", memory: "512Mi"}, {cpu: "1100m", memory: "5Gi"},
	}
	for _, i := range g.rng.Perm(len(all))[:g.between(2, 3)] {
		g.shapes = append(g.shapes, all[i])
	}
}

// standing is what runs at the start, and the services that will grow.
func (g *generator) standing() {
	terminates, grace := time.Duration(0), int64(0)
	if g.chance(0.5) {
		terminates, grace = g.seconds(1, 20), 30
		g.has(fmt.Sprintf("pods take %s to end", terminates))
	}
	spread := g.zones && g.chance(0.5)
	if spread {
		g.has("zone spread")
	}
	for i, shape := range g.shapes {
		shape.terminates, shape.grace = terminates, grace
		if spread && i == 0 {
			shape.zoneSpread = int32(g.between(1, 2)) //nolint:gosec // 1 or 2
		}
		s := &service{owner: g.replicaSet([]string{"web", "api", "cache"}[i], shape)}
		s.set = g.s.Initial[len(g.s.Initial)-1].(*appsv1.ReplicaSet)
		g.services = append(g.services, s)
	}
	first := g.services[0]
	for _, gr := range g.s.Groups {
		for n := range gr.TargetSize {
			p := g.pod(first.owner)
			p.Spec.NodeName = fmt.Sprintf("%s-%d", gr.Name, n+1)
			first.pods = append(first.pods, p)
			g.initial(p)
		}
	}
	first.set.Spec.Replicas = replicas(len(first.pods))
	for _, s := range g.services[1:] {
		s.set.Spec.Replicas = replicas(0)
	}
	if g.chance(0.4) {
		g.has("a PDB")
		share := g.between(5, 9) * 10
		b := g.budget("first", first.owner, fmt.Sprintf("%d%%", share))
		g.initial(b)
		if g.chance(0.5) {
			g.has("that is relaxed")
			relaxed := b.DeepCopy()
			v := intstr.FromInt32(0)
			relaxed.Spec.MinAvailable = &v
			g.relaxed = relaxed
		}
	}
}

func replicas(n int) *int32 {
	v := int32(n) //nolint:gosec // a few
	return &v
}

// grow lets pods of a service arrive, a few milliseconds apart.
func (g *generator) grow(s *service, at time.Duration, n int) {
	s.size(g.builder, at, len(s.pods)+n)
	for i := range n {
		s.pods = append(s.pods, g.at(at+time.Duration(5*(i+1))*time.Millisecond, s.owner))
	}
}

func (s *service) size(b *builder, at time.Duration, n int) {
	set := s.set.DeepCopy()
	set.Spec.Replicas = replicas(n)
	b.change(at, scalehist.OpUpdate, set)
}

// arrivals come in waves far enough apart that one is served before the next, and away from loops: a load that races with the
// autoscaler's loops ends differently in every run, and its truth says little.
func (g *generator) arrivals() {
	waves := g.between(1, 2)
	g.has(fmt.Sprintf("%d waves", waves))
	at := time.Duration(0)
	for w := range waves {
		for i, s := range g.services {
			if i%waves == w || g.chance(0.3) {
				g.grow(s, at+time.Duration(i)*100*time.Millisecond, g.between(4, 14/waves+4))
			}
		}
		if w == 0 && g.chance(0.5) {
			g.has("a job")
			j := g.job("crunch", podShape{cpu: []string{"3200m", "1800m", "900m"}[g.rng.IntN(3)], memory: "4Gi", runFor: g.seconds(50, 80)})
			for i := range g.between(2, 6) {
				g.at(300*time.Millisecond+time.Duration(i*5)*time.Millisecond, j)
			}
		}
		at += time.Duration(g.between(48, 55)) * time.Second
	}
	if g.chance(0.35) {
		g.has("preemption")
		g.priorityClass("urgent", 1000)
		u := &service{owner: g.replicaSet("urgent", podShape{cpu: "1300m", memory: "2Gi", priorityClass: "urgent"})}
		u.set = g.s.Initial[len(g.s.Initial)-1].(*appsv1.ReplicaSet)
		u.set.Spec.Replicas = replicas(0)
		g.grow(u, at, g.between(2, 5))
	}
	if g.chance(0.25) {
		g.has("expendable pods")
		g.priorityClass("spare", -20)
		u := &service{owner: g.replicaSet("spare", podShape{cpu: "600m", memory: "1Gi", priorityClass: "spare"})}
		u.set = g.s.Initial[len(g.s.Initial)-1].(*appsv1.ReplicaSet)
		u.set.Spec.Replicas = replicas(0)
		g.grow(u, 20*time.Second, g.between(2, 4))
	}
}

// ending: services shrink, so that nodes become empty or nearly so, and some grow again.
func (g *generator) ending() {
	last := g.s.Changes[len(g.s.Changes)-1].After
	for _, ch := range g.s.Changes {
		last = max(last, ch.After)
	}
	at := last + time.Duration(g.between(45, 55))*time.Second
	for i, s := range g.services {
		if len(s.pods) > 1 && (i == 0 || g.chance(0.8)) {
			g.shrink(s, at+time.Duration(i)*100*time.Millisecond, 0.4+0.5*g.rng.Float64())
		}
	}
	g.s.Duration = at + 150*time.Second
	if g.relaxed != nil {
		g.change(at+60*time.Second, scalehist.OpUpdate, g.relaxed)
	}
	if g.chance(0.3) {
		g.has("a second burst")
		s := g.services[g.rng.IntN(len(g.services))]
		g.grow(s, at+75*time.Second, g.between(4, 10))
	}
}

func (g *generator) shrink(s *service, at time.Duration, share float64) {
	n := int(share * float64(len(s.pods)))
	s.size(g.builder, at, len(s.pods)-n)
	for i, k := range g.rng.Perm(len(s.pods))[:n] {
		g.change(at+time.Duration(5*(i+1))*time.Millisecond, scalehist.OpDelete, s.pods[k])
	}
	kept := s.pods[:0:0]
	gone := map[string]bool{}
	for _, ch := range g.s.Changes {
		if ch.Op == scalehist.OpDelete {
			gone[ch.Object.GetName()] = true
		}
	}
	for _, p := range s.pods {
		if !gone[p.Name] {
			kept = append(kept, p)
		}
	}
	s.pods = kept
}
