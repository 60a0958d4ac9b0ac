package elasti

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
)

func drawAnswer(t *rapid.T) Answer {
	a := Answer{Yes: rapid.Bool().Draw(t, "yes"), Healthy: rapid.Bool().Draw(t, "healthy")}
	if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
		a.Err = errors.New("it failed")
	}
	return a
}

// TestPolicyIsSafe: whatever is answered, nothing is scaled to zero unless all know that it is not needed, for the cooldown, in the period;
// nothing that has replicas loses some otherwise; what is needed has its minimum; the order of triggers decides nothing.
func TestPolicyIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Policy{
			MinReplicas: rapid.Int32Range(1, 5).Draw(t, "min"), Cooldown: time.Duration(rapid.IntRange(0, 3600).Draw(t, "cooldown")) * time.Second,
			WakeOnUnknown: rapid.Bool().Draw(t, "wake"),
		}
		if rapid.Bool().Draw(t, "period") {
			p.Period, p.PeriodErr = ParsePeriod(&elastiv1alpha1.EnabledPeriod{Schedule: rapid.SampledFrom([]string{"0 22 * * *", "0 8 * * 1-5", "nonsense"}).Draw(t, "schedule"), Duration: "8h"})
		}
		now := noon.Add(time.Duration(rapid.IntRange(0, 7*24*60).Draw(t, "minute")) * time.Minute)
		ago := func(label string) time.Time {
			return now.Add(-time.Duration(rapid.IntRange(-60, 7200).Draw(t, label)) * time.Second)
		}
		target := Target{Since: ago("since"), LastNeeded: ago("needed"), Replicas: rapid.Int32Range(0, 8).Draw(t, "replicas")}
		answers := rapid.SliceOfN(rapid.Custom(drawAnswer), 0, 4).Draw(t, "answers")
		d := p.Decide(now, target, answers)

		open := p.PeriodErr == nil && p.Period.Open(now)
		sure := len(answers) > 0 && !slices.ContainsFunc(answers, func(a Answer) bool { return a.Err != nil || !a.Yes || !a.Healthy })
		rested := now.Sub(target.LastNeeded) >= p.Cooldown && now.Sub(target.Since) >= p.Cooldown
		if down := d.To == 0 && d.From > 0; down != (target.Replicas > 0 && open && sure && rested) {
			t.Fatalf("to zero: %t with open %t, sure %t, rested %t", down, open, sure, rested)
		}
		if d.To != 0 && d.To < d.From {
			t.Fatalf("%d replicas became %d", d.From, d.To)
		}
		if d.Needed && d.To != max(d.From, p.MinReplicas) || !d.Needed && d.To > d.From {
			t.Fatalf("needed %t, %d -> %d with a minimum of %d", d.Needed, d.From, d.To, p.MinReplicas)
		}
		if !open && !d.Needed {
			t.Fatal("it may go to zero outside its period")
		}
		if d.Reason == "" || d.Message == "" {
			t.Fatalf("no reason: %+v", d)
		}
		if again := p.Decide(now, target, answers); again.Reason != d.Reason || again.To != d.To {
			t.Fatal("the same answers, another decision")
		}
		slices.Reverse(answers)
		if turned := p.Decide(now, target, answers); turned.To != d.To || turned.Needed != d.Needed || turned.Reason != d.Reason {
			t.Fatalf("in another order it is %s %d, not %s %d", turned.Reason, turned.To, d.Reason, d.To)
		}
	})
}

// TestPeriod: a period is open at an instant if the schedule has a time less than its duration ago, found by trying every minute.
func TestPeriod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minutes := rapid.IntRange(1, 3*24*60).Draw(t, "minutes")
		p, err := ParsePeriod(&elastiv1alpha1.EnabledPeriod{
			Schedule: rapid.SampledFrom([]string{"0 22 * * *", "*/15 8-17 * * 1-5", "30 6 1 * *", "0 9 * * 1", "7 * * * *"}).Draw(t, "schedule"),
			Duration: (time.Duration(minutes) * time.Minute).String(),
		})
		if err != nil {
			t.Fatal(err)
		}
		now := noon.Add(time.Duration(rapid.IntRange(0, 40*24*3600).Draw(t, "second")) * time.Second)
		want := false
		for m := now.Truncate(time.Minute); now.Sub(m) < time.Duration(minutes)*time.Minute; m = m.Add(-time.Minute) {
			want = want || p.schedule.Next(m.Add(-time.Second)).Equal(m)
		}
		if got := p.Open(now); got != want {
			t.Fatalf("%s at %s: open %t, want %t", p, now, got, want)
		}
	})
}

