package engines

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/truth"
	"github.com/scalehist/scalehist/internal/goldentest"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

const (
	realRuns      = "../fixtures/real"
	allSeeds      = 20
	seedsEachTime = 2 // all take minutes with the race detector; -update plays all
)

// realRun is a load that the real cluster-autoscaler was run over, several times: its first run as an object log, and what all did.
type realRun struct {
	name  string
	truth *truth.File
	// seeds has a + for each seed that agrees, a - for each that does not.
	seeds string
	// fewer counts, over seeds and real runs, how often a replay agrees with the runs but that one.
	fewer int
	first *scalehist.ReplayReport
}

// play replays with the seeds 0 to n-1.
func (r *realRun) play(t *testing.T, n int) {
	t.Helper()
	f, err := os.Open(filepath.Join(realRuns, r.name+".jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(t.TempDir(), r.name+".db")
	if _, err := transfer.Import(t.Context(), io.Reader(z), db, transfer.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	for seed := range n {
		report := r.replay(t, db, int64(seed))
		v, err := r.truth.Compare(report)
		if err != nil {
			t.Fatal(err)
		}
		if r.first == nil {
			r.first = report
		}
		if v.Agreed {
			r.seeds += "+"
			r.fewer += len(r.truth.Runs)
			if ended := r.truth.Outcomes[v.Outcome-1]; r.endedAs(ended) == 1 {
				r.fewer--
			}
		} else {
			r.seeds += "-"
		}
	}
}

// endedAs counts the real runs that ended so.
func (r *realRun) endedAs(o scalehist.Outcome) (n int) {
	for _, run := range r.truth.Runs {
		if reflect.DeepEqual(run.Outcome(), o) {
			n++
		}
	}
	return n
}

func (r *realRun) replay(t *testing.T, db string, seed int64) *scalehist.ReplayReport {
	t.Helper()
	long := func(p *harness.Replayer) time.Duration {
		return r.truth.Length(p.RecordStartTime(), p.RecordDuration())
	}
	return replayedFor(t, db, "virtualca", long, harness.WithSeed(seed))
}

// TestAgreesWithRealRuns holds the virtual autoscaler to agreeing with runs of the real one where it did when fixtures/real/agreement.md was
// written, and no more: to agree more often is a reason to write it again (-update), not to fail. It holds none of our own replays as right.
func TestAgreesWithRealRuns(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(realRuns, "*.truth.json"))
	if err != nil || len(paths) < 30 {
		t.Fatalf("%d truths: %v", len(paths), err)
	}
	n := seedsEachTime
	if *update {
		n = allSeeds
	}
	runs := make([]*realRun, len(paths))
	t.Run("replays", func(t *testing.T) {
		for i, path := range paths {
			r := &realRun{name: strings.TrimSuffix(filepath.Base(path), ".truth.json")}
			if r.truth, err = truth.Read(path); err != nil {
				t.Fatal(err)
			}
			runs[i] = r
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				r.play(t, n)
			})
		}
	})
	if *update {
		goldentest.Text(t, filepath.Join(realRuns, "agreement.md"), agreement(runs), true)
		goldentest.Text(t, filepath.Join("..", "docs", "side-by-side.md"), sideBySide(runs), true)
		return
	}
	b, err := os.ReadFile(filepath.Join(realRuns, "agreement.md"))
	if err != nil {
		t.Fatal(err)
	}
	held := 0
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(line, "|")
		i := slices.IndexFunc(runs, func(r *realRun) bool { return len(cells) > 5 && strings.TrimSpace(cells[1]) == r.name })
		if i < 0 {
			continue
		}
		held++
		if want := strings.Trim(cells[5], " `")[:n]; want != runs[i].seeds {
			t.Errorf("%s: the seeds 0 to %d agreed %q, and agree %q: where that is better, write it with go test ./engines -run RealRuns -update", runs[i].name, n-1, want, runs[i].seeds)
		}
	}
	if held != len(runs) {
		t.Errorf("agreement.md has %d of %d loads", held, len(runs))
	}
}

// tally counts replays that agree and real runs that ended as another did.
type tally struct{ loads, seeds, fewer, alike, runs int }

func (a *tally) add(r *realRun) {
	a.loads++
	a.seeds += strings.Count(r.seeds, "+")
	a.fewer += r.fewer
	a.alike += r.truth.Alike()
	a.runs += len(r.truth.Runs)
}

func (a tally) String() string {
	return fmt.Sprintf("%d | %d of %d | %d of %d", a.loads, a.seeds, a.loads*allSeeds, a.alike, a.runs)
}

