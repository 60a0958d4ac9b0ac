package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
)

// TestAnyNamesAreWritten: whatever groups, pods, flags and the scenario are called, the file that is written says the same when it is read.
func TestAnyNamesAreWritten(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "recording.db"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	names := rapid.OneOf(rapid.StringMatching(`[a-z0-9]{1,8}`), rapid.StringN(1, 12, -1), rapid.SampledFrom([]string{"yes", "null", "1", "~", "a, b", "{x}", "a: b", "#", "https://x/y:z", "*a", "&a", "- a", "'"}))
	rapid.Check(t, func(rt *rapid.T) {
		start := time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)
		group, pod := names.Draw(rt, "group"), names.Draw(rt, "pod")
		s := &Scenario{Name: "a" + names.Draw(rt, "name"), History: "recording.db", Autoscaler: "virtualca", Flags: []string{"--" + names.Draw(rt, "flag")}}
		if group == "*" || strings.ContainsAny(group+pod+s.Name, "\x00\ufffd\ufeff") || strings.ContainsFunc(group+pod+s.Name+s.Flags[0], unprintable) {
			rt.Skip("nothing is called that")
		}
		r := &scalehist.ReplayReport{
			Scenario: s.Name, StartTime: start, EndTime: start.Add(time.Minute), Playback: scalehist.PlaybackContinuous,
			NodeGroups: []scalehist.NodeGroupResult{{Name: group, Final: 3, ScaledUp: 3}}, ScaledUpNodeGroups: map[string]int{group: 3},
			UnschedulableAtEnd: []scalehist.UnschedulablePod{{Namespace: "other", Name: pod}},
			Decisions:          []scalehist.Decision{{At: start.Add(1500 * time.Microsecond), Loop: 1, ScaleUps: []scalehist.ScaleUp{{NodeGroup: group, To: 3}}}},
		}
		text := s.YAML(r)
		all, err := Parse([]byte(text), filepath.Join(dir, "x.yaml"), someEngines{})
		if err != nil || len(all) != 1 {
			rt.Fatalf("%v\n%s", err, text)
		}
		got := all[0]
		type said struct {
			Name, Flag, Pod, Group string
			Up, Final              int
			At                     Offset
		}
		e := got.Expect
		want := said{s.Name, s.Flags[0], "other/" + pod, group, 3, 3, Offset{time.Millisecond, 2 * time.Millisecond, true}}
		if diff := cmp.Diff(want, said{got.Name, got.Flags[0], e.Unschedulable.Pods[0], e.Decisions[0].NodeGroup, e.ScaledUp[group].Min, e.FinalSizes[group].Max, e.Decisions[0].At}); diff != "" {
			rt.Errorf("%s\n%s", diff, text)
		}
		if _, err := s.Go(r, "specs"); err != nil {
			rt.Error(err)
		}
	})
}

func unprintable(r rune) bool {
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0xd800 && r < 0xe000 || r >= 0xfff0 || r == 0x2028 || r == 0x2029
}

func TestSlug(t *testing.T) {
	for name, want := range map[string]string{"From zero: 100%, too": "from-zero-100-too", "a.b_c-d": "a.b_c-d", "..": "", "-x-": "x", "ÄÖ": ""} {
		if got := Slug(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
