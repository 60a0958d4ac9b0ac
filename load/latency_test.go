package load

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func series(sharing Sharing, serves float64, points ...Point) *Series {
	return &Series{Workload: web, Metric: "work", Sharing: sharing, Serves: serves, Points: points}
}

// TestQueueLatency compares what is late of a queue with numbers calculated by hand: 3 come each second for 100 s, one replica serves 1, three from 100 s on.
// So what comes at t is served at 3t by the one until 100 s, and the rest at 3 a second: a wait of 2t up to 33.3 s, then of 66.7 s.
func TestQueueLatency(t *testing.T) {
	s := series(Queued, 1, Point{start, 3}, Point{at(100 * time.Second), 0})
	s.Latency = &Latency{Limit: 30 * time.Second}
	a := NewAccount(s, 15*time.Second)
	a.Replicas(start, []Replica{{Pod: "a", Ready: true}})
	// By 60 s what came until 20 s is served, and late is what came from 15 s on; what waits came until 60 s, and until 30 s it is overdue.
	if got, want := a.Balance(at(60*time.Second)).Late, 3*(20-15.0)+3*(30-20); math.Abs(got-want) > 1e-6 {
		t.Errorf("late at 60 s: %v, want %v", got, want)
	}
	a.Replicas(at(100*time.Second), []Replica{{Pod: "a", Ready: true}, {Pod: "b", Ready: true}, {Pod: "c", Ready: true}})
	if got, want := a.Balance(at(300*time.Second)).Late, 3*(100-15.0); math.Abs(got-want) > 1e-6 {
		t.Errorf("late at the end: %v, want %v", got, want)
	}
	even := series(Queued, 4, Point{start, 4}, Point{at(2 * time.Second), 0})
	even.Latency = &Latency{Limit: 2 * time.Second}
	a2 := NewAccount(even, 15*time.Second)
	a2.Replicas(start, nil)
	a2.Replicas(at(2*time.Second), []Replica{{Pod: "a", Ready: true}})
	if got := a2.Balance(at(10 * time.Second)).Late; got != 0 {
		t.Errorf("late is %v of what takes just as long as it may", got)
	}
	if b := a.Balance(at(300 * time.Second)); b.Check() != nil || b.Waiting > 1e-9 {
		t.Errorf("%+v", b)
	}
}

// TestQueueLatencyByItems compares the queue with one of many small items, each served in its turn.
func TestQueueLatencyByItems(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type stretch struct{ seconds, comes, serves float64 }
		list := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) stretch {
			return stretch{float64(rapid.IntRange(1, 20).Draw(rt, "seconds")), float64(rapid.IntRange(0, 9).Draw(rt, "comes")), float64(rapid.IntRange(0, 9).Draw(rt, "serves"))}
		}), 1, 8).Draw(rt, "stretches")
		limit := float64(rapid.IntRange(1, 15).Draw(rt, "limit")) + 0.377 // no stretch waits just so long, of which ticks would make a matter of rounding
		const tick = 0.01
		var q queue
		var items []batch // amounts by the tick in which they came
		now, got, want, came := 0.0, 0.0, 0.0, 0.0
		for _, s := range list {
			got += q.work(now, s.seconds, s.comes, s.serves, limit)
			for range int(math.Round(s.seconds / tick)) {
				items = append(items, batch{from: now, amount: s.comes * tick})
				came += s.comes * tick
				for can := s.serves * tick; can > 1e-12 && len(items) > 0; {
					take := min(can, items[0].amount)
					if now-items[0].from > limit {
						want += take
					}
					if can, items[0].amount = can-take, items[0].amount-take; items[0].amount <= 1e-12 {
						items = items[1:]
					}
				}
				now += tick
			}
		}
		left := 0.0
		for _, i := range items {
			left += i.amount
			if now-i.from > limit {
				want += i.amount
			}
		}
		got += q.overdue(now, limit)
		if math.Abs(got-want) > 0.5 || math.Abs(q.amount()-left) > 0.5 { // items come in ticks
			rt.Fatalf("%+v, limit %v: late %v, item by item %v; waiting %v and %v of %v", list, limit, got, want, q.amount(), left, came)
		}
	})
}