// featuresOf a load that was made from a seed, of those of one kind by one name.
func featuresOf(what string) []string {
	var out []string
	for f := range strings.SplitSeq(what, ", ") {
		switch {
		case strings.HasPrefix(f, "stock-out of "):
			f = "stock-out"
		case strings.HasPrefix(f, "pods take "):
			f = "pods take seconds to end"
		case f == "that is relaxed":
			f = "a PDB that is relaxed"
		case slices.Contains([]string{"least-waste", "most-pods", "least-nodes", "least-nodes,least-waste", "priority"}, f):
			f = "`--expander=" + f + "`"
		}
		out = append(out, f)
	}
	return out
}

func agreement(runs []*realRun) string {
	var b strings.Builder
	b.WriteString(`# How often the virtual autoscaler agrees with the real one

Written by ` + "`go test ./engines -run RealRuns -update`" + `. Each load was run several times with an unmodified cluster-autoscaler 1.36.1, kube-apiserver and kube-scheduler
(` + "`scalehist truth record`" + `): calm-N is made from the seed N, the others are recordings under fixtures. A replay agrees when it ends as one of the real runs
did, and begins with the steps that all of them took alike. Real runs are not alike either: the last column says how many ended as another of them did, which is all a
replay can be asked for. A + is a seed that agrees, from 0 on. [docs/truth.md](../../docs/truth.md) says why others do not.

| load | what happens | real runs that ended as another did | agree | seeds 0 to 19 |
|---|---|---|---|---|
`)
	var all, made tally
	by := map[string]*tally{}
	for _, r := range runs {
		all.add(r)
		fmt.Fprintf(&b, "| %s | %s | %d of %d | %d of %d | `%s` |\n", r.name, r.truth.What, r.truth.Alike(), len(r.truth.Runs), strings.Count(r.seeds, "+"), allSeeds, r.seeds)
		if !strings.HasPrefix(r.name, "calm-") {
			continue
		}
		made.add(r)
		for _, f := range featuresOf(r.truth.What) {
			if by[f] == nil {
				by[f] = &tally{}
			}
			by[f].add(r)
		}
	}
	b.WriteString("\n## By feature, of the loads made from a seed\n\n| feature | loads | replays that agree | real runs that ended as another did |\n|---|---|---|---|\n")
	for _, f := range slices.Sorted(maps.Keys(by)) {
		fmt.Fprintf(&b, "| %s | %s |\n", f, by[f])
	}
	fmt.Fprintf(&b, "| **all made from a seed** | %s |\n| **all** | %s |\n", made, all)
	b.WriteString("\n## As often as a real run\n\nA replay is held against all real runs of its load, and each of these against one fewer: the others. Held alike, against all but one of them in turn:\n\n| loads | replays | real runs |\n|---|---|---|\n")
	for _, row := range []struct {
		what string
		tally
	}{{"made from a seed", made}, {"all", all}} {
		compared := allSeeds * row.runs
		fmt.Fprintf(&b, "| %s | %d of %d, %.1f %% | %d of %d, %.1f %% |\n", row.what, row.fewer, compared, 100*float64(row.fewer)/float64(compared), row.alike, row.runs, 100*float64(row.alike)/float64(row.runs))
	}
	return b.String()
}

// sizeStep is one group's change of size in a run, at an offset from the run's first instant.
type sizeStep struct {
	at        float64
	what, why string
}

// stepsOf are the changes of size of a real run, in order.
func stepsOf(r truth.Run) []sizeStep {
	var out []sizeStep
	for group, sizes := range r.TargetSizes {
		for i := 1; i < len(sizes); i++ {
			s := sizeStep{at: sizes[i][0] - r.WorkloadStartSeconds, what: fmt.Sprintf("%s %d→%d", group, int(sizes[i-1][1]), int(sizes[i][1]))}
			for _, why := range r.Reasons { // the last one before: a drain takes its time
				if why.Group == group && why.At <= sizes[i][0] && (sizes[i][1] < sizes[i-1][1] || sizes[i][0]-why.At < 5) && strings.HasPrefix(why.Text, "unneeded") == (sizes[i][1] < sizes[i-1][1]) {
					s.why = why.Text
				}
			}
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b sizeStep) int { return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.what, b.what)) })
	return out
}

