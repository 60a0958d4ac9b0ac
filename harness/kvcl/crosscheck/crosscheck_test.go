package crosscheck

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/memory"
)

var (
	envtest = Plane{Name: "envtest", Start: func(ctx context.Context, now time.Time) (kvcl.ControlPlane, error) {
		return kvcl.Start(ctx, kvcl.Options{Now: now})
	}}
	inMemory = Plane{Name: "memory", Start: func(ctx context.Context, now time.Time) (kvcl.ControlPlane, error) {
		return memory.Start(ctx, memory.Options{Now: now, Recall: true})
	}}
	stock = Plane{Name: "memory-stock", Start: func(ctx context.Context, now time.Time) (kvcl.ControlPlane, error) {
		return memory.Start(ctx, memory.Options{Now: now})
	}}
)

// TestEnvtestAgainstMemory: set SCALEHIST_CROSSCHECK_SEEDS to run more, or fewer.
func TestEnvtestAgainstMemory(t *testing.T) {
	seeds := 200
	if text := os.Getenv("SCALEHIST_CROSSCHECK_SEEDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("SCALEHIST_CROSSCHECK_SEEDS=%s: want a number of seeds", text)
		}
		seeds = n
	}
	r, err := Check(t.Context(), Options{Planes: [2]Plane{envtest, inMemory}, First: 1, Seeds: seeds, Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	noDifference(t, r)
}

func noDifference(t *testing.T, r *Result) {
	t.Helper()
	for _, d := range r.Differences {
		t.Errorf("%s\nseeds %d, shrunk %v, alone %v\n%s\nafter step %d\n%s", d.Site, d.Seeds, d.Shrunk, d.Alone, d.Program, d.Step, d.Diff)
	}
	c, err := json.MarshalIndent(r.Coverage, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", c)
}
