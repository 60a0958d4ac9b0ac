package harness

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/memory"
)

// The control planes a replay can run on. They give the same report; its run section says which one it was.
const (
	// Memory is the API server's registries over a map, in this process: nothing to build, and ten times faster or more.
	Memory = "memory"
	// EnvTest is a real kube-apiserver and etcd: the reference, and the only one with clients.
	EnvTest = "envtest"
)

// ControlPlanes lists them, the default first.
var ControlPlanes = []string{Memory, EnvTest}

// ControlPlaneVariable names the environment variable that chooses the control plane of replays that choose none.
const ControlPlaneVariable = "SCALEHIST_CONTROL_PLANE"

// ControlPlaneFunc boots a control plane. Of the options it gets the start of virtual time, the scoring and the way to
// break ties.
type ControlPlaneFunc func(ctx context.Context, o kvcl.Options) (kvcl.ControlPlane, error)

// OnControlPlane chooses one of ControlPlanes.
func OnControlPlane(name string) Option {
	return func(o *options) { o.ControlPlane, o.plane = name, nil }
}

// WithControlPlane sets where control planes come from. name goes into the report's run section.
func WithControlPlane(name string, f ControlPlaneFunc) Option {
	return func(o *options) { o.ControlPlane, o.plane = name, f }
}

// DefaultControlPlane is the one of ControlPlaneVariable, else the first of ControlPlanes.
func DefaultControlPlane() string {
	if name := os.Getenv(ControlPlaneVariable); name != "" {
		return name
	}
	return ControlPlanes[0]
}

// checkPlane finds a name that is none of ours before anything starts.
func (o options) checkPlane() error {
	if o.plane != nil || slices.Contains(ControlPlanes, o.ControlPlane) {
		return nil
	}
	from := ""
	if os.Getenv(ControlPlaneVariable) == o.ControlPlane {
		from = " (from " + ControlPlaneVariable + ")"
	}
	return fmt.Errorf("control plane %q%s: choose %s", o.ControlPlane, from, strings.Join(ControlPlanes, " or "))
}

func (r *run) bootPlane(ctx context.Context) (kvcl.ControlPlane, error) {
	o := kvcl.Options{Now: r.in.Start, Scoring: r.opts.Scheduler, TieBreak: tieBreaks[r.opts.Ties]}
	r.free.serve(&o)
	switch {
	case r.opts.plane != nil:
		return r.opts.plane(ctx, o)
	case r.opts.ControlPlane == Memory:
		return memory.Start(ctx, memory.Options{Now: o.Now, Scoring: o.Scoring, TieBreak: o.TieBreak, Recall: true})
	}
	return kvcl.Start(ctx, o)
}
