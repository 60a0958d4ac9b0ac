package crosscheck

import (
	"context"
	"encoding/json"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/memory"
)

var planesByName = map[string]func(context.Context, time.Time) (kvcl.ControlPlane, error){
	"envtest": func(ctx context.Context, now time.Time) (kvcl.ControlPlane, error) {
		return kvcl.Start(ctx, kvcl.Options{Now: now})
	},
	"memory": func(ctx context.Context, now time.Time) (kvcl.ControlPlane, error) {
		return memory.Start(ctx, memory.Options{Now: now, Recall: true})
	},
	"memory-stock": func(ctx context.Context, now time.Time) (kvcl.ControlPlane, error) {
		return memory.Start(ctx, memory.Options{Now: now})
	},
}

var (
	inMemory = Plane{Name: "memory", Start: planesByName["memory"]}
	stock    = Plane{Name: "memory-stock", Start: planesByName["memory-stock"]}
)

var (
	seedsFlag  = flag.Int("seeds", 200, "how many programs to run")
	firstFlag  = flag.Uint64("first-seed", 1, "the seed of the first program")
	seedFlag   = flag.Uint64("seed", 0, "run this program alone, and print it")
	jobsFlag   = flag.Int("jobs", 2, "how many pairs of control planes work at once; the result does not depend on it")
	triesFlag  = flag.Int("shrink-tries", DefaultTries, "how many runs may be spent on making one program smaller; -1: none")
	planesFlag = flag.String("planes", "envtest,memory", "the two control planes: envtest (a real kube-apiserver and etcd), memory (the same without processes), or memory-stock (memory with a scheduler that remembers nothing about nodes)")
	ignoreFlag = flag.String("ignore", "", "a difference that is known, by its first line: 'Pod .Spec.Overhead'")
)

// TestPlanesAgree plays random programs on two control planes. make crosscheck runs it alone, with the flags above.
func TestPlanesAgree(t *testing.T) {
	o := Options{First: *firstFlag, Seeds: *seedsFlag, Jobs: *jobsFlag, Tries: *triesFlag, Ignore: []string{*ignoreFlag}}
	if *seedFlag != 0 {
		o.First, o.Seeds = *seedFlag, 1
		o.Program = func(p Program) { t.Logf("seed %d\n%s", p.Seed, p.Text()) }
	}
	names := strings.Split(*planesFlag, ",")
	if len(names) != 2 {
		t.Fatalf("-planes %s: want two, such as envtest,memory", *planesFlag)
	}
	for i, name := range names {
		start := planesByName[name]
		if start == nil {
			t.Fatalf("-planes: unknown control plane %q: want envtest, memory or memory-stock", name)
		}
		o.Planes[i] = Plane{Name: name, Start: start}
	}
	r, err := Check(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	noDifference(t, r)
}

func noDifference(t *testing.T, r *Result) {
	t.Helper()
	for _, d := range r.Differences {
		t.Errorf("%s\nseeds %d, shrunk %v, alone %v; again: make crosscheck PLANES=%s SEED=%d\n%s\nafter step %d (- %s + %s)\n%s", d.Site, d.Seeds, d.Shrunk, d.Alone,
			strings.Join(r.Planes[:], ","), d.Seeds[0], d.Program, d.Step, r.Planes[0], r.Planes[1], d.Diff)
	}
	c, err := json.MarshalIndent(r.Coverage, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", c)
}
