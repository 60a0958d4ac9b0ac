package web

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
)

// TestTracker: however much is kept, the points are in order and few, the last one has the present counts, no peak of
// pending pods is lost, and within its resolution a point is right.
func TestTracker(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tracker := newTracker()
		type truth struct {
			ms             int64
			nodes, pending int
		}
		var seen []truth
		nodes, pods := map[int]bool{}, map[int]bool{}
		ms := start.UnixMilli()
		n := rapid.IntRange(1, 6000).Draw(t, "changes")
		stepMax := rapid.SampledFrom([]int64{10, 900, 5000}).Draw(t, "step")
		rnd := rapid.Uint64().Draw(t, "seed")
		next := func(n int) int { // cheap: a draw for each would be slow
			rnd = rnd*6364136223846793005 + 1442695040888963407
			return int(rnd >> 33 % uint64(n))
		}
		for range n {
			ms += int64(next(int(stepMax)))
			id := next(40)
			c := scalehist.Change{At: time.UnixMilli(ms), Op: scalehist.OpUpdate}
			in := next(2) == 0
			if next(3) == 0 {
				o := &corev1.Node{}
				o.UID = types.UID(rune('a' + id))
				nodes[id] = in
				if c.Object = o; !in {
					c.Op = scalehist.OpDelete
				}
			} else {
				o := &corev1.Pod{}
				o.UID = types.UID(rune('a' + id))
				pods[id] = in
				if c.Object = o; !in {
					o.Spec.NodeName = "n"
				}
			}
			tracker.take(c)
			now := truth{ms: ms}
			for _, in := range nodes {
				now.nodes += int(one(in))
			}
			for _, in := range pods {
				now.pending += int(one(in))
			}
			if k := len(seen); k > 0 && seen[k-1].ms == ms {
				seen[k-1] = now
			} else {
				seen = append(seen, now)
			}
		}
		s := Series{From: start, To: time.UnixMilli(ms).Add(time.Hour)}
		tracker.fill(&s)
		if len(tracker.points) > maxPoints || len(s.At) > 2*maxPoints || len(s.At) != len(s.Nodes) || len(s.At) != len(s.Pending) {
			t.Fatalf("%d points, %d instants, %d and %d values", len(tracker.points), len(s.At), len(s.Nodes), len(s.Pending))
		}
		for i := 1; i < len(s.At); i++ {
			if s.At[i] <= s.At[i-1] {
				t.Fatalf("instant %d is not after the one before", i)
			}
		}
		last, end := seen[len(seen)-1], len(s.At)-1
		if s.Nodes[end] != last.nodes || s.Pending[end] != last.pending {
			t.Fatalf("ends with %d nodes and %d pending, want %d and %d", s.Nodes[end], s.Pending[end], last.nodes, last.pending)
		}
		peak := 0
		for _, x := range seen {
			peak = max(peak, x.pending)
		}
		if got := slices.Max(s.Pending); got != peak {
			t.Fatalf("peak of %d pending, want %d", got, peak)
		}
	})
}
