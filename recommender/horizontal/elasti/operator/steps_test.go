package operator

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
)

// TestSteps: the steps of the file that a replay takes too (engines).
func TestSteps(t *testing.T) {
	type step struct {
		At       int
		From, To int32
	}
	var file struct {
		Values []struct{ At, Value float64 }
		Steps  []step
	}
	data, err := os.ReadFile(filepath.Join("..", "testdata", "steps.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, "steps")
	f.create("web", 16, "", func(s *elastiv1alpha1.ElastiServiceSpec) {
		cooldown := int32(600)
		s.CooldownPeriod = &cooldown
	})
	start, last := f.clock.Now(), int32(16)
	var got []step
	for at := 30; at <= 3600; at += 30 {
		for _, v := range file.Values {
			if v.At <= float64(at) {
				f.prom.set("web", fmt.Sprint(v.Value))
			}
		}
		f.clock.SetTime(start.Add(time.Duration(at) * time.Second))
		if f.poll().Scaled == 0 {
			continue
		}
		now := f.replicas("web")
		got, last = append(got, step{at, last, now}), now
	}
	if diff := cmp.Diff(file.Steps, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}
