package operator

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
	"github.com/scalehist/scalehist/recommender/horizontal/elasti"
)

// counted counts how often it is closed.
type counted struct {
	elasti.Scaler
	closed *int
}

func (c counted) Close(context.Context) error {
	*c.closed++
	return nil
}

// TestScalersAreKept: scalers are made once for a specification and closed once, when it changes or its ElastiService is gone. KubeElasti makes them with every look, and
// closes them when its loop ends.
func TestScalersAreKept(t *testing.T) {
	made, closed := 0, 0
	kept := newScalers(elasti.Registry{"fake": func(json.RawMessage, time.Duration) (elasti.Scaler, error) {
		made++
		return counted{closed: &closed}, nil
	}})
	of := func(uid types.UID, generation int64, triggers ...string) *service {
		o := &elastiv1alpha1.ElastiService{}
		o.UID, o.Generation = uid, generation
		for _, kind := range triggers {
			o.Spec.Triggers = append(o.Spec.Triggers, elastiv1alpha1.ScaleTrigger{Type: kind})
		}
		return &service{ElastiService: *o}
	}
	for _, c := range []struct {
		name         string
		do           func() error
		made, closed int
		fails        bool
	}{
		{"the first look", func() error { _, err := kept.of(t.Context(), of("a", 1, "fake", "fake")); return err }, 2, 0, false},
		{"the next looks", func() error { _, err := kept.of(t.Context(), of("a", 1, "fake", "fake")); return err }, 2, 0, false},
		{"another one", func() error { _, err := kept.of(t.Context(), of("b", 1, "fake")); return err }, 3, 0, false},
		{"another specification", func() error { _, err := kept.of(t.Context(), of("a", 2, "fake")); return err }, 4, 2, false},
		{"one that is wrong: what was made of it is closed", func() error { _, err := kept.of(t.Context(), of("a", 3, "fake", "none")); return err }, 5, 3, true},
		{"b is gone", func() error { kept.keep(t.Context(), map[types.UID]bool{"a": true}); return nil }, 5, 4, false},
		{"the end", func() error { return kept.close(t.Context()) }, 5, 5, false},
		{"twice", func() error { return kept.close(t.Context()) }, 5, 5, false},
	} {
		if err := c.do(); (err != nil) != c.fails || made != c.made || closed != c.closed {
			t.Errorf("%s: %v, %d made, %d closed; want %d and %d", c.name, err, made, closed, c.made, c.closed)
		}
	}
}
