package recall_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"

	"github.com/scalehist/scalehist/harness/kvcl/crank"
	"github.com/scalehist/scalehist/harness/kvcl/profile"
	"github.com/scalehist/scalehist/harness/kvcl/recall"
)

func TestMain(m *testing.M) {
	flags := flag.NewFlagSet("", flag.PanicOnError)
	klog.InitFlags(flags)
	// A pod deleted while it fails, or nominated to a node that is gone, is worth a line to the scheduler.
	if err := flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"}); err != nil {
		panic(err)
	}
	klog.SetOutput(io.Discard)
	klog.EnableContextualLogging(false) // as control planes do: stock is slower still with it
	os.Exit(m.Run())
}

// TestSameAsStock plays programs to two schedulers, one with a memory, and compares all they do after each Settle: bindings,
// messages, victims, writes, each in order. A program that differs is made smaller before it is shown.
// SCALEHIST_RECALL_SEEDS says how many programs, SCALEHIST_RECALL_SEED where to begin.
func TestSameAsStock(t *testing.T) {
	same(t, number(t, "SCALEHIST_RECALL_SEEDS", 20), number(t, "SCALEHIST_RECALL_SEED", 1))
}

// TestSameWithoutRoom is TestSameAsStock with a memory that has room for next to nothing and forgets all the time.
func TestSameWithoutRoom(t *testing.T) {
	defer recall.SetRoom(30, 10, 2)()
	same(t, number(t, "SCALEHIST_RECALL_SEEDS", 20)/4, number(t, "SCALEHIST_RECALL_SEED", 1)+50_000)
}

func same(t *testing.T, seeds, first int) {
	t.Helper()
	var (
		mu    sync.Mutex
		total recall.Stats
		wg    sync.WaitGroup
	)
	total.Stock = map[string]int{}
	var bound, pending, victims int
	next := make(chan uint64)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := range next {
				p := newProgram(seed)
				diff, stats, err := p.play(t.Context())
				seen := p.seen
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
				if diff != "" {
					small, diff := p.shrink(t.Context(), diff)
					t.Errorf("seed %d, features %v:\n%s(-stock +recall):\n%s", seed, slices.Sorted(maps.Keys(on(p.features))), small, diff)
				}
				mu.Lock()
				bound, pending, victims = bound+seen[0], pending+seen[1], victims+seen[2]
				total.Recalled += stats.Recalled
				total.Spared += stats.Spared
				total.Asked += stats.Asked
				total.Known += stats.Known
				for why, n := range stats.Stock {
					total.Stock[why] += n
				}
				mu.Unlock()
			}
		})
	}
	for seed := range seeds {
		if t.Failed() {
			break
		}
		next <- uint64(first + seed)
	}
	close(next)
	wg.Wait()
	t.Logf("%d programs, %d pods bound, %d times pending, %d victims: %+v", seeds, bound, pending, victims, total)
	stock := 0
	for _, n := range total.Stock {
		stock += n
	}
	if seeds >= 20 && (total.Recalled+total.Spared < stock || total.Spared == 0) {
		t.Errorf("%d cycles of %d were recalled, %d were spared: the programs do not test the memory", total.Recalled, total.Recalled+stock, total.Spared)
	}
}

func on(m map[string]bool) map[string]bool {
	maps.DeleteFunc(m, func(_ string, on bool) bool { return !on })
	return m
}

func number(t *testing.T, name string, byDefault int) int {
	text := os.Getenv(name)
	if text == "" {
		return byDefault
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// outcome is all that can be seen of a Settle.
type outcome struct {
	Result crank.Result
	Writes []string
	Error  string
}

// play runs the program on both and returns the first difference.
func (p *program) play(ctx context.Context) (diff string, stats recall.Stats, err error) {
	options := crank.Options{TieBreak: profile.TieBreak(p.seed % 3)}
	if p.seed/2%2 == 0 {
		options.Scoring = profile.ScoringBinPacking
	}
	var worlds [2]*world
	for i := range worlds {
		options.Recall = i == 1
		if worlds[i], err = newWorld(ctx, options); err != nil {
			return "", stats, err
		}
		defer worlds[i].Close()
	}
	for step, o := range p.ops {
		var seen [2]outcome
		for i, w := range worlds {
			if o.verb != settle {
				if err := verbs[o.verb].do(p, w, o.n); err != nil {
					return "", stats, err
				}
				continue
			}
			result, err := w.settle(ctx)
			seen[i] = outcome{Result: result, Writes: w.writes}
			if err != nil {
				seen[i].Error = err.Error()
			}
		}
		if diff := cmp.Diff(seen[0], seen[1]); diff != "" {
			return fmt.Sprintf("after step %d:\n%s", step, diff), worlds[1].RecallStats(), nil
		}
		p.seen[0] += len(seen[0].Result.Bindings)
		p.seen[1] += len(seen[0].Result.Unschedulable)
		p.seen[2] += len(seen[0].Result.Victims)
		if seen[0].Error != "" {
			break
		}
	}
	return "", worlds[1].RecallStats(), nil
}

// shrink takes ops out as long as the rest still differs.
func (p *program) shrink(ctx context.Context, diff string) (*program, string) {
	for again := true; again; {
		again = false
		for i := len(p.ops) - 1; i >= 0; i-- {
			q := *p
			q.made = map[*world]int{}
			q.ops = slices.Delete(slices.Clone(p.ops), i, i+1)
			if d, _, err := q.play(ctx); err == nil && d != "" {
				p, diff, again = &q, d, true
			}
		}
	}
	return p, diff
}
