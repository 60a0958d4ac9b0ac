package harness

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
)

// silent is a program that says nothing.
type silent struct{ FreeRunner }

func (silent) Name() string { return "silent" }
func (silent) Err() error   { return errors.New("it is running; it wrote last: nothing") }

var epoch = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)

func freeAt(c *clocktesting.FakeClock, speed float64) *freeRun {
	return &freeRun{
		r: &run{now: epoch, scan: 10 * time.Second}, runner: silent{}, clock: c, speed: speed, origin: epoch, wall: c.Now(), lastMeet: c.Now(),
		turns: make(chan *turn), over: make(chan struct{}),
	}
}

func TestVirtualTimeRunsFromTheFirstLoop(t *testing.T) {
	wall := time.Date(2026, time.November, 23, 3, 0, 0, 0, time.UTC)
	c := clocktesting.NewFakeClock(wall)
	f := freeAt(c, 10)
	c.Step(time.Minute) // the program starts
	if got := f.now(); !got.Equal(epoch) {
		t.Errorf("before its first loop it is %s", got)
	}
	f.met, f.origin, f.wall = true, epoch.Add(4*time.Second), c.Now()
	c.Step(1500*time.Millisecond + 123*time.Microsecond)
	if got, want := f.now(), epoch.Add(19001*time.Millisecond); !got.Equal(want) {
		t.Errorf("ten times as fast it is %s after 1.5 s, want %s", got, want)
	}
	if got, want := f.wallOf(epoch.Add(24*time.Second)), wall.Add(time.Minute+2*time.Second); !got.Equal(want) {
		t.Errorf("20 s later is at %s, want %s", got, want)
	}
	// Nodes of the start were Ready before it.
	if got, want := f.wallOf(epoch.Add(-96*time.Second)), wall.Add(50*time.Second); !got.Equal(want) {
		t.Errorf("100 s earlier was at %s, want %s", got, want)
	}
}

func TestProgramsThatHang(t *testing.T) {
	c := clocktesting.NewFakeClock(epoch)
	f := freeAt(c, 10)
	c.Step(firstLoopWithin - time.Second)
	if err := f.alive(); err != nil {
		t.Errorf("it may still begin: %v", err)
	}
	c.Step(time.Second)
	if err := f.alive(); err == nil || !strings.Contains(err.Error(), "silent began no loop within 2m0s") || !strings.Contains(err.Error(), "it wrote last: nothing") {
		t.Errorf("a program that never begins: %v", err)
	}
	f.met, f.lastMeet = true, c.Now()
	c.Step(3*time.Second + hungAfter - time.Second) // three scan intervals at ten times the speed, and a minute
	if err := f.alive(); err != nil {
		t.Errorf("it may still loop: %v", err)
	}
	c.Step(time.Second)
	if err := f.alive(); err == nil || !strings.Contains(err.Error(), "silent hangs") {
		t.Errorf("a program that stops looping: %v", err)
	}
}

func TestWhoCallsWhenAllIsPlayedIsAnswered(t *testing.T) {
	f := freeAt(clocktesting.NewFakeClock(epoch), 1)
	late := make(chan error, 1)
	go func() {
		late <- f.wait(&turn{ctx: context.WithoutCancel(t.Context()), f: func(time.Time) error { return nil }})
	}()
	close(f.over)
	if err := <-late; !errors.Is(err, errPlayed) {
		t.Errorf("it is answered %v", err)
	}
}

func TestTurnsOfAnEarlierStartAreVoid(t *testing.T) {
	f := freeAt(clocktesting.NewFakeClock(epoch), 1)
	f.starts = 2
	old := &turn{ctx: t.Context(), start: 1, done: make(chan error, 1), f: func(time.Time) error {
		t.Error("the call of a process that is gone had its turn")
		return nil
	}}
	if err := f.take(t.Context(), old, epoch); err != nil {
		t.Fatal(err)
	}
	if err := <-old.done; !errors.Is(err, errPlayed) {
		t.Errorf("it is answered %v", err)
	}
}

func TestNodesOfRecordingsHaveMachines(t *testing.T) {
	n := func(id string) *corev1.Node {
		n := &corev1.Node{}
		n.Name, n.Spec.ProviderID = "a", id
		return n
	}
	in := []scalehist.Change{{Op: scalehist.OpAdd, Object: n("")}, {Op: scalehist.OpAdd, Object: n("aws:///a")}, {Op: scalehist.OpDelete, Object: n("")}}
	var got []string
	for _, ch := range nameMachines(in) {
		got = append(got, ch.Object.(*corev1.Node).Spec.ProviderID)
	}
	if diff := cmp.Diff([]string{"virtual://a", "aws:///a", ""}, got); diff != "" || in[0].Object.(*corev1.Node).Spec.ProviderID != "" {
		t.Errorf("provider ids (-want +got):\n%s", diff)
	}
}

func TestServersOfProgramsServeWhatTheyWatch(t *testing.T) {
	f := freeAt(clocktesting.NewFakeClock(epoch), 1)
	var o kvcl.Options
	f.serve(&o)
	if o.APIServerFlags["runtime-config"] != "api/ga=true" || !o.WallTime(epoch).Equal(epoch) {
		t.Errorf("options %+v", o)
	}
	(*freeRun)(nil).serve(&o) // an engine that is stepped leaves them
	(*freeRun)(nil).close()
}
