package history_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// TestValuesThatAreNoNumbers: NaN and infinities are values of a series as others are, in the file and in an object log.
func TestValuesThatAreNoNumbers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	w := create(t, path)
	if _, err := w.Begin(t.Context(), start, nil); err != nil {
		t.Fatal(err)
	}
	var want []history.Sample
	for i, v := range []float64{math.NaN(), 1, math.Inf(1), math.Inf(-1), 0, math.MaxFloat64} {
		want = append(want, history.Sample{Series: "load", At: at(time.Duration(i+1) * time.Second), Value: v})
	}
	smallest := history.Sample{Series: "load", At: at(time.Minute), Value: -math.MaxFloat64}
	if err := w.Sample(t.Context(), append(want, smallest)); err != nil {
		t.Fatal(err)
	}
	if err := w.End(t.Context(), at(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	smallest.Value = math.Nextafter(smallest.Value, 0) // what stands for NaN
	want = append(want, smallest)
	db := reopen(t, path)
	for what, db := range map[string]*history.DB{"file": db, "object log": importLog(t, strings.NewReader(exported(t, db)), "log")} {
		var got []history.Sample
		for s, err := range db.Samples(t.Context(), time.Time{}, time.Time{}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, s)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	for _, value := range []string{`"nan"`, `"1"`, `true`} {
		line := `{"at":"2026-03-01T12:00:00Z","op":"add","object":{"apiVersion":"scalehist.io/v1alpha1","kind":"Sample","metadata":{"name":"load"},"spec":{"value":` + value + `}}}`
		_, err := transfer.Import(t.Context(), strings.NewReader(line), filepath.Join(t.TempDir(), "x.db"), transfer.ImportOptions{Name: "log"})
		if err == nil || !strings.Contains(err.Error(), `log:1: object (Sample): key "spec.value"`) || strings.Contains(err.Error(), "float64") {
			t.Errorf("value %s: %v", value, err)
		}
	}
}
