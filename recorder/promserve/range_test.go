package promserve

import (
	"strings"
	"testing"
	"time"
)

// TestRange: instants that are not recorded, before, after and in a gap, have no value, and no other is missing; where none is recorded, the error says why.
func TestRange(t *testing.T) {
	s, err := New(t.Context(), written(t), Clock{})
	must(t, err)
	const step = 30 * time.Second
	m, err := s.Range(t.Context(), "load * 2", epoch.Add(-10*time.Minute), epoch.Add(70*time.Minute), step)
	must(t, err)
	if len(m) != 1 {
		t.Fatalf("%d series: %s", len(m), m)
	}
	at := map[time.Duration]float64{}
	for i, p := range m[0].Floats {
		at[time.UnixMilli(p.T).Sub(epoch)] = p.F
		if i > 0 && p.T <= m[0].Floats[i-1].T {
			t.Errorf("%d is not after %d", p.T, m[0].Floats[i-1].T)
		}
	}
	for d := -10 * time.Minute; d <= 70*time.Minute; d += step {
		v, known := at[d]
		want := d >= 0 && d <= time.Hour && (d <= 20*time.Minute || d >= 25*time.Minute)
		if known != want || known && v != 2*d.Minutes() {
			t.Errorf("at %s: %v, %v; want it known: %v", d, v, known, want)
		}
	}
	for query, want := range map[string]string{"max(old) + max(new)": "is recorded from", "requests": "requests is not recorded", "1 +": "parse error"} {
		if m, err := s.Range(t.Context(), query, epoch, epoch.Add(time.Hour), step); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %q", query, m, err, want)
		}
	}
	if m, err := s.Range(t.Context(), "vector(3)", epoch, epoch.Add(step), step); err != nil || len(m) != 1 || len(m[0].Floats) != 2 {
		t.Errorf("%v, %v", m, err)
	}
}
