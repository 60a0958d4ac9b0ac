package operator

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
)

// step is one of the file that a replay takes too (engines).
type step struct {
	At       int
	From, To int32
}

type stepsFile struct {
	Values []struct{ At, Value float64 }
	Steps  []step
}

func readSteps(t *testing.T) (file stepsFile) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "steps.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSteps: the steps of the file at its instants, on a clock of the test's.
func TestSteps(t *testing.T) {
	file := readSteps(t)
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

// TestStepsInRealTime: a process that scales, on the clock of the machine, takes the same steps from the same values, one after another. Each value holds until what follows of it is
// there: a step, or the word for why there is none. The cooldown is shorter, and longer than the one dip that is to be without effect.
func TestStepsInRealTime(t *testing.T) {
	file := readSteps(t)
	f := newFixture(t, "real-time")
	f.create("web", 16, fmt.Sprint(file.Values[0].Value), func(s *elastiv1alpha1.ElastiServiceSpec) {
		cooldown := int32(8)
		s.CooldownPeriod = &cooldown
	})
	changes, err := client.AppsV1().Deployments(f.namespace).Watch(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Stop()
	p := start(t, f.namespace, "real")
	for i, v := range file.Values {
		f.prom.set("web", fmt.Sprint(v.Value))
		until := 3600.0
		if i+1 < len(file.Values) {
			until = file.Values[i+1].At
		}
		wanted := f.replicas("web")
		for _, s := range file.Steps {
			if at := float64(s.At); at >= v.At && at < until {
				wanted = s.To
			}
		}
		word := "True Needed"
		switch {
		case v.Value < 1 && wanted == 0:
			word = "True NotNeeded"
		case v.Value < 1:
			word = "True Cooldown"
		}
		eventually(t, fmt.Sprintf("%d replicas, %s, after %v", wanted, word, v.Value), func() bool { return f.replicas("web") == wanted && strings.HasPrefix(f.ready("web"), word) })
	}
	p.end(syscall.SIGTERM)
	var want, got []step
	for _, s := range file.Steps {
		want = append(want, step{From: s.From, To: s.To})
	}
	last := int32(16)
	for len(got) < len(want) {
		e, open := <-changes.ResultChan()
		if !open {
			t.Fatalf("the watch ended after %v", got)
		}
		if d, ok := e.Object.(*appsv1.Deployment); ok && *d.Spec.Replicas != last {
			got, last = append(got, step{From: last, To: *d.Spec.Replicas}), *d.Spec.Replicas
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if d := deployments(t, f.namespace)[0]; d.Generation != int64(1+len(want)) {
		t.Errorf("generation %d after %d steps: something was scaled twice", d.Generation, len(want))
	}
}
