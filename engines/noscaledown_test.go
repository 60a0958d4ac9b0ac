package engines

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/harness"
)

// TestWithoutScaleDown: an engine that would remove nodes removes none, wherever the option is given, and that is no setting
// it does not follow.
func TestWithoutScaleDown(t *testing.T) {
	db := filepath.Join("..", "fixtures", "idle-after-burst", "recording.db")
	for _, c := range []struct {
		engine string
		flags  []string
	}{
		{"virtualca", []string{"--scale-down-enabled=true"}},
		{"recommender", []string{"--consolidate", "--scale-down-unneeded-time=2m", "--scale-down-delay-after-add=1m"}},
	} {
		removed := func(opts ...harness.Option) int {
			n := 0
			r := replayed(t, db, c.engine, append(opts, harness.WithFlags(c.flags...))...)
			for _, d := range r.Decisions {
				n += len(d.ScaleDowns)
			}
			for _, w := range r.Warnings {
				if strings.Contains(w, "scale-down-enabled") {
					t.Errorf("%s warns: %s", c.engine, w)
				}
			}
			return n
		}
		if removed() == 0 {
			t.Errorf("%s removes nothing with scale-down on, so this shows nothing", c.engine)
		}
		if n := removed(harness.With(func(s *harness.Settings) { s.NoScaleDown = true })); n != 0 {
			t.Errorf("%s removes %d nodes all the same", c.engine, n)
		}
	}
}

// TestConsolidateAfterARecordedFlag: a recording of an autoscaler that did not scale down does not keep the recommender from
// what it is asked for.
func TestConsolidateAfterARecordedFlag(t *testing.T) {
	for _, c := range []struct {
		flags string
		off   bool
	}{
		{"--scale-down-enabled=false --consolidate", false},
		{"--consolidate --scale-down-enabled=false", true},
		{"--scale-down-enabled=false --consolidate --scale-down-enabled=false", true},
		{"--scale-down-enabled=false --scale-down-enabled=true", false},
		{"--scale-down-enabled", false},
	} {
		if got := switchedOff(strings.Fields(c.flags)); got != c.off {
			t.Errorf("%s: off %t, want %t", c.flags, got, c.off)
		}
	}
}
