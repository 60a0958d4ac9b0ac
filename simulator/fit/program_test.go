package fit

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
)

// program runs random operations on a Checker and on the plain one and compares every answer.
type program struct {
	rt   *rapid.T
	ctx  context.Context
	c    *Checker
	ref  *reference
	o    *scalehist.Objects
	made int
	// kinds are the few kinds of pods of this program.
	kinds []string
}

func (p *program) do(err error) {
	if err != nil {
		p.rt.Fatal(err)
	}
}

func (p *program) draw(label string, n int) int { return rapid.IntRange(0, n-1).Draw(p.rt, label) }

// pod makes a new pod of one of the program's kinds.
func (p *program) pod(label string) *corev1.Pod {
	p.made++
	kind := rapid.SampledFrom(p.kinds).Draw(p.rt, label)
	return anyPod(fmt.Sprintf("p%d", p.made), kind, rapid.SampledFrom([]string{"100m", "100m", "700m"}).Draw(p.rt, "cpu"))
}

func (p *program) node() *corev1.Node {
	p.made++
	return oddNode(fmt.Sprintf("n%d", p.made), p.draw("zone", 4), p.draw("odd", 10))
}

func (p *program) some() []*corev1.Pod {
	var out []*corev1.Pod
	for range p.draw("pods", 3) {
		out = append(out, p.pod("came with"))
	}
	return out
}

// reset changes the base: a node more or less, a pod more or less, other storage and namespaces.
func (p *program) reset() {
	base := &p.ref.base
	switch op := p.draw("reset", 6); {
	case op == 0 || len(*base) == 0:
		*base = append(*base, refNode{p.node(), p.some()})
	case op == 1:
		at := p.draw("at", len(*base))
		*base = slices.Delete(cloneNodes(*base), at, at+1)
	case op == 2:
		n := &(*base)[p.draw("at", len(*base))]
		n.pods = append(slices.Clone(n.pods), p.pod("bound"))
	case op == 3:
		n := &(*base)[p.draw("at", len(*base))]
		if len(n.pods) > 0 {
			at := p.draw("pod", len(n.pods))
			n.pods = slices.Delete(slices.Clone(n.pods), at, at+1)
		}
	case op == 4:
		p.o = storage(fmt.Sprintf("z%d", p.draw("zone", 3)), rapid.Bool().Draw(p.rt, "team"))
	}
	var nodes []*corev1.Node
	bound := map[string][]*corev1.Pod{}
	for _, n := range *base {
		nodes, bound[n.node.Name] = append(nodes, n.node), n.pods
	}
	p.do(p.ref.reset(p.o))
	p.do(p.c.Reset(p.o, nodes, func(n string) []*corev1.Pod { return bound[n] }))
}

// change is one change of the snapshot.
func (p *program) change() {
	s := p.c.Snapshot()
	if s.Len() == 0 {
		n, pods := p.node(), p.some()
		p.ref.addNode(n, pods...)
		p.do(s.AddNode(NewNodeInfo(n, pods...)))
		return
	}
	at := p.draw("at", s.Len())
	switch op := p.draw("change", 12); {
	case op < 6:
		pod := p.pod("placed")
		p.ref.place(pod, at)
		p.c.Place(pod, at)
	case op < 8:
		if pods := p.ref.nodes[at].pods; len(pods) > 0 {
			pod := pods[p.draw("pod", len(pods))]
			p.ref.removePod(pod, at)
			p.do(s.RemovePod(withUID(pod), at))
		}
	case op == 8:
		p.ref.removeNode(at)
		p.do(s.RemoveNode(s.NodeInfo(at).Node().Name))
	case op == 9:
		// A ghost: closed by a taint, or another node of the same name.
		n := s.NodeInfo(at).Node().DeepCopy()
		pods := []*corev1.Pod(nil)
		if rapid.Bool().Draw(p.rt, "ghost") {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "gone", Effect: corev1.TaintEffectNoSchedule})
		} else {
			n, pods = oddNode(n.Name, p.draw("zone", 4), p.draw("odd", 10)), p.some()
		}
		p.ref.replaceNode(at, n, pods...)
		p.do(s.ReplaceNode(at, NewNodeInfo(n, pods...)))
	default:
		n, pods := p.node(), p.some()
		p.ref.addNode(n, pods...)
		p.do(s.AddNode(NewNodeInfo(n, pods...)))
	}
}

