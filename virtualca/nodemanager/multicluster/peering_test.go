package multicluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/virtualca/externalgrpc"
)

// calls is a peering that notes what it is asked for. Nodes are Ready at once, unless their cluster is never.
type calls struct {
	never string
	err   error
	noted []string
}

func (c *calls) Peer(_ context.Context, s Share) (bool, error) {
	c.note("peer", s)
	return s.Cluster.Name != c.never, c.err
}

func (c *calls) Unpeer(_ context.Context, s Share) error {
	c.note("unpeer", s)
	return c.err
}

func (c *calls) note(what string, s Share) {
	text := fmt.Sprintf("%s %s from %s", what, s.Node.Name, s.Cluster.Name)
	if s.Last && what == "unpeer" {
		text += ", the last"
	}
	if s.Gone {
		text += ", which is gone"
	}
	c.noted = append(c.noted, text)
}

func (r *rig) with(c *calls) *calls {
	r.peering = c
	r.restart()
	return c
}

func (c *calls) want(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, c.noted); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c.noted = nil
}

// TestTheLastShareEndsThePeering: machines leave a cluster one after the other.
func TestTheLastShareEndsThePeering(t *testing.T) {
	r := newRig(t, withPolicy("cheapest"), remote("a", "16", 1))
	c := r.with(&calls{})
	r.grow("std", 2)
	r.pass(0)
	c.want(t, "peer std-0 from a", "peer std-1 from a")
	if err := r.DeleteNodes(t.Context(), "std", []externalgrpc.Node{{Name: "std-0"}, {Name: "std-1"}}); err != nil {
		t.Fatal(err)
	}
	r.pass(0)
	r.pass(0)
	r.pass(0)
	c.want(t, "unpeer std-0 from a", "unpeer std-1 from a, the last")
}

// TestAVanishedClusterIsClearedAway: what was begun there is taken back before another cluster is peered with, and again until it works.
func TestAVanishedClusterIsClearedAway(t *testing.T) {
	r := newRig(t, withPolicy("cheapest"), remote("a", "8", 1), remote("b", "8", 2))
	c := r.with(&calls{never: "a"})
	r.grow("std", 1)
	r.pass(0)
	r.clusters.list = r.clusters.list[1:]
	c.err = errors.New("not now")
	r.pass(0)
	c.err = nil
	r.restart()
	r.pass(0)
	c.want(t, "peer std-0 from a", "unpeer std-0 from a, the last, which is gone", "unpeer std-0 from a, the last, which is gone", "peer std-0 from b")
	r.want("std", "1, std-0@b running")
	r.clusters.list = nil
	r.pass(time.Second)
	c.want(t, "unpeer std-0 from b, the last, which is gone")
	r.want("std", "0")
}

// TestAFailureIsTriedAgain: what fails passes, unless the peering says that it does not.
func TestAFailureIsTriedAgain(t *testing.T) {
	r := newRig(t, withPolicy("cheapest"), remote("a", "8", 1))
	c := r.with(&calls{err: errors.New("not now")})
	r.grow("std", 1)
	r.pass(0)
	r.want("std", "1, std-0@a creating")
	c.err = &PeeringError{Code: "DRY_RUN", Message: "dry run"}
	r.pass(0)
	r.want("std", "1, std-0@a creating DRY_RUN")
	c.err = errors.New("not now")
	if err := r.DecreaseTargetSize(t.Context(), "std", 1); err != nil {
		t.Fatal(err)
	}
	r.pass(0)
	r.want("std", "0, std-0@a deleting")
	c.err = nil
	r.pass(0)
	r.want("std", "0")
}
