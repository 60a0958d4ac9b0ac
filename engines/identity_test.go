package engines

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/harness"
)

// TestRecordedControllers: where every workload gets the replicas, and the requests, it was recorded with, set as a controller sets them, the report of every fixture is the
// same byte for byte.
func TestRecordedControllers(t *testing.T) {
	for _, db := range fixtures(t) {
		t.Run(filepath.Base(filepath.Dir(db)), func(t *testing.T) {
			t.Parallel()
			play := func(vertical, horizontal string) []byte {
				r, err := harness.Play(t.Context(), db, nil, harness.WithAutoscaler(ClusterAutoscaler()), harness.With(func(s *harness.Settings) { s.Vertical, s.Horizontal = vertical, horizontal }))
				if err != nil {
					t.Fatal(err)
				}
				r.Run = nil
				out, err := json.MarshalIndent(r, "", " ")
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			without := string(play("", ""))
			if diff := cmp.Diff(without, string(play("", harness.Recorded))); diff != "" {
				t.Errorf("with replicas as recorded the report is another (-without +with):\n%.3000s", diff)
			}
			if diff := cmp.Diff(without, string(play(harness.Recorded, harness.Recorded))); diff != "" {
				t.Errorf("with requests as recorded, too, the report is another (-without +with):\n%.3000s", diff)
			}
		})
	}
}
