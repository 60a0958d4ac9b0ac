package harness

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalehist/scalehist/recorder/history"
)

// TestTruthOfRealRecordings: the logs of a real cluster-autoscaler give the size changes its provider was asked for,
// which a truth file holds beside each.
func TestTruthOfRealRecordings(t *testing.T) {
	dir := filepath.Join("..", "..", "shared", "recordings")
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		t.Skip("../shared/recordings is absent: there are no real recordings to judge by")
	}
	logs, err := filepath.Glob(filepath.Join(dir, "ca-*.jsonl*"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no ca-*.jsonl* in %s (%v)", dir, err)
	}
	for _, log := range logs {
		name, _, _ := strings.Cut(filepath.Base(log), ".")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(filepath.Join(dir, name+".truth.json"))
			if err != nil {
				t.Fatal(err)
			}
			var truth struct {
				NodeGroups []struct {
					Name         string
					DelaySeconds float64 `json:"provisionDelaySeconds"`
				}
				Runs []struct {
					ScaledUp, ScaledDown, FinalSizes map[string]int
					UnschedulableAtEnd               []json.RawMessage
				}
			}
			if err := json.Unmarshal(b, &truth); err != nil {
				t.Fatal(err)
			}
			in := importFile(t, log)
			run := truth.Runs[0]
			empty := cmpopts.EquateEmpty()
			nonZero := cmpopts.IgnoreMapEntries(func(_ string, n int) bool { return n == 0 })
			for _, c := range []struct {
				what      string
				want, got any
			}{
				{"scaled up", run.ScaledUp, in.Truth.ScaledUpNodeGroups}, {"scaled down", run.ScaledDown, in.Truth.ScaledDownNodeGroups},
				{"final sizes", run.FinalSizes, in.Truth.FinalSizes}, {"unschedulable at the end", len(run.UnschedulableAtEnd), in.Truth.UnschedulableAtEnd},
			} {
				if diff := cmp.Diff(c.want, c.got, empty, nonZero); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.what, diff)
				}
			}
			for _, g := range truth.NodeGroups {
				// Measured: nodes are Ready up to half a second after the delay.
				if got, ok := in.ProvisionDelays[g.Name]; ok && (got.Seconds() < g.DelaySeconds || got.Seconds() > g.DelaySeconds+1) {
					t.Errorf("provision delay of %s: %s, want %gs", g.Name, got, g.DelaySeconds)
				}
			}
			for _, w := range in.Warnings {
				t.Log(w)
			}
		})
	}
}

func importFile(t *testing.T, path string) *Input {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dst := filepath.Join(t.TempDir(), "recording.db")
	if _, err := history.Import(t.Context(), f, dst, history.ImportOptions{Name: path}); err != nil {
		t.Fatal(err)
	}
	db, err := history.Open(t.Context(), dst)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	in, err := FromHistory(t.Context(), db, Window{})
	if err != nil {
		t.Fatal(err)
	}
	return in
}
