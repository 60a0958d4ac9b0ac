package trace_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/intake"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/historytest"
)

// TestTruthOfRealRecordings: the logs of a real cluster-autoscaler give the size changes its provider was asked for,
// which a truth file holds beside each.
func TestTruthOfRealRecordings(t *testing.T) {
	truths, err := filepath.Glob(filepath.Join("..", "..", "fixtures", "*", "truth.json"))
	if err != nil || len(truths) == 0 {
		t.Fatalf("no fixtures with a truth.json (%v)", err)
	}
	for _, path := range truths {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(path)
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
			in, err := trace.FromHistory(t.Context(), historytest.Open(t, filepath.Join(filepath.Dir(path), "recording.db")), trace.Window{})
			if err != nil {
				t.Fatal(err)
			}
			if in.Origin == scalehist.OriginScripted {
				t.Error("the recording is of scalehist's own autoscaler: it has no truth")
			}
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
			// Node objects are removed 3 s after DeleteNodes.
			if d := in.DeletionDelay; d != nil && (*d < 3*time.Second || *d > 3500*time.Millisecond) {
				t.Errorf("deletion delay %s, want 3s", *d)
			}
			if slices.ContainsFunc(in.NodeFaults, func(f trace.NodeFault) bool { return f.Recorded }) {
				t.Errorf("node faults %v, want none: the autoscaler took every node that went", in.NodeFaults)
			}
			for _, w := range in.Warnings {
				t.Log(w)
			}
		})
	}
}

// TestDemandIsConserved: in any window of any real recording, what is fed in comes to the pods that were alive at its
// end, however often they were evicted and replaced on the way; no name comes twice, and all that is deleted was there.
// Nothing of it is refused.
func TestDemandIsConserved(t *testing.T) {
	recordings, err := filepath.Glob(filepath.Join("..", "..", "fixtures", "*", "recording.db"))
	if err != nil || len(recordings) == 0 {
		t.Fatalf("no fixtures (%v)", err)
	}
	for _, path := range recordings {
		name, db := filepath.Base(filepath.Dir(path)), historytest.Open(t, path)
		origin, err := db.Origin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if origin == scalehist.OriginScripted || name == "openb-100" {
			continue // jobs of scripts say themselves how long they run; in openb-100 nothing is evicted, and it is long
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start, end := db.Span()
			const parts = 11
			for i := range parts {
				for _, j := range []int{i + 2, parts} {
					w := trace.Window{From: start.Add(end.Sub(start) * time.Duration(i) / parts), To: start.Add(end.Sub(start) * time.Duration(min(j, parts)) / parts)}
					in, err := trace.FromHistory(t.Context(), db, w)
					if err != nil {
						t.Fatal(err)
					}
					conserved(t, db, in)
				}
			}
			whole, err := trace.FromHistory(t.Context(), db, trace.Window{})
			if err != nil {
				t.Fatal(err)
			}
			if refused, err := intake.Refusals(t.Context(), whole); err != nil || len(refused) > 0 {
				t.Errorf("an API server took these, and is said to refuse %+v (%v)", refused, err)
			}
		})
	}
}

func conserved(t *testing.T, db *history.DB, in *trace.Input) {
	t.Helper()
	alive := map[string]bool{} // false: it ran to its end
	window := fmt.Sprintf("window +%s to +%s", in.Start.Sub(spanStart(db)), in.End.Sub(spanStart(db)))
	for _, ch := range append(slices.Clone(in.Initial), in.Changes...) {
		p, ok := ch.Object.(*corev1.Pod)
		if !ok || podlife.FollowsNode(p) {
			continue
		}
		key := scalehist.NameOf(p).String()
		_, there := alive[key]
		switch ch.Op {
		case scalehist.OpAdd:
			if there {
				t.Errorf("%s: %s comes twice", window, key)
			}
			alive[key] = p.Annotations[podlife.RunForAnnotation] == ""
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
		if !podlife.FollowsNode(p) && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
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
