package harness_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/report"
)

// playedInParts plays a fixture in memory in parts, and gives the report of each.
func playedInParts(t *testing.T, fixture string, opts []harness.Option, parts ...time.Duration) []*scalehist.ReplayReport {
	t.Helper()
	opts = append([]harness.Option{harness.WithAutoscaler(engines.ClusterAutoscaler()), harness.OnControlPlane(harness.Memory)}, opts...)
	r, err := harness.NewReplayer(t.Context(), filepath.Join("..", "fixtures", fixture, "recording.db"), opts...)
	if err != nil {
		t.Fatal(err)
	}
	var out []*scalehist.ReplayReport
	for _, d := range parts {
		from := r.Now()
		got, err := r.Replay(t.Context(), d)
		if err != nil {
			t.Fatal(errors.Join(err, r.Close()))
		}
		if !r.Now().Equal(from.Add(d)) || !got.EndTime.Equal(r.Now()) || !got.StartTime.Equal(r.RecordStartTime()) {
			t.Errorf("after %s from %s it is %s, and the report is of %s to %s", d, from, r.Now(), got.StartTime, got.EndTime)
		}
		out = append(out, got)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

func canonical(t *testing.T, r *scalehist.ReplayReport) []byte {
	t.Helper()
	b, err := report.Canonical(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPartsAreTheWhole: a window played in parts, of uneven lengths and beyond its end, ends with the report of the whole, and
// the report of a part is that of a replay which ends there; what comes after it does not change it.
func TestPartsAreTheWhole(t *testing.T) {
	t.Parallel()
	for _, fixture := range []string{"two-machine-sizes", "stockout-fallback", "expendable-pods", "idle-after-burst", "from-zero"} {
		for name, opts := range map[string][]harness.Option{
			"default": nil,
			"batched": {harness.WithBatchInterval(10 * time.Second)},
			"at once": {harness.WithBatchInterval(0), harness.WithMoments()},
		} {
			t.Run(fixture+"/"+name, func(t *testing.T) {
				t.Parallel()
				length := lengthOf(t, fixture)
				first := length/2 + 3*time.Second + time.Nanosecond
				late := 2 * time.Minute
				whole := playedInParts(t, fixture, opts, length+late)
				parts := playedInParts(t, fixture, opts, first, length-first, late)
				if a, b := canonical(t, whole[0]), canonical(t, parts[2]); !bytes.Equal(a, b) {
					t.Errorf("in parts (-at once +in parts):\n%s", cmp.Diff(string(a), string(b)))
				}
				for i, end := range []time.Duration{first, length} {
					alone := playedInParts(t, fixture, opts, end)
					if a, b := canonical(t, alone[0]), canonical(t, parts[i]); !bytes.Equal(a, b) {
						t.Errorf("part %d (-alone +first of several):\n%s", i+1, cmp.Diff(string(a), string(b)))
					}
				}
			})
		}
	}
}

func lengthOf(t *testing.T, fixture string) time.Duration {
	t.Helper()
	path := filepath.Join("..", "fixtures", fixture, "recording.db")
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	r, err := harness.NewReplayer(t.Context(), path, harness.WithAutoscaler(engines.ClusterAutoscaler()), harness.OnControlPlane(harness.Memory))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return r.RecordDuration()
}
