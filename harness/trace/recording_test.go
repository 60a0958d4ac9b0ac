package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

func TestFromHistoryRefuses(t *testing.T) {
	at := func(d time.Duration) time.Time { return epoch.Add(d) }
	last := func(l *objectLog) *objectLog { return l.add(minute, pod("last", "")) }
	tests := []struct {
		name   string
		log    *objectLog
		window Window
		want   string
	}{
		{"a gap in pods", last(newLog().add(20*sec, gapLine(30*sec, "Pod", "Service"))), Window{},
			"gap from 2026-03-02T09:00:20Z to 2026-03-02T09:00:30Z, Pod, Service not watched (the recorder was down): choose a window before or after it (--from, --to)"},
		{"a gap in everything", last(newLog().add(20*sec, gapLine(30*sec))), Window{From: at(25 * sec)}, "nothing watched"},
		{"no node groups", last(new(objectLog).add(0, node("n", ""))), Window{}, "no node groups at 2026-03-02T09:00:00Z: nothing could scale"},
		{"an empty window", last(newLog()), Window{From: at(10 * sec), To: at(10 * sec)}, "window is empty"},
		{"a window the wrong way round", last(newLog()), Window{From: at(20 * sec), To: at(10 * sec)}, "window is empty"},
		{"a window outside", last(newLog()), Window{To: at(time.Hour)}, "is not inside the recording, which runs from 2026-03-02T09:00:00Z to 2026-03-02T09:01:00Z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := FromHistory(t.Context(), tt.log.history(t), tt.window)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestGapsBesideTheWindow(t *testing.T) {
	log := newLog().add(20*sec, gapLine(30*sec, "Pod")).add(40*sec, gapLine(45*sec, "PodDisruptionBudget")).add(minute, pod("last", ""))
	for _, tt := range []struct {
		name     string
		from, to time.Duration
		wantWarn bool
	}{
		{"ends where it begins", 0, 20 * sec, false},
		{"begins where it ends", 30 * sec, 39 * sec, false},
		{"another kind", 30 * sec, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := log.input(t, tt.from, tt.to)
			if got := hasWarning(in, "PodDisruptionBudget were not watched from 2026-03-02T09:00:40Z"); got != tt.wantWarn {
				t.Errorf("warnings %q, want one about the gap: %t", in.Warnings, tt.wantWarn)
			}
		})
	}
}

func TestSettingsOverTime(t *testing.T) {
	in := newLog().add(0, deployment("--expander=random")).
		update(10*sec, deployment("--expander=least-waste")).
		update(20*sec, deployment("--expander=most-pods")).
		update(30*sec, deployment("--expander=price")).
		add(minute, pod("last", "")).
		input(t, 10*sec, 25*sec)
	if diff := cmp.Diff(scalehist.CASettings{Flags: []string{"--expander=least-waste"}}, in.Settings); diff != "" {
		t.Errorf("settings at the start (-want +got):\n%s", diff)
	}
	want := []scalehist.SettingsChange{{At: epoch.Add(20 * sec), Settings: scalehist.CASettings{Flags: []string{"--expander=most-pods"}}}}
	if diff := cmp.Diff(want, in.SettingsChanges); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestNodeGroupsOverTime(t *testing.T) {
	big := with(group("std", 1), "spec.maxSize", 9)
	in := newLog().add(0, group("old", 0)).
		update(5*sec, group("std", 3)). // a target size is an effect
		update(6*sec, with(big, "spec.targetSize", 3)).
		add(7*sec, group("new", 0)).remove(8*sec, group("old", 0)).
		input(t, 0, 0)
	if len(in.GroupChanges) != 3 || in.GroupChanges[0].At != epoch.Add(6*sec) || in.GroupChanges[0].Group.MaxSize != 9 || in.GroupChanges[0].Group.TargetSize != 1 {
		t.Errorf("group changes %+v, want one of std to max 9 at +6s, and two more", in.GroupChanges)
	}
	for _, want := range []string{"node group new came at 2026-03-02T09:00:07Z with target size 0", "node group old was removed at 2026-03-02T09:00:08Z"} {
		if !hasWarning(in, want) {
			t.Errorf("warnings %q, want %q", in.Warnings, want)
		}
	}
}

// TestGuessedBoundsOverTime: where nobody recorded a group's limit, it is the most nodes that the whole history shows, from the start of
// any window, until something names one.
func TestGuessedBoundsOverTime(t *testing.T) {
	guessed := func(size, most int) fields {
		return with(group("std", size), "metadata.annotations", fields{"scalehist.io/bounds-from": "nodes"}, "spec.maxSize", most)
	}
	log := new(objectLog).add(0, guessed(1, 1), node("std-a", "std")).update(10*sec, guessed(3, 3)).update(30*sec, guessed(2, 3)).
		update(minute, guessed(4, 4)).update(2*minute, with(group("std", 4), "spec.maxSize", 9)).add(3*minute, pod("last", ""))
	for _, to := range []time.Duration{0, 20 * sec} {
		in := log.input(t, 0, to)
		if g := in.NodeGroups[0]; g.MaxSize != 4 || !g.GuessedMax {
			t.Errorf("to %s: max %d, guessed %t, want 4, the most nodes seen at once", to, g.MaxSize, g.GuessedMax)
		}
		if to != 0 {
			continue
		}
		if len(in.GroupChanges) != 1 || in.GroupChanges[0].At != epoch.Add(2*minute) || in.GroupChanges[0].Group.MaxSize != 9 || in.GroupChanges[0].Group.GuessedMax {
			t.Errorf("group changes %+v, want one, of std to the max 9 that was recorded", in.GroupChanges)
		}
	}
}

func TestProvisionDelays(t *testing.T) {
	joining := func(name string) fields {
		return tainted(with(node(name, "std"), "status.conditions", []fields{{"type": "Ready", "status": "False"}}), unready)
	}
	tests := []struct {
		name string
		log  *objectLog
		want map[string]time.Duration
	}{
		{"none grew", newLog(), map[string]time.Duration{}},
		{"first asked, first joined; Ready and untainted counts; the median",
			newLog().update(10*sec, group("std", 3)).update(20*sec, group("std", 4)).
				add(25*sec, joining("std-b")).update(28*sec, tainted(node("std-b", "std"), unready)).
				update(30*sec, node("std-b", "std")). // 20s
				add(50*sec, node("std-c", "std")).    // 40s
				add(80*sec, node("std-d", "std")),    // 60s
			map[string]time.Duration{"std": 40 * sec}},
		{"a shrinking target takes back the newest requests",
			newLog().update(10*sec, group("std", 2)).update(20*sec, group("std", 4)).update(30*sec, group("std", 2)).
				update(60*sec, group("std", 3)).
				add(70*sec, node("std-b", "std")). // 60s
				add(90*sec, node("std-c", "std")), // 30s, not 70s
			map[string]time.Duration{"std": 60 * sec}},
		{"nodes on their way at the start were asked for before",
			new(objectLog).add(0, group("std", 2)).update(10*sec, group("std", 3)).
				add(11*sec, node("std-a", "std"), node("std-b", "std")).add(40*sec, node("std-c", "std")),
			map[string]time.Duration{"std": 30 * sec}},
		{"a node that came unasked", newLog().add(10*sec, node("std-b", "std")), map[string]time.Duration{}},
		{"a name used again is another node",
			newLog().update(10*sec, group("std", 0)).remove(11*sec, node("std-a", "std")).update(20*sec, group("std", 1)).
				add(35*sec, with(node("std-a", "std"), "metadata.uid", "std-a2")),
			map[string]time.Duration{"std": 15 * sec}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := tt.log.add(2*minute, pod("last", "")).input(t, 0, 0)
			if diff := cmp.Diff(tt.want, in.ProvisionDelays); diff != "" {
				t.Errorf("delays (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFaultsFromEvents(t *testing.T) {
	type fault struct {
		Group    string
		Kind     cloudprovider.FaultKind
		From, To time.Duration
	}
	failed := func(name, reason, message string) fields { return event(name, reason, "ConfigMap", "status", message) }
	tests := []struct {
		name string
		log  *objectLog
		from time.Duration
		want []fault
	}{
		{"a stock-out, from the last delivery to half-way to the next request that delivered",
			newLog().update(10*sec, group("std", 2)).add(20*sec, node("std-b", "std")).
				update(30*sec, group("std", 4)).
				add(40*sec, failed("e1", "ScaleUpFailed", "Failed adding 2 nodes to group std due to OutOfResources.X; source errors: none")).
				update(40*sec, group("std", 2)).
				update(60*sec, group("std", 3)).add(120*sec, node("std-c", "std")),
			0, []fault{{"std", cloudprovider.FaultStockOut, 20 * sec, 50 * sec}}},
		{"nothing delivered before or after", newLog().add(40*sec, failed("e1", "ScaleUpTimedOut", "Nodes added to group std failed to register within 15m0s")),
			0, []fault{{"std", cloudprovider.FaultNeverRegister, 0, 3*minute + 1}}},
		{"refused", newLog().add(40*sec, failed("e1", "FailedToScaleUpGroup", "Scale-up failed for group std: quota")),
			0, []fault{{"std", cloudprovider.FaultRefuse, 0, 3*minute + 1}}},
		{"two failures in a row are one", newLog().add(40*sec, failed("e1", "ScaleUpFailed", "to group std due")).add(50*sec, failed("e2", "ScaleUpFailed", "to group std again")),
			0, []fault{{"std", cloudprovider.FaultStockOut, 0, 3*minute + 1}}},
		{"before the window", newLog().add(40*sec, failed("e1", "ScaleUpFailed", "to group std due")), 41 * sec, nil},
		{"a group nobody knows, or whose name is part of another", newLog().add(40*sec, failed("e1", "ScaleUpFailed", "to group std-2 due")), 0, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := tt.log.add(3*minute, pod("last", "")).input(t, tt.from, 0)
			var got []fault
			for _, f := range in.Faults {
				got = append(got, fault{f.Group, f.Kind, f.From.Sub(epoch), f.To.Sub(epoch)})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if hasWarning(in, faultWarning) != (len(tt.want) > 0) {
				t.Errorf("warnings %q, want one for each fault", in.Warnings)
			}
		})
	}
}

// TestSizesFromEvents: where node groups were not recorded over time, a window in the middle starts from what events
// stated before it.
func TestSizesFromEvents(t *testing.T) {
	in := newLog().
		add(5*sec, event("up", "TriggeredScaleUp", "Pod", "web-1", "pod triggered scale-up: [{std 1->3 (max: 5)}]")).
		add(minute, pod("last", "")).
		input(t, 20*sec, 0)
	if got := in.NodeGroups[0].TargetSize; got != 3 {
		t.Errorf("target size %d, want the 3 an event told", got)
	}
}

// TestDeletionDelay: the time from a smaller target size to the node being gone, of nodes that were there to be taken. A target also
// shrinks for instances that never became nodes.
func TestDeletionDelay(t *testing.T) {
	doomed := tainted(node("std-b", "std"), gone)
	for _, tt := range []struct {
		name string
		log  *objectLog
		want time.Duration
	}{
		{"as recorded", newLog().add(5*sec, node("std-b", "std")).update(30*sec, doomed).update(30*sec, group("std", 0)).remove(33*sec, doomed), 3 * sec},
		{
			"after instances that could not be created",
			newLog().update(2*sec, group("std", 3)).update(4*sec, group("std", 1)).add(20*sec, node("std-b", "std")).
				update(30*sec, doomed).update(30*sec, group("std", 0)).remove(33*sec, doomed),
			3 * sec,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := tt.log.add(minute, pod("last", "")).input(t, 0, 0)
			if in.DeletionDelay == nil || *in.DeletionDelay != tt.want {
				t.Errorf("deletion delay %v, want %s", in.DeletionDelay, tt.want)
			}
		})
	}
}
