package kvcl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/assets"
	"github.com/scalehist/scalehist/harness/kvcl/internal/klogs"
	"github.com/scalehist/scalehist/harness/kvcl/internal/plane"
	"github.com/scalehist/scalehist/harness/kvcl/profile"
)

// Options of a virtual cluster. Only Now is required.
type Options struct {
	// Now is the start of virtual time. A pool's virtual clusters get it later.
	Now time.Time
	// Scoring is how the scheduler prefers nodes; empty means upstream's default.
	Scoring profile.Scoring
	// TieBreak is that of profile.Options.
	TieBreak profile.TieBreak
	// LogDir gets kube-apiserver.log, etcd.log and scheduler.log; empty means no logs. It is
	// made if it does not exist.
	LogDir string
	// Assets says where the binaries come from.
	Assets assets.Options
	// EmitEvents writes the scheduler's events to the API server, for a virtual cluster that plays the live one.
	EmitEvents bool
	// APIServerFlags are added to the flags of kube-apiserver and win over ours.
	APIServerFlags map[string]string
	// WallTime is the instant of the wall clock that stands for one of virtual time. The conditions of nodes are written with it, for programs
	// that compare them with their own clock. Nil: they are written as they are.
	WallTime func(virtual time.Time) time.Time
}

// EnvTest is the ControlPlane on a real kube-apiserver and etcd.
type EnvTest struct {
	procs  *processes
	client kubernetes.Interface
	inbox  *inbox
	plane  *plane.Plane

	stopWatch context.CancelFunc
	watches   sync.WaitGroup
	closeLog  func()
	closed    sync.Once
	closeErr  error
	boot      time.Duration
	logDir    string
}

// LogDir is where its processes log; empty when nowhere. It is whole once the virtual cluster is closed.
func (e *EnvTest) LogDir() string { return e.logDir }

var _ ControlPlane = (*EnvTest)(nil)

// Start boots a virtual cluster. ctx bounds the start only; Close ends the virtual cluster. If this process dies
// without Close, the kernel ends the children.
func Start(ctx context.Context, o Options) (*EnvTest, error) {
	if o.Now.IsZero() {
		return nil, errors.New("start a virtual cluster: the start of virtual time is not set (kvcl.Options.Now)")
	}
	e, err := boot(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := e.plane.Start(ctx, o.Now); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// boot starts everything but virtual time.
func boot(ctx context.Context, o Options) (_ *EnvTest, err error) {
	e := &EnvTest{inbox: newInbox(), closeLog: func() {}, logDir: o.LogDir}
	server := &httpServer{inbox: e.inbox, wall: o.WallTime}
	e.plane = plane.New(server, plane.Options{Scoring: o.Scoring, TieBreak: o.TieBreak, EmitEvents: o.EmitEvents})
	begin := time.Now()
	if err := makeLogDir(o.LogDir); err != nil {
		return nil, err
	}
	paths, err := assets.Ensure(ctx, o.Assets)
	if err != nil {
		return nil, err
	}
	if e.closeLog, err = klogs.Open(o.LogDir); err != nil {
		return nil, err
	}
	if e.procs, err = launch(ctx, paths, o); err != nil {
		e.closeLog()
		return nil, err
	}
	var watchCtx context.Context
	watchCtx, e.stopWatch = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Close())
		}
	}()
	cfg := rest.CopyConfig(e.procs.config)
	cfg.ContentType = runtime.ContentTypeProtobuf
	cfg.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	if e.client, err = kubernetes.NewForConfig(cfg); err != nil {
		return nil, fmt.Errorf("client of the virtual cluster: %w", err)
	}
	server.client = e.client
	e.inbox.start(watchCtx, e.client, &e.watches)
	if err := e.inbox.waitListed(ctx); err != nil {
		return nil, fmt.Errorf("first list from the virtual cluster: %w", err)
	}
	e.boot = time.Since(begin)
	return e, nil
}

// Apply implements ControlPlane. Pods that are added, updated or deleted one after the other are written in parallel.
func (e *EnvTest) Apply(ctx context.Context, changes []scalehist.Change) error {
	return e.procs.lost(e.plane.Apply(ctx, changes))
}

// Settle implements ControlPlane.
func (e *EnvTest) Settle(ctx context.Context, now time.Time) (Settled, error) {
	settled, err := e.plane.Settle(ctx, now)
	return settled, e.procs.lost(err)
}

// Objects implements ControlPlane.
func (e *EnvTest) Objects() *scalehist.Objects { return e.plane.Objects() }

// Pod implements ControlPlane.
func (e *EnvTest) Pod(namespace, name string) *corev1.Pod { return e.plane.Pod(namespace, name) }

// Evict implements ControlPlane. The pod is gone when it returns: grace periods are the caller's to model.
func (e *EnvTest) Evict(ctx context.Context, namespace, name string) error {
	return e.procs.lost(e.plane.Evict(ctx, namespace, name))
}

// SetTaints implements ControlPlane.
func (e *EnvTest) SetTaints(ctx context.Context, node string, taints []corev1.Taint) error {
	return e.procs.lost(e.plane.SetTaints(ctx, node, taints))
}

// Client implements ControlPlane.
func (e *EnvTest) Client() (kubernetes.Interface, bool) { return e.client, true }

// RESTConfig is how to reach the API server, as an administrator. The caller may change it.
func (e *EnvTest) RESTConfig() *rest.Config { return rest.CopyConfig(e.procs.config) }

// Kubeconfig is RESTConfig as a file for kubectl and other programs.
func (e *EnvTest) Kubeconfig() ([]byte, error) { return kubeconfig(e.procs.config) }

// Touched has a value whenever the watches have brought something since it was last read, no matter who wrote it.
func (e *EnvTest) Touched() <-chan struct{} { return e.inbox.touched }

// Close implements ControlPlane.
func (e *EnvTest) Close() error {
	e.closed.Do(func() {
		e.plane.Close()
		e.stopWatch()
		e.closeErr = e.procs.stop()
		e.watches.Wait()
		e.closeLog()
	})
	return e.closeErr
}

// makeLogDir makes the directory if need be. It is here so that a wrong one is an error before anything starts.
func makeLogDir(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Clean(dir), 0o755); err != nil {
		return fmt.Errorf("log directory of the virtual cluster: %w", err)
	}
	return nil
}
