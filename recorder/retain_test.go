package recorder

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	testclock "k8s.io/utils/clock/testing"

	"github.com/scalehist/scalehist/recorder/history"
)

// TestRetain: a recording forgets what ended longer ago than it is to keep, while it goes on.
func TestRetain(t *testing.T) {
	c, ns := client(t)
	clock := testclock.NewFakeClock(time.Now())
	path := filepath.Join(t.TempDir(), "h.db")
	for _, name := range []string{"gone", "stays"} {
		if _, err := c.CoreV1().Pods(ns).Create(t.Context(), pod(ns, name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	rec := record(t, cluster, Options{Path: path, Clock: clock, Retain: time.Hour})
	rec.flush()
	clock.Step(time.Second)
	zero := int64(0)
	if err := c.CoreV1().Pods(ns).Delete(t.Context(), "gone", metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
		t.Fatal(err)
	}
	rec.flush()
	deleted := rec.now()
	clock.Step(3 * time.Hour)
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		clock.Step(rec.o.BatchInterval) // the writer's timer may begin after any step
		db, err := history.Open(ctx, path)
		if err != nil {
			return false, err
		}
		from, _ := db.Span()
		return from.After(deleted), db.Close()
	})
	if err != nil {
		t.Fatalf("the history never began later: %v", err)
	}
	rec.flush()
	at := rec.now()
	rec.end()
	db := open(t, path)
	from, _ := db.Span()
	if kept := at.Sub(from); kept < time.Hour || kept > 2*time.Hour {
		t.Errorf("the history is %s long, want an hour or a little more", kept)
	}
	for _, when := range []time.Time{from, at} {
		if diff := cmp.Diff([]string{"stays"}, podNames(snapshotAt(t, db, when), ns)); diff != "" {
			t.Errorf("pods at %s (-want +got):\n%s", when, diff)
		}
	}
}

func TestRetainInterval(t *testing.T) {
	for keep, want := range map[time.Duration]time.Duration{
		time.Hour: time.Hour, 10 * 24 * time.Hour: 8 * time.Hour, 365 * 24 * time.Hour: 24 * time.Hour} {
		if got := retainInterval(keep); got != want {
			t.Errorf("keep %s: forgets every %s, want %s", keep, got, want)
		}
	}
	if _, err := New(cluster, Options{Path: "h.db", Retain: time.Minute}); err == nil || !strings.Contains(err.Error(), "want 1h0m0s or more") {
		t.Errorf("error %v, want the shortest there is", err)
	}
}
