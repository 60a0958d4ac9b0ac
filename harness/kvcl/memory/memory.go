package memory

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/internal/klogs"
	"github.com/scalehist/scalehist/harness/kvcl/internal/plane"
	"github.com/scalehist/scalehist/harness/kvcl/profile"
)

// Options of a control plane in memory. Only Now is required.
type Options struct {
	// Now is the start of virtual time.
	Now time.Time
	// Scoring is how the scheduler prefers nodes; empty means upstream's default.
	Scoring profile.Scoring
	// TieBreak is that of profile.Options.
	TieBreak profile.TieBreak
	// Recall is that of crank.Options.
	Recall bool
	// Unscheduled: there is no scheduler, and Settle is an error. It is for asking what would be refused.
	Unscheduled bool
}

// Plane is the ControlPlane in memory.
type Plane struct {
	plane  *plane.Plane
	closed sync.Once
}

var _ kvcl.ControlPlane = (*Plane)(nil)

// Start makes a control plane. ctx bounds the start only.
func Start(ctx context.Context, o Options) (*Plane, error) {
	if o.Now.IsZero() {
		return nil, errors.New("start a control plane: the start of virtual time is not set (memory.Options.Now)")
	}
	if _, err := klogs.Open(""); err != nil {
		return nil, err
	}
	s, err := newServer()
	if err != nil {
		return nil, err
	}
	m := &Plane{plane: plane.New(s, plane.Options{Scoring: o.Scoring, TieBreak: o.TieBreak, Recall: o.Recall, Unscheduled: o.Unscheduled})}
	if err := m.plane.Start(ctx, o.Now); err != nil {
		return nil, err
	}
	return m, nil
}

// Apply implements kvcl.ControlPlane.
func (m *Plane) Apply(ctx context.Context, changes []scalehist.Change) error {
	return m.plane.Apply(ctx, changes)
}

// Settle implements kvcl.ControlPlane.
func (m *Plane) Settle(ctx context.Context, now time.Time) (kvcl.Settled, error) {
	return m.plane.Settle(ctx, now)
}

// Objects implements kvcl.ControlPlane.
func (m *Plane) Objects() *scalehist.Objects { return m.plane.Objects() }

// Pod implements kvcl.ControlPlane.
func (m *Plane) Pod(namespace, name string) *corev1.Pod { return m.plane.Pod(namespace, name) }

// Evict implements kvcl.ControlPlane.
func (m *Plane) Evict(ctx context.Context, namespace, name string) error {
	return m.plane.Evict(ctx, namespace, name)
}

// SetTaints implements kvcl.ControlPlane.
func (m *Plane) SetTaints(ctx context.Context, node string, taints []corev1.Taint) error {
	return m.plane.SetTaints(ctx, node, taints)
}

// Client implements kvcl.ControlPlane: there is none.
func (m *Plane) Client() (kubernetes.Interface, bool) { return nil, false }

// Stats returns the cost so far. There are no processes.
func (m *Plane) Stats() kvcl.Stats {
	spent := m.plane.Stats()
	return kvcl.Stats{Apply: spent.Apply, Schedule: spent.Schedule}
}

// Close implements kvcl.ControlPlane.
func (m *Plane) Close() error {
	m.closed.Do(m.plane.Close)
	return nil
}