// TestDividedLatency: with a service time of 20 ms and a limit of 100 ms, all is late that a replica does at more than 80 %.
func TestDividedLatency(t *testing.T) {
	for name, tt := range map[string]struct {
		replicas []Replica
		want     float64 // of 300 core-seconds
	}{
		"79 %":                         {[]Replica{{Pod: "a", Ready: true, Limit: 3.79, Request: 1}}, 0},
		"80 %, just as long as it may": {[]Replica{{Pod: "a", Ready: true, Limit: 3.75}}, 0},
		"81 %":                         {[]Replica{{Pod: "a", Ready: true, Limit: 3.7, Request: 9}}, 300},
		"by request":                   {[]Replica{{Pod: "a", Ready: true, Request: 3.7}}, 300},
		"unbounded":                    {[]Replica{{Pod: "a", Ready: true}}, 0},
		"one of two":                   {[]Replica{{Pod: "a", Ready: true, Limit: 1.6}, {Pod: "b", Ready: true, Limit: 2}}, 150},
		"more than it can":             {[]Replica{{Pod: "a", Ready: true, Limit: 2}}, 300},
		"nobody is ready":              {[]Replica{{Pod: "a"}}, 300},
		"there is no limit ":           {[]Replica{{Pod: "a", Ready: true, Limit: 0.1}}, 0},
	} {
		s := series(Divided, 0, Point{start, 3})
		s.Metric = CPU
		if !strings.HasPrefix(name, "there is no limit") {
			s.Latency = &Latency{Limit: 100 * time.Millisecond, Service: 20 * time.Millisecond}
		}
		a := NewAccount(s, 15*time.Second)
		a.Replicas(start, tt.replicas)
		if got := a.Balance(start.Add(100 * time.Second)).Late; math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("%s: late %v, want %v", name, got, tt.want)
		}
	}
}

// TestProcessorSharing plays random requests on one server that is shared, one by one: their mean response time is that of the model, whatever the
// distribution of their service times.
func TestProcessorSharing(t *testing.T) {
	for name, service := range map[string]func(*rand.Rand) float64{
		"exponential": func(r *rand.Rand) float64 { return r.ExpFloat64() },
		"constant":    func(*rand.Rand) float64 { return 1 },
		"two sizes": func(r *rand.Rand) float64 {
			if r.IntN(10) == 0 {
				return 5.5
			}
			return 0.5
		},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		const u, n = 0.7, 200_000
		var left, since []float64
		now, next, sum, done := 0.0, 0.0, 0.0, 0
		for done < n {
			first := math.Inf(1)
			for _, l := range left {
				first = min(first, l)
			}
			step := min(next-now, first*float64(len(left)))
			if len(left) == 0 {
				step = next - now
			}
			keepLeft, keepSince := left[:0], since[:0]
			for i, l := range left {
				if l -= step / float64(len(left)); l > 1e-12 {
					keepLeft, keepSince = append(keepLeft, l), append(keepSince, since[i])
				} else {
					sum, done = sum+now+step-since[i], done+1
				}
			}
			left, since, now = keepLeft, keepSince, now+step
			if now >= next {
				left, since = append(left, service(r)), append(since, now)
				next += r.ExpFloat64() / u
			}
		}
		if got, want := sum/float64(done), 1/(1-u); math.Abs(got-want) > 0.05*want {
			t.Errorf("%s: mean response %.3f, the model says %.3f", name, got, want)
		}
	}
}

// TestUnready: there is work for 100 s, and a replica is ready from 40 s to 70 s.
func TestUnready(t *testing.T) {
	a := NewAccount(series(Divided, 0, Point{start, 0}, Point{start.Add(10 * time.Second), 2}, Point{start.Add(110 * time.Second), 0}), 15*time.Second)
	a.Replicas(start, nil)
	a.Replicas(at(50*time.Second), []Replica{{Pod: "a", Ready: true}})
	a.Replicas(at(80*time.Second), []Replica{{Pod: "a"}})
	if b := a.Balance(at(200 * time.Second)); b.Unready != 40+30 || b.LongestUnready != 40 {
		t.Errorf("%+v, want 70 s without a ready replica, at most 40 s at a time", b)
	}
}

// TestUsed: means of five minutes, and nothing where it is not known.
func TestUsed(t *testing.T) {
	s := series(Divided, 0, Point{start, 1}, Point{start.Add(150 * time.Second), 3}, Point{start.Add(600 * time.Second), math.NaN()}, Point{start.Add(960 * time.Second), 4})
	s.Metric = CPU
	a := NewAccount(s, 15*time.Second)
	a.Replicas(start, []Replica{{Pod: "a", Ready: true, Limit: 2.5}, {Pod: "b", Ready: true, Limit: 1}})
	want := []float64{(1 + 2.5) / 2, 2.5, math.NaN(), 3} // of 3, b has 1; of 4, a has 2
	for range 2 {                                        // asking changes nothing
		got := a.Used(start.Add(1000 * time.Second))
		if len(got) != len(want) {
			t.Fatalf("%v, want %v", got, want)
		}
		for i, p := range got {
			if same := p.Value == want[i] || math.IsNaN(p.Value) && math.IsNaN(want[i]); !same || !p.At.Equal(start.Add(time.Duration(i)*UsedEvery)) {
				t.Errorf("%d: %v, want %v", i, p, want[i])
			}
		}
	}
	other := NewAccount(series(External, 0, Point{start, 1}), 15*time.Second)
	other.Replicas(start, []Replica{{Pod: "a", Ready: true}})
	if got := other.Used(start.Add(time.Hour)); got != nil {
		t.Errorf("%v of a metric that nobody requests", got)
	}
}