// mark forks, reverts or commits.
func (p *program) mark() {
	switch p.draw("mark", 7) {
	case 0, 1, 2:
		p.ref.fork()
		p.c.Snapshot().Fork()
	case 3, 4:
		if len(p.ref.forks) > 0 {
			p.ref.revert()
			p.c.Snapshot().Revert()
		}
	case 5:
		p.ref.commit()
		p.c.Snapshot().Commit()
	case 6:
		if len(p.ref.forks) == 0 && rapid.Bool().Draw(p.rt, "to the base") {
			p.ref.revert()
			p.c.Snapshot().Revert()
		}
	}
}

// ask compares answers about one pod; some are asked more than once and about several nodes.
func (p *program) ask() {
	s := p.c.Snapshot()
	if s.Len() == 0 {
		return
	}
	pod := p.pod("asked")
	switch op := p.draw("ask", 8); {
	case op < 3:
		for at := range s.Len() {
			why := p.ref.check(p.ctx, pod, at)
			if got := p.c.Fits(p.ctx, pod, at); got != (why == nil) {
				p.rt.Fatalf("%s on %s: fits %v, want %v (%v)\n%v", pod.Labels, s.NodeInfo(at).Node().Name, got, why == nil, why, world(s))
			}
		}
	case op == 3:
		at := p.draw("at", s.Len())
		if diff := cmp.Diff(p.ref.check(p.ctx, pod, at), p.c.Check(p.ctx, pod, at)); diff != "" {
			p.rt.Fatalf("%s on %s (-want +got):\n%s\n%v", pod.Labels, s.NodeInfo(at).Node().Name, diff, world(s))
		}
	case op == 4:
		among := make([]bool, p.draw("among", s.Len()+1))
		for i := range among {
			among[i] = rapid.Bool().Draw(p.rt, "in")
		}
		at, ok := p.c.FirstFitAmong(p.ctx, pod, among)
		want, found := p.ref.firstFit(p.ctx, pod, 0, s.Len(), func(at int) bool { return at < len(among) && among[at] })
		p.fit(pod, at, ok, want, found)
	default:
		from, to, except := 0, s.Len(), -1
		if op == 5 {
			from, except = p.draw("from", s.Len()), p.draw("except", s.Len())
			to = from + p.draw("to", s.Len()-from+1)
		}
		for range 1 + p.draw("as many", 6) {
			at, ok := p.c.FirstFit(p.ctx, pod, from, to, except)
			want, found := p.ref.firstFit(p.ctx, pod, from, to, func(at int) bool { return at != except })
			p.fit(pod, at, ok, want, found)
			if ok && op > 6 {
				p.ref.place(pod, at)
				p.c.Place(pod, at)
			}
			p.made++
			pod = pod.DeepCopy()
			pod.Name, pod.UID = fmt.Sprintf("p%d", p.made), ""
		}
	}
}

func (p *program) fit(pod *corev1.Pod, at int, ok bool, want int, found bool) {
	if ok != found || (ok && at != want) {
		p.rt.Fatalf("%s: fits at %d (%v), want %d (%v)\n%v", pod.Labels, at, ok, want, found, world(p.c.Snapshot()))
	}
}

// TestProgramsAgainstPlainChecker: through any program of changes, forks and resets, every answer is that of the
// scheduler's plugins asked again. SCALEHIST_FIT_SEEDS sets how many programs.
func TestProgramsAgainstPlainChecker(t *testing.T) {
	if n := os.Getenv("SCALEHIST_FIT_SEEDS"); n != "" {
		if err := flag.Set("rapid.checks", n); err != nil {
			t.Fatalf("SCALEHIST_FIT_SEEDS: %v", err)
		}
	}
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	ref, err := newReference()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		// The checkers are kept from program to program, as they are from loop to loop.
		p := &program{rt: rt, ctx: t.Context(), c: c, ref: ref, o: storage("z1", rapid.Bool().Draw(rt, "team"))}
		ref.base, ref.last, c.last = nil, 0, 0
		// Few kinds, so that shapes are met again.
		p.kinds = rapid.SliceOfN(rapid.SampledFrom(allKinds), 1, 5).Draw(rt, "kinds")
		for range 1 + p.draw("nodes", 5) {
			ref.base = append(ref.base, refNode{p.node(), p.some()})
		}
		p.reset()
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			switch op := p.draw("step", 12); {
			case op < 2:
				p.mark()
			case op < 6:
				p.change()
			case op == 6 && p.draw("again", 2) == 0:
				p.reset()
			default:
				p.ask()
			}
		}
	})
}