// TestPeriodEdges: it opens with its time and closes with its end, in UTC wherever the clock is.
func TestPeriodEdges(t *testing.T) {
	p, err := ParsePeriod(&elastiv1alpha1.EnabledPeriod{Schedule: "0 22 * * *", Duration: "8h"})
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	got := map[string]bool{}
	for _, at := range []time.Duration{22*time.Hour - 1, 22 * time.Hour, 30*time.Hour - 1, 30 * time.Hour} {
		got[at.String()] = p.Open(day.Add(at).In(time.FixedZone("far", 9*3600)))
	}
	want := map[string]bool{"21h59m59.999999999s": false, "22h0m0s": true, "29h59m59.999999999s": true, "30h0m0s": false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("open (-want +got):\n%s", diff)
	}
	for spec, want := range map[elastiv1alpha1.EnabledPeriod]string{
		{Schedule: "0 0 * *"}:                           `enabledPeriod: schedule "0 0 * *": expected exactly 5 fields, found 4: [0 0 * *]`,
		{Schedule: "CRON_TZ=Europe/Berlin 0 8 * * *"}:   "enabledPeriod: schedule: it is in UTC, without a time zone",
		{Schedule: "0 0 31 4 *"}:                        `enabledPeriod: schedule "0 0 31 4 *": there is no such time`,
		{Duration: "8"}:                                 `enabledPeriod: duration "8": want one such as 8h`,
		{Duration: "-8h"}:                               `enabledPeriod: duration "-8h": want one such as 8h`,
		{Schedule: "@daily", Duration: "8h"}:            `enabledPeriod: schedule "@daily": parser does not accept descriptors: @daily`,
		{Schedule: "0 0 29 2 *", Duration: "not a one"}: `enabledPeriod: duration "not a one": want one such as 8h`,
	} {
		if _, err := ParsePeriod(&spec); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %s", spec, err, want)
		}
	}
}

// FuzzParsePeriod: what is taken can be asked, and closes or is open without end.
func FuzzParsePeriod(f *testing.F) {
	f.Add("0 22 * * *", "8h")
	f.Add("*/15 8-17 * * 1-5", "30m")
	f.Add("0 0 29 2 *", "999999h")
	f.Fuzz(func(t *testing.T, schedule, duration string) {
		p, err := ParsePeriod(&elastiv1alpha1.EnabledPeriod{Schedule: schedule, Duration: duration})
		if err != nil {
			return
		}
		if next := p.schedule.Next(noon); !next.IsZero() && !p.Open(next) {
			t.Errorf("%s is not open when it opens, at %s", p, next)
		}
	})
}

// TestUnknownTime: an answer that is unknown scales nothing and restarts nothing, whenever it comes; the next one that is known decides, by the time since the last need.
func TestUnknownTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Policy{MinReplicas: 1, Cooldown: time.Duration(rapid.IntRange(0, 20).Draw(t, "cooldown")) * 30 * time.Second}
		needed := rapid.SliceOfN(rapid.Bool(), 40, 40).Draw(t, "needed")
		known := rapid.SliceOfN(rapid.Bool(), 40, 40).Draw(t, "known")
		last := noon
		for i := range needed {
			now := noon.Add(time.Duration(i) * 30 * time.Second)
			target := Target{Since: noon, LastNeeded: last, Replicas: 3}
			if !known[i] {
				if d := p.Decide(now, target, []Answer{{Err: errors.New("no series"), Healthy: true}}); d.To != d.From || d.Needed || d.Err == nil {
					t.Fatalf("look %d is unknown: %+v", i, d)
				}
				continue
			}
			d := p.Decide(now, target, []Answer{{Yes: !needed[i], Healthy: true}})
			if rested := now.Sub(last) >= p.Cooldown; (d.To == 0) != (!needed[i] && rested) {
				t.Fatalf("look %d: %d -> %d, needed %t, %s after need, cooldown %s", i, d.From, d.To, needed[i], now.Sub(last), p.Cooldown)
			}
			if d.Needed {
				last = now
			}
		}
	})
}
