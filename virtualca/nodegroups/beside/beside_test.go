package beside_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/nodegroups"
	"github.com/scalehist/scalehist/virtualca/nodegroups/beside"
)

// server notes what is written; the first write fails.
type server struct {
	writes chan string
	failed bool
}

func (s *server) Create(_ context.Context, n *corev1.Node) error {
	if !s.failed {
		s.failed = true
		return errors.New("not now")
	}
	s.writes <- "create " + n.Name + " " + n.Spec.ProviderID
	return nil
}

func (s *server) Delete(_ context.Context, name string) error {
	s.writes <- "delete " + name
	return nil
}

func TestNodesComeAndGo(t *testing.T) {
	start := time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)
	c := clocktesting.NewFakeClock(start)
	p, err := cloudprovider.New([]scalehist.NodeGroup{{Name: "a", MaxSize: 3, TargetSize: 1}}, cloudprovider.Options{Start: start})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{writes: make(chan string)}
	b := beside.New(p, c, s)
	g := nodegroups.New(p, b, nodegroups.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	said, ended := make(chan string), make(chan struct{})
	go func() {
		defer close(ended)
		b.Run(ctx, func(text string, err error) {
			if err != nil {
				text += ": " + err.Error()
			}
			said <- text
		})
	}()
	defer func() {
		cancel()
		<-ended
	}()
	// pass lets time pass once somebody waits for it.
	pass := func(d time.Duration) {
		t.Helper()
		for !c.HasWaiters() {
			if t.Context().Err() != nil {
				t.Fatal("nobody waits")
			}
		}
		c.Step(d)
	}
	want := func(got, want string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	pass(cloudprovider.DefaultProvisionDelay) // the node that the target size is ahead of
	want(<-said, "node a-0 of a joined: not now")
	pass(2 * time.Second)
	want(<-s.writes, "create a-0 virtual://a-0")
	want(<-said, "node a-0 of a joined")
	if err := g.IncreaseSize(ctx, "a", 1); err != nil {
		t.Fatal(err)
	}
	c.Step(cloudprovider.DefaultProvisionDelay)
	if n, err := g.TargetSize(ctx, "a"); n != 2 || err != nil {
		t.Errorf("target size %d, %v", n, err)
	}
	want(<-s.writes, "create a-1 virtual://a-1")
	want(<-said, "node a-1 of a joined")
}
