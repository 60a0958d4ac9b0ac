package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// maxSpeed bounds Settings.Speed: beyond it a loop of a real autoscaler takes longer than its scan interval.
const maxSpeed = 100

// FreeRunner is an engine nobody steps: a program of its own, which acts through an API server and the cloud provider, in real time. The
// replay starts it once the cluster is up, lets virtual time run with the wall clock from its first loop on, takes over what it
// writes, and stops it at the end.
type FreeRunner interface {
	// Name is the engine's in reports, the same in every run.
	Name() string
	// Configure takes the settings of the next start, and says which are in force and how far apart loops are in virtual time.
	Configure(s scalehist.CASettings) (inForce scalehist.CASettings, scan time.Duration, err error)
	// Start starts the program, and does not wait for it.
	Start(ctx context.Context, to Attachment) error
	// Ended is closed when the program has ended by itself. Err, which is never nil, says how it is with it, and what it wrote last.
	Ended() <-chan struct{}
	Err() error
	// Stop ends the program, and waits. It is called on the replay's turn, and may hand over what was decided last. It may be called again,
	// and before Start; Start may follow.
	Stop() error
	// Close removes what is not kept, after the last Stop.
	Close() error
}

// NewFreeRunner builds one at the start of a replay.
type NewFreeRunner func(FreeEnv) (FreeRunner, error)

// FreeEnv is what a FreeRunner is built with.
type FreeEnv struct {
	// Speed is how much faster than the wall clock virtual time runs, 1 or more.
	Speed float64
	// Dir is where it may write files that are kept; empty: nothing is kept.
	Dir string
	// Warn puts a line into the report.
	Warn func(string)
}

// Attachment is how a FreeRunner reaches the replay.
type Attachment struct {
	// Kubeconfig is of the virtual cluster's API server, as an administrator.
	Kubeconfig []byte
	// Provider has the node groups. It belongs to the replay: it is used within Turn and Meet only.
	Provider *cloudprovider.Provider
	// Meet is for the beginning of each of its loops: everything is played that is due, what the program wrote is absorbed, the scheduler
	// is quiescent, and then f runs. Virtual time begins to run with the first. Loops are counted from 1 over all starts.
	Meet func(ctx context.Context, f func(now time.Time) error) error
	// Turn runs f when the replay is between steps, with all that is due played. loop is the one that changes of target sizes belong to.
	Turn func(ctx context.Context, loop int, f func(now time.Time) error) error
	// Decided and Worked keep a decision of a loop, and what was done after one. They are called within Meet, Turn or Stop.
	Decided func(scalehist.Decision) error
	Worked  func(scalehist.Decision) error
}

// errPlayed answers a program that calls when the replay is over.
var errPlayed = errors.New("the replay is over")

// checkFreeRun refuses what does not go with a program in real time.
func (o options) checkFreeRun() error {
	if o.freeRunner == nil {
		if o.Speed != 0 {
			return errors.New("speed goes with an autoscaler that is a program of its own: others are played in virtual time")
		}
		return nil
	}
	switch {
	case scalehist.Playback(o.Playback).SingleMoments():
		return fmt.Errorf("playback %s: a free-running autoscaler cannot be put back to single moments; replay continuously", o.Playback)
	case o.Horizontal != "" || len(o.controllers) > 0 || o.load != nil:
		return errors.New("controllers of workloads and load are played in virtual time: leave them out with a free-running autoscaler")
	case o.Signs:
		return errors.New("signs: a free-running autoscaler writes its own status and events; leave signs out")
	}
	return nil
}

// apisOfPrograms are those that a cluster-autoscaler lists and watches at its start beside those that the control plane needs: without one its
// informers never sync (facts of 1.36.1: storage.k8s.io and resource.k8s.io in full). All stable APIs have them.
const apisOfPrograms = "api/ga=true"

// serve makes the API server one for a program that compares times with its own clock.
func (f *freeRun) serve(o *kvcl.Options) {
	if f == nil {
		return
	}
	o.APIServerFlags = map[string]string{"runtime-config": apisOfPrograms}
	o.WallTime = f.wallOf
}

// nameMachines gives a provider id to recorded nodes without one: an autoscaler knows a node's machine by it.
func nameMachines(changes []scalehist.Change) []scalehist.Change {
	out := slices.Clone(changes)
	for i, ch := range out {
		if n, ok := ch.Object.(*corev1.Node); ok && n.Spec.ProviderID == "" && ch.Op != scalehist.OpDelete {
			n = n.DeepCopy()
			n.Spec.ProviderID = cloudprovider.ProviderID(n.Name)
			out[i].Object = n
		}
	}
	return out
}

// lines is a list for a warning.
func lines(parts ...string) string { return strings.Join(parts, "; ") }