func sideBySide(runs []*realRun) string {
	var b strings.Builder
	b.WriteString(`# The virtual autoscaler beside the real one

Written by ` + "`go test ./engines -run RealRuns -update`" + `. Recordings under fixtures, each run ten times with an unmodified cluster-autoscaler 1.36.1 (` + "`scalehist truth record`" + `),
and replayed once with seed 0. Times are from the beginning of the workload. Where real runs took different steps, those of the runs that the replay comes nearest are shown, and
how many took them. A removal that drains ends seconds after the loop that decided it; a step that a replay did not take has "not". [fixtures/real/agreement.md](../fixtures/real/agreement.md) counts 20 seeds of each.
`)
	for _, r := range runs {
		if strings.HasPrefix(r.name, "calm-") {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n", r.name, strings.TrimSuffix(r.truth.What, "."))
		sequences := map[string][][]sizeStep{}
		for _, run := range r.truth.Runs {
			steps := stepsOf(run)
			var key []string
			for _, s := range steps {
				key = append(key, s.what)
			}
			slices.Sort(key) // steps milliseconds apart come in either order
			sequences[strings.Join(key, ", ")] = append(sequences[strings.Join(key, ", ")], steps)
		}
		left := replayedSteps(r)
		common := func(key string) (n int) {
			for _, s := range left {
				if slices.Contains(strings.Split(key, ", "), s.what) {
					n++
				}
			}
			return n
		}
		keys := slices.SortedFunc(maps.Keys(sequences), func(x, y string) int {
			return cmp.Or(cmp.Compare(common(y), common(x)), cmp.Compare(len(sequences[y]), len(sequences[x])), strings.Compare(x, y))
		})
		most := sequences[keys[0]]
		fmt.Fprintf(&b, "| step of %d of %d real runs | between | its log, in one of them | replayed at | why |\n|---|---|---|---|---|\n", len(most), len(r.truth.Runs))
		for _, s := range most[0] {
			low, high := s.at, s.at
			for _, run := range most[1:] {
				i := slices.IndexFunc(run, func(o sizeStep) bool { return o.what == s.what })
				low, high = min(low, run[i].at), max(high, run[i].at)
			}
			at, why := "not", ""
			if i := slices.IndexFunc(left, func(o sizeStep) bool { return o.what == s.what }); i >= 0 {
				at, why = fmt.Sprintf("%.1f s", left[i].at), left[i].why
				left = slices.Delete(left, i, i+1)
			}
			fmt.Fprintf(&b, "| %s | %.1f–%.1f s | %s | %s | %s |\n", s.what, low, high, s.why, at, why)
		}
		for _, s := range left {
			fmt.Fprintf(&b, "| | | | %s at %.1f s | %s |\n", s.what, s.at, s.why)
		}
		v, err := r.truth.Compare(r.first)
		if err != nil {
			panic(err) // it compared before
		}
		fmt.Fprintf(&b, "\nThe %d real runs ended in %s; the replay ended in ", len(r.truth.Runs), plural.Of(len(r.truth.Outcomes), "way"))
		if v.Outcome > 0 {
			b.WriteString("one of them")
		} else {
			b.WriteString("none of them")
		}
		fmt.Fprintf(&b, ", and with %d of 20 seeds it agrees.\n", strings.Count(r.seeds, "+"))
		if before, err := truth.Read(filepath.Join("..", "fixtures", r.name, "truth.json")); err == nil {
			fmt.Fprintf(&b, "Of the real runs %d ended as one of the %s did that the truth of the fixture has.\n", within(r.truth, before), plural.Of(len(before.Runs), "run"))
		}
	}
	return b.String()
}

// within counts the runs that ended as a run of another truth about the same load did.
func within(f, other *truth.File) (n int) {
	for _, run := range f.Runs {
		if slices.ContainsFunc(other.Outcomes, func(o scalehist.Outcome) bool { return reflect.DeepEqual(o, run.Outcome()) }) {
			n++
		}
	}
	return n
}

func replayedSteps(r *realRun) []sizeStep {
	start := r.truth.Runs[0].Start.Add(time.Duration(r.truth.Runs[0].WorkloadStartSeconds * float64(time.Second)))
	var out []sizeStep
	for _, s := range r.first.Steps {
		for _, c := range s.Changes {
			out = append(out, sizeStep{s.At.Sub(start).Seconds(), fmt.Sprintf("%s %d→%d", c.NodeGroup, c.From, c.To), reason(r.first, s, c)})
		}
	}
	return out
}

// reason is why a replay changed a size at an instant.
func reason(r *scalehist.ReplayReport, s scalehist.SizeStep, c scalehist.SizeChange) string {
	for _, d := range r.Decisions {
		if !d.At.Equal(s.At) {
			continue
		}
		for _, o := range d.Options {
			if o.Chosen && c.To > c.From && (o.NodeGroup == c.NodeGroup || slices.Contains(o.SimilarNodeGroups, c.NodeGroup)) {
				return fmt.Sprintf("%s for %s: %s", plural.Of(o.NodeCount, "node"), plural.Of(o.Pods, "pod"), o.Reason)
			}
		}
		for _, down := range d.ScaleDowns {
			if down.NodeGroup == c.NodeGroup && c.To < c.From {
				return down.Reason
			}
		}
	}
	return ""
}
