package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines/calls"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/internal/realprogram"
	"github.com/scalehist/scalehist/virtualca/config"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
	"github.com/scalehist/scalehist/virtualca/nodegroups"
)

const (
	// LogFile is the autoscaler's own log, in the directory of the report.
	LogFile = "cluster-autoscaler.log"
	// CallsFile is a history of what the autoscaler asked of its provider, beside the log.
	CallsFile = "provider-calls.db"
	// namespace is where it keeps its status ConfigMap, and looks for the priorities of its expander, unless --namespace says otherwise.
	defaultNamespace = "kube-system"
	// prioritiesName and prioritiesKey are those of upstream's priority expander (expander/priority).
	prioritiesName, prioritiesKey = "cluster-autoscaler-priority-expander", "priorities"
	// callTime bounds a call of the autoscaler's: one that waits for its turn waits for a step of the replay.
	callTime = time.Minute
)

// Runner is a binary as a harness.FreeRunner. Use New.
type Runner struct {
	path  string
	env   harness.FreeEnv
	known map[string]flagInfo
	dir   string // of its files
	temp  bool   // dir goes at the end

	settings scalehist.CASettings
	process  *realprogram.Process
	server   *externalgrpc.Server
	serving  sync.WaitGroup
	log      *logReader
	calls    *calls.Log // nil where no files are kept
	book     *book
	to       harness.Attachment
}

var _ harness.FreeRunner = (*Runner)(nil)

// New is the constructor of a binary's engine.
func New(path string) harness.NewFreeRunner {
	return func(env harness.FreeEnv) (harness.FreeRunner, error) {
		known, err := knownFlags(context.Background(), path)
		if err != nil {
			return nil, err
		}
		return &Runner{path: path, env: env, known: known}, nil
	}
}

// Name implements harness.FreeRunner. Where the binary lies is in no report.
func (r *Runner) Name() string { return "exec:" + filepath.Base(r.path) }

// Configure implements harness.FreeRunner.
func (r *Runner) Configure(s scalehist.CASettings) (inForce scalehist.CASettings, scan time.Duration, err error) {
	flags, warnings := usable(s.Flags, r.known)
	for _, w := range warnings {
		r.env.Warn(w)
	}
	s.Flags = flags
	parsed, _, err := config.ParseSettings(s)
	if err != nil {
		return s, 0, err
	}
	r.settings = s
	return s, parsed.ScanInterval, nil
}

// Start implements harness.FreeRunner.
func (r *Runner) Start(ctx context.Context, to harness.Attachment) (err error) {
	r.to = to
	if err := r.makeDir(); err != nil {
		return err
	}
	if err := r.writePriorities(ctx); err != nil {
		return err
	}
	if r.book == nil {
		r.log = &logReader{path: filepath.Join(r.dir, LogFile)}
		if err := os.WriteFile(r.log.path, nil, 0o644); err != nil {
			return fmt.Errorf("log of the autoscaler: %w", err)
		}
		r.book = newBook(to, r.env.Speed, r.log)
	}
	r.book.restarted()
	groups := nodegroups.New(to.Provider, turns{to, r.book}, nodegroups.Options{Speed: r.env.Speed, Asked: r.book.asked, Looped: r.book.looped})
	o := externalgrpc.ServerOptions{CallTime: callTime}
	if err := r.recordCalls(ctx); err != nil {
		return err
	}
	if r.calls != nil {
		o.Called = r.calls.Called
	}
	if r.server, err = externalgrpc.NewServer(groups, o); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("serve node groups to the autoscaler: %w", err)
	}
	server := r.server
	r.serving.Go(func() { _ = server.Serve(l) }) // an autoscaler that is not served never loops, which is an error of its own
	args, err := r.arguments(l.Addr().String())
	if err != nil {
		return errors.Join(err, r.Stop())
	}
	if r.process, err = realprogram.Start(r.path, args, r.log.path); err != nil {
		return errors.Join(err, r.Stop())
	}
	return nil
}

// turns are the replay's, with the loop that the autoscaler is in.
type turns struct {
	to   harness.Attachment
	book *book
}

func (t turns) Turn(ctx context.Context, f func(time.Time) error) error {
	return t.to.Turn(ctx, t.book.loop(), f)
}

func (t turns) Loop(ctx context.Context, f func(time.Time) error) error { return t.to.Meet(ctx, f) }

