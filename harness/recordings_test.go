package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/virtual"
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
			// Node objects go 3 s after DeleteNodes.
			if d := in.DeletionDelay; d != nil && (*d < 3*time.Second || *d > 3500*time.Millisecond) {
				t.Errorf("deletion delay %s, want 3s", *d)
			}
			if slices.ContainsFunc(in.NodeFaults, func(f NodeFault) bool { return f.Recorded }) {
				t.Errorf("node faults %v, want none: the autoscaler took every node that went", in.NodeFaults)
			}
			for _, w := range in.Warnings {
				t.Log(w)
			}
		})
	}
}

func importFile(t *testing.T, path string) *Input {
	t.Helper()
	in, err := FromHistory(t.Context(), openLog(t, path), Window{})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func openLog(t *testing.T, path string) *history.DB {
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
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// TestDemandIsConserved: in any window of any real recording, what is fed in comes to the pods that were alive at its
// end, however often they were evicted and replaced on the way; no name comes twice, and all that is deleted was there.
func TestDemandIsConserved(t *testing.T) {
	dir := filepath.Join("..", "..", "shared", "recordings")
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		t.Skip("../shared/recordings is absent: there are no real recordings to judge by")
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*.jsonl*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range logs {
		if strings.HasPrefix(filepath.Base(log), "openb") {
			continue // nothing is evicted there, and it is long
		}
		t.Run(filepath.Base(log), func(t *testing.T) {
			t.Parallel()
			db := openLog(t, log)
			start, end := db.Span()
			const parts = 11
			for i := range parts {
				for _, j := range []int{i + 2, parts} {
					w := Window{From: start.Add(end.Sub(start) * time.Duration(i) / parts), To: start.Add(end.Sub(start) * time.Duration(min(j, parts)) / parts)}
					in, err := FromHistory(t.Context(), db, w)
					if err != nil {
						t.Fatal(err)
					}
					conserved(t, db, in)
				}
			}
		})
	}
}

func conserved(t *testing.T, db *history.DB, in *Input) {
	t.Helper()
	alive := map[string]bool{} // false: it ran to its end
	window := fmt.Sprintf("window +%s to +%s", in.Start.Sub(spanStart(db)), in.End.Sub(spanStart(db)))
	for _, ch := range append(slices.Clone(in.Initial), in.Changes...) {
		p, ok := ch.Object.(*corev1.Pod)
		if !ok || followsNode(p) {
			continue
		}
		key := keyOf(p).String()
		_, there := alive[key]
		switch ch.Op {
		case scalehist.OpAdd:
			if there {
				t.Errorf("%s: %s comes twice", window, key)
			}
			alive[key] = p.Annotations[virtual.RunForAnnotation] == ""
		case scalehist.OpDelete:
			delete(alive, key)
		}
	}
	got := 0
	for _, yes := range alive {
		if yes {
			got++
		}
	}
	s, err := db.SnapshotAt(t.Context(), in.End)
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, p := range s.Objects.Pods {
		if !followsNode(p) && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			want++
		}
	}
	if got != want {
		t.Errorf("%s: %d pods are alive at the end, recorded were %d; warnings %q", window, got, want, in.Warnings)
	}
}

func spanStart(db *history.DB) time.Time {
	from, _ := db.Span()
	return from
}
