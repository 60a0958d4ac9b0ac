package crosscheck

import (
	"fmt"
	"math/bits"
	"reflect"
	"runtime"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
)

const (
	// maxSteps and maxPods bound a program: many small ones find more than a few large ones.
	maxSteps = 7
	maxPods  = 25
)

// gen draws one program. It keeps a rough idea of what is there, so that most changes work: what the scheduler and budgets
// do to a cluster it does not know. Changes that need to work are guarded instead.
type gen struct {
	t       *rapid.T
	theme   theme
	reached map[string]int
	// there are the objects as they were given last, per kind, in the order they were added.
	there map[string][]scalehist.Object
	pods  int
	made  map[string]int
}

// theme is what a program is mostly about, so that programs can be small and yet things meet.
type theme string

const (
	general  theme = "general"
	crowded  theme = "crowded"  // little room and many priorities: preemption
	spread   theme = "spread"   // pods that look at other pods
	storage  theme = "storage"  // claims, volumes, classes, limits
	budgets  theme = "budgets"  // evictions
	life     theme = "life"     // updates and deletions
	mistakes theme = "mistakes" // what the API server refuses
	fleet    theme = "fleet"    // nodes that come, change and go
)

var themes = []theme{general, crowded, spread, storage, budgets, life, mistakes, fleet}

func generate(t *rapid.T) (p Program) {
	defer func() {
		// rapid takes any panic for a draw that did not work out, and draws again.
		if r := recover(); r != nil {
			err, ok := r.(runtime.Error)
			if !ok {
				panic(r)
			}
			p = Program{broken: err}
		}
	}()
	g := &gen{t: t, reached: map[string]int{}, there: map[string][]scalehist.Object{}, made: map[string]int{}}
	g.theme = themes[g.n(len(themes))]
	g.reach("theme: " + string(g.theme))
	p = Program{Reached: g.reached}
	p.Steps = append(p.Steps, Step{Apply: g.world()})
	for range 2 + g.n(maxSteps-1) {
		p.Steps = append(p.Steps, g.step()...)
	}
	p.Steps = append(p.Steps, Step{Settle: g.duration()})
	return p
}

// n draws from 0 to k-1, evenly: rapid's own numbers prefer the ends of a range, and half of a long table would hardly
// ever come.
func (g *gen) n(k int) int {
	for {
		n := 0
		for range bits.Len(uint(k - 1)) {
			n <<= 1
			if coin.Draw(g.t, "bit") {
				n++
			}
		}
		if n < k {
			return n
		}
	}
}

var coin = rapid.Bool()

// in is true once in n draws.
func (g *gen) in(n int) bool { return g.n(n) == n-1 }

func pick[T any](g *gen, of ...T) T { return of[g.n(len(of))] }

func (g *gen) reach(what string) { g.reached[what]++ }

// name makes a new name, or one that was used before.
func (g *gen) name(prefix string) string {
	if n := g.made[prefix]; n > 0 && g.in(8) {
		g.reach("name used again")
		return fmt.Sprintf("%s-%d", prefix, g.n(n))
	}
	g.made[prefix]++
	return fmt.Sprintf("%s-%d", prefix, g.made[prefix]-1)
}

func (g *gen) namespace() string {
	return pick(g, "default", "default", "default", "team-a", "team-b")
}

// duration is a second most of the time, and now and then one that makes the scheduler try everything again.
func (g *gen) duration() time.Duration {
	return pick(g, time.Second, 0, 250*time.Millisecond, 7*time.Second, 20*time.Second, time.Minute, 6*time.Minute, 1500*time.Microsecond, 2*time.Hour)
}

// step draws the next call, and usually lets the scheduler run after it.
func (g *gen) step() []Step {
	var s Step
	switch k := g.n(10); {
	case k == 9 || k >= 5 && g.theme == budgets:
		s = g.evict()
	case k == 8 || k >= 7 && g.theme == fleet:
		s = g.taints()
	case k == 7 && g.in(4):
		g.reach("settle: the clock goes back")
		s = Step{Settle: -time.Second}
	default:
		s = Step{Apply: g.changes()}
	}
	if g.in(5) {
		return []Step{s}
	}
	return []Step{s, {Settle: g.duration()}}
}

// world is what a program starts with: some nodes, and what its theme needs.
func (g *gen) world() []Change {
	var out []Change
	for range 1 + g.n(4) {
		out = append(out, g.addNode())
	}
	if g.theme == crowded || g.in(4) {
		for range 1 + g.n(3) {
			out = append(out, g.addOther(priorityClass))
		}
	}
	if g.theme == storage {
		out = append(out, g.addOther(storageClass))
		for range g.n(4) {
			out = append(out, g.addOther(csiNode))
		}
	}
	if g.theme == storage || g.in(6) {
		for range 3 + g.n(4) {
			out = append(out, g.addOther(pick(g, storageKinds...)))
		}
	}
	if g.theme == budgets || g.theme == crowded && g.in(3) {
		for range 1 + g.n(2) {
			out = append(out, g.addOther(budget))
		}
	}
	if g.theme == spread {
		for range g.n(3) {
			out = append(out, g.addOther(pick(g, workloads...)))
		}
	}
	for range 2 + g.n(6) {
		out = append(out, g.addPod())
	}
	return g.trim(out)
}