// arguments writes the files that the autoscaler is started with, and its command line.
func (r *Runner) arguments(address string) ([]string, error) {
	files := map[string][]byte{
		"kubeconfig": r.to.Kubeconfig, "cloud.yaml": fmt.Appendf(nil, "address: %s\ngrpc_timeout: %s\n", address, callTime),
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(r.dir, name), data, 0o600); err != nil {
			return nil, fmt.Errorf("configuration of the autoscaler: %w", err)
		}
	}
	flags, err := scaled(r.settings.Flags, r.known, r.env.Speed)
	if err != nil {
		return nil, err
	}
	own := []string{
		"--cloud-provider=externalgrpc", "--cloud-config=" + filepath.Join(r.dir, "cloud.yaml"), "--kubeconfig=" + filepath.Join(r.dir, "kubeconfig"),
		"--leader-elect=false", "--address=127.0.0.1:0",
	}
	return append(own, flags...), nil
}

func (r *Runner) makeDir() (err error) {
	switch {
	case r.dir != "":
		return nil
	case r.env.Dir != "":
		if r.dir, err = filepath.Abs(r.env.Dir); err == nil {
			err = os.MkdirAll(r.dir, 0o755)
		}
	default:
		r.temp = true
		r.dir, err = os.MkdirTemp("", "scalehist-autoscaler-")
	}
	if err != nil {
		return fmt.Errorf("files of the autoscaler: %w", err)
	}
	return nil
}

// writePriorities makes the ConfigMap of the priority expander what was recorded.
func (r *Runner) writePriorities(ctx context.Context) error {
	cfg, err := clientcmd.RESTConfigFromKubeConfig(r.to.Kubeconfig)
	if err != nil {
		return fmt.Errorf("client for the autoscaler: %w", err)
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("client for the autoscaler: %w", err)
	}
	maps := client.CoreV1().ConfigMaps(valueOf(r.settings.Flags, "namespace", defaultNamespace))
	if r.settings.Priorities == "" {
		if err := maps.Delete(ctx, prioritiesName, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("priorities of the autoscaler: %w", err)
		}
		return nil
	}
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: prioritiesName}, Data: map[string]string{prioritiesKey: r.settings.Priorities}}
	_, err = maps.Create(ctx, m, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = maps.Update(ctx, m, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("priorities of the autoscaler: %w", err)
	}
	return nil
}

// Ended implements harness.FreeRunner.
func (r *Runner) Ended() <-chan struct{} {
	if r.process == nil {
		return nil
	}
	return r.process.Done()
}

// lastLines is how much of its log an error quotes.
const lastLines = 8

// Err implements harness.FreeRunner.
func (r *Runner) Err() error {
	what := "it is running"
	select {
	case <-r.Ended():
		what = "it ended within the replay"
		if err := r.process.Err(); err != nil {
			what += " (" + err.Error() + ")"
		}
	default:
	}
	data, err := os.ReadFile(r.log.path)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", r.Name(), what, err)
	}
	all := bytes.Split(bytes.TrimRight(data, "\n"), []byte("\n"))
	last := bytes.Join(all[max(0, len(all)-lastLines):], []byte("\n"))
	return fmt.Errorf("%s: %s; it wrote last:\n%s", r.Name(), what, plaintext.Lines(string(last)))
}

// Stop implements harness.FreeRunner.
func (r *Runner) Stop() error {
	if r.process != nil {
		r.process.Stop()
	}
	if r.server != nil {
		r.server.Stop()
		r.serving.Wait()
	}
	var err error
	if r.book != nil && r.process != nil {
		err = r.book.finish()
	}
	r.process, r.server = nil, nil
	for _, name := range []string{"kubeconfig", "cloud.yaml"} { // of an API server that is gone
		if r.dir != "" {
			_ = os.Remove(filepath.Join(r.dir, name))
		}
	}
	return err
}

// recordCalls begins to record what the autoscaler asks, if files are kept. One that is started again is recorded on.
func (r *Runner) recordCalls(ctx context.Context) error {
	if r.temp || r.calls != nil {
		return nil
	}
	path := filepath.Join(r.dir, CallsFile)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // of a replay before
		return fmt.Errorf("calls of the autoscaler: %w", err)
	}
	var err error
	r.calls, err = calls.Create(ctx, path, r.Name(), clock.RealClock{})
	return err
}

// Close removes what is not kept.
func (r *Runner) Close() error {
	if r.calls != nil {
		return r.calls.Close()
	}
	if !r.temp || r.dir == "" {
		return nil
	}
	return os.RemoveAll(r.dir)
}
