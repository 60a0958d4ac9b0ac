package hpa_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist/recommender/horizontal/hpa"
)

// TestControllerSyncsLikeUpstream creates, changes, deletes and creates again several autoscalers, some of them on the same pods, and
// compares with the real controller which of them sync at each instant, and what comes of it.
//
//scalehist:unraced
func TestControllerSyncsLikeUpstream(t *testing.T) {
	seen := coverage{}
	for i := range curves(t, 16) {
		seed := *firstSeed + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runController(t, seed, seen) })
		if t.Failed() {
			return
		}
	}
	if seen["ScalingActive AmbiguousSelector"] == 0 {
		t.Error("no two autoscalers selected the same pods")
	}
	t.Logf("%d syncs, %d scale-ups, %d scale-downs", seen["syncs"], seen["scale-up"], seen["scale-down"])
}

// shop is a cluster as the controller of ours sees it.
type shop struct {
	*cluster
	asked []int32 // by the sync that runs
}

func (s *shop) Read(object *autoscalingv2.HorizontalPodAutoscaler) (hpa.Target, hpa.Metrics) {
	t := s.target(object.Spec.ScaleTargetRef.Name, &s.asked)
	return t, s.read(t.Selector)
}

func runController(t *testing.T, seed uint64, seen coverage) {
	d := newDice(seed)
	o := d.options()
	setGates(t, o)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := newCluster()
		var lives []*life
		for i := range d.between(1, 3) {
			lives = append(lives, d.newLife(c, fmt.Sprint("web", i), time.Now()))
		}
		u := startController(ctx, t, c, o)
		defer func() {
			cancel()
			u.objects.Broadcaster.Shutdown()
			synctest.Wait()
		}()
		s := &shop{cluster: c}
		ours, err := hpa.NewController(o, s)
		if err != nil {
			t.Fatal(err)
		}

		names := []string{"a", "b", "c"}
		end := time.Now().Add(time.Duration(d.between(2, 8)) * time.Minute)
		change := time.Now()
		for time.Now().Before(end) {
			next, ok := ours.Next()
			// Changes take some milliseconds, in which nothing may be due.
			if !ok || change.Add(5*time.Millisecond).Before(next) {
				time.Sleep(time.Until(change))
				synctest.Wait()
				quiet(t, u, ours, names)
				u.Lock()
				for _, l := range lives {
					l.step(time.Now())
				}
				u.showPods()
				u.Unlock()
				d.changeObjects(t, u, ours, names, len(lives))
				// Odd times, so that no two autoscalers are ever due at once: upstream has no order for that.
				change = change.Add(time.Duration(d.between(2000, 9000))*time.Millisecond + time.Duration(d.between(1, 1e6)))
				continue
			}
			time.Sleep(time.Until(next) - time.Nanosecond)
			synctest.Wait()
			quiet(t, u, ours, names)
			s.asked = nil
			u.Lock()
			decisions := ours.Run(next)
			u.Unlock()
			if len(decisions) != 1 {
				t.Fatalf("%d syncs at %s, want 1", len(decisions), next)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			u.Lock()
			when := fmt.Sprintf("seed %d, %s of %s", seed, next.Format(time.TimeOnly), decisions[0].Autoscaler.Name)
			compare(t, when, u, decisions[0], ours.Object(decisions[0].Autoscaler), s.asked)
			u.Unlock()
			quiet(t, u, ours, names)
			seen.add(decisions[0])
			if t.Failed() {
				return
			}
		}
	})
}

// changeObjects creates, changes and deletes autoscalers.
func (d dice) changeObjects(t *testing.T, u *controller, ours *hpa.Controller, names []string, workloads int) {
	for _, name := range names {
		u.Lock()
		old := u.stored[name]
		u.Unlock()
		target := fmt.Sprint("web", d.IntN(workloads))
		switch {
		case old == nil && d.chance(50):
			object := d.object(name, target)
			u.add(object)
			if err := ours.Set(time.Now(), object); err != nil {
				t.Fatal(err)
			}
		case old != nil && d.chance(7):
			u.remove(name)
			ours.Remove(types.NamespacedName{Namespace: namespace, Name: name})
		case old != nil && d.chance(4):
			changed := old.DeepCopy()
			changed.Spec = d.spec(target)
			u.setSpec(name, changed.Spec)
			if err := ours.Set(time.Now(), changed); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Duration(d.between(1, 1e6)))
	}
}

// quiet fails the test if upstream synced where ours did not.
func quiet(t *testing.T, u *controller, ours *hpa.Controller, names []string) {
	t.Helper()
	u.Lock()
	defer u.Unlock()
	for _, name := range names {
		if events, errs := u.look(name); len(events) > 0 || len(errs) > 0 {
			t.Fatalf("%s: upstream synced %s: %v %v", time.Now(), name, events, errs)
		}
		object := ours.Object(types.NamespacedName{Namespace: namespace, Name: name})
		if stored := u.stored[name]; (stored == nil) != (object == nil) {
			t.Fatalf("%s: only one of both has %s", time.Now(), name)
		} else if stored != nil {
			compareStatus(t, time.Now().String(), stored, object)
		}
	}
}