// trim drops the draws that came to nothing.
func (g *gen) trim(changes []Change) []Change {
	kept := changes[:0]
	for _, c := range changes {
		if c.Op != "" {
			kept = append(kept, c)
		}
	}
	return kept
}

func (g *gen) changes() []Change {
	var out []Change
	for range 1 + g.n(7) {
		out = append(out, g.change())
	}
	// Nothing after a mistake is applied, so it comes last most of the time.
	if g.in(6) || g.theme == mistakes && !g.in(3) {
		bad := g.mistake()
		if g.in(4) {
			at := g.n(len(out) + 1)
			out = append(out[:at:at], append([]Change{bad}, out[at:]...)...)
		} else {
			out = append(out, bad)
		}
	}
	return g.trim(out)
}

func (g *gen) change() Change {
	pods, updates, deletes, nodes, others := 8, 3, 2, 2, 3
	switch g.theme {
	case crowded, spread:
		pods = 14
	case storage:
		others = 8
	case life, budgets:
		updates, deletes = 8, 4
	case fleet:
		nodes = 10
	case general, mistakes:
	}
	k := g.n(pods + updates + deletes + nodes + others)
	switch {
	case k < pods:
		return g.addPod()
	case k < pods+updates:
		return g.updatePod()
	case k < pods+updates+deletes:
		return g.delete()
	case k < pods+updates+deletes+nodes:
		return g.changeNode()
	default:
		return g.changeOther()
	}
}

// added takes note of an object and makes the change that adds it.
func (g *gen) added(obj scalehist.Object) Change {
	k := kindName(obj)
	again := g.forget(obj)
	g.there[k] = append(g.there[k], obj)
	c := Change{Op: scalehist.OpAdd, Object: obj, Guarded: true}
	if k == "Namespace" && !again {
		// It may be there because something in it is, and is then the one that was made for it.
		g.reach("namespace added after its content")
		c.Guarded = false
	}
	if g.in(10) {
		c.Ago = time.Duration(1+g.n(5)) * time.Second
	}
	return c
}

// forget drops the object of that name, and says whether there was one.
func (g *gen) forget(obj scalehist.Object) bool {
	k := kindName(obj)
	for i, o := range g.there[k] {
		if sameName(o, obj) {
			g.there[k] = append(g.there[k][:i:i], g.there[k][i+1:]...)
			return true
		}
	}
	return false
}

// some picks an object of a kind that may be there, nil when none was added.
func (g *gen) some(kind string) scalehist.Object {
	if all := g.there[kind]; len(all) > 0 {
		return all[g.n(len(all))]
	}
	return nil
}

// updated takes note of an object that is about to be updated whole.
func (g *gen) updated(obj scalehist.Object) Change {
	k := kindName(obj)
	for i, o := range g.there[k] {
		if sameName(o, obj) {
			g.there[k][i] = obj
		}
	}
	return Change{Op: scalehist.OpUpdate, Object: obj, Guarded: true}
}

// edited is an update of the object as the control plane shows it.
func edited(obj scalehist.Object, name string, do func(scalehist.Object)) Change {
	return Change{Op: scalehist.OpUpdate, Object: bare(obj), Edit: &Edit{Name: name, Do: do}}
}

// bare is an object with nothing but its name.
func bare(obj scalehist.Object) scalehist.Object {
	out := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(scalehist.Object)
	out.SetNamespace(obj.GetNamespace())
	out.SetName(obj.GetName())
	return out
}

func (g *gen) delete() Change {
	kind := pick(g, "Pod", "Pod", "Pod", "Node", g.someKind())
	if len(g.there[kind]) == 0 {
		return Change{}
	}
	obj := g.some(kind)
	g.reach("delete " + kindName(obj))
	return g.deleted(obj)
}

func (g *gen) deleted(obj scalehist.Object) Change {
	g.forget(obj)
	return Change{Op: scalehist.OpDelete, Object: bare(obj), Guarded: true}
}

func (g *gen) evict() Step {
	pod := types.NamespacedName{Namespace: g.namespace(), Name: "absent"}
	if p := g.some("Pod"); p != nil && !g.in(12) {
		pod = types.NamespacedName{Namespace: p.GetNamespace(), Name: p.GetName()}
	} else {
		g.reach("evict what is not there")
	}
	return Step{Evict: &pod}
}

func kindName(obj scalehist.Object) string {
	if obj == nil {
		return "nothing"
	}
	return reflect.TypeOf(obj).Elem().Name()
}

func sameName(a, b scalehist.Object) bool {
	return a.GetName() == b.GetName() && a.GetNamespace() == b.GetNamespace()
}

// feature is a named way to draw something into an object.
type feature[T any] struct {
	name string
	draw func(g *gen, obj T)
}

// draw puts up to most features into an object. A feature may come twice.
func draw[T any](g *gen, what string, most int, obj T, features []feature[T]) {
	for range g.n(most + 1) {
		f := features[g.n(len(features))]
		g.reach(what + ": " + f.name)
		f.draw(g, obj)
	}
}
