package kvcl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/scalehist/scalehist/harness/kvcl/assets"
	"github.com/scalehist/scalehist/harness/kvcl/internal/home"
)

const (
	// bootTimeout bounds how long it may take until pods are served; a loaded machine needs some seconds.
	bootTimeout = 60 * time.Second
	// healthTimeout is how long envtest, which waits on in the background, gives /healthz before it ends the server.
	healthTimeout = 10 * time.Minute
	// readyPoll is how often we ask whether pods are served.
	readyPoll = 5 * time.Millisecond
	// requestTimeout bounds one such question, so that a server that hangs does not outlive bootTimeout.
	requestTimeout = 5 * time.Second
	// launchTries: a port that was free may be taken by the time a process binds it.
	launchTries = 3
)

// errPortTaken marks a launch that is worth another try.
var errPortTaken = errors.New("port taken")

// processes are a running kube-apiserver and etcd.
type processes struct {
	home   *home.Home
	env    *envtest.Environment
	config *rest.Config
	links  map[string]string
	// started gets the result of envtest's Start; release ends the threads that the children watch.
	started chan error
	release chan struct{}
	logs    []io.Closer
	// stopEnv is envtest's Stop.
	stopEnv func() error
	// requestTimeout is as the constant; tests shorten it.
	requestTimeout time.Duration
	// pids are the processes the links became first: envtest starts others in place of those that ended.
	pids map[string]int
	// fates say how a process ended.
	fates map[string]chan string
	// tails are the last lines each wrote.
	tails map[string]*tail
	// freePort is set while a kube-apiserver that was killed has not been started again: its port is kept.
	freePort func()
}

// childNames are in the order in which to blame them: envtest ends etcd when kube-apiserver has ended, not the reverse.
var childNames = []string{"kube-apiserver", "etcd"}

// launch starts both processes and returns when the API server answers requests for pods.
func launch(ctx context.Context, paths assets.Paths, o Options) (*processes, error) {
	var err error
	for range launchTries {
		var p *processes
		if p, err = launchOnce(ctx, paths, o); err == nil {
			return p, nil
		}
		if !errors.Is(err, errPortTaken) {
			return nil, err
		}
	}
	return nil, err
}

func launchOnce(ctx context.Context, paths assets.Paths, o Options) (_ *processes, err error) {
	h, err := home.New(ctx)
	if err != nil {
		return nil, err
	}
	p := &processes{
		home: h, links: map[string]string{}, started: make(chan error, 1), release: make(chan struct{}),
		requestTimeout: requestTimeout, pids: map[string]int{}, fates: map[string]chan string{}, tails: map[string]*tail{},
	}
	defer func() {
		if err != nil {
			close(p.release)
			h.Kill()
			_ = h.Remove()
		}
	}()
	for name, path := range map[string]string{"kube-apiserver": paths.KubeAPIServer, "etcd": paths.Etcd} {
		// Less garbage collection takes a third off the CPU time of a boot; the limit keeps a long run from growing.
		if p.links[name], err = h.Link(name, path, "GOGC=400", "GOMEMLIMIT=384MiB"); err != nil {
			return nil, err
		}
	}
	certs := filepath.Join(h.Dir, "apiserver")
	if err := os.Mkdir(certs, 0o700); err != nil {
		return nil, err
	}
	acc, err := newAccess(certs)
	if err != nil {
		return nil, err
	}
	for _, name := range childNames {
		if p.tails[name], err = p.log(o.LogDir, name); err != nil {
			return nil, err
		}
	}
	if err := p.configure(acc, certs, o); err != nil {
		return nil, err
	}
	p.onThread(p.env.ControlPlane.Start)
	if err := p.waitReady(ctx); err != nil {
		h.Kill()
		<-p.started //nolint:errcheck // waitReady has the error to report
		_ = p.stopEnv()
		p.closeLogs()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("start kube-apiserver and etcd: %w", ctx.Err())
		}
		tails := tailText("etcd", p.tails["etcd"]) + tailText("kube-apiserver", p.tails["kube-apiserver"])
		var died *diedError
		if errors.As(err, &died) {
			// What the other one said when it was ended, too, would hide the reason.
			tails = tailText(died.name, p.tails[died.name])
		}
		if strings.Contains(tails, "address already in use") {
			err = fmt.Errorf("%w: %w", errPortTaken, err)
		}
		return nil, fmt.Errorf("start kube-apiserver and etcd: %w%s", err, tails)
	}
	return p, nil
}

// onThread starts children on a thread of their own, and puts what start returns into p.started. The kernel ends the children with
// the thread that started them, so it lives until release.
func (p *processes) onThread(start func() error) {
	go func() {
		runtime.LockOSThread()
		p.started <- start()
		<-p.release
		runtime.UnlockOSThread()
	}()
}

// configure sets up envtest: all we know better than its defaults.
func (p *processes) configure(acc *access, certs string, o Options) error {
	ports, err := freePorts(2)
	if err != nil {
		return err
	}
	p.env = &envtest.Environment{}
	// Its Environment would go on to make files elsewhere, and clients that nobody uses.
	p.stopEnv = p.env.ControlPlane.Stop
	etcdDir := filepath.Join(p.home.Dir, "etcd.data")
	if err := os.Mkdir(etcdDir, 0o700); err != nil {
		return err
	}
	e := &envtest.Etcd{
		Path: p.links["etcd"], DataDir: etcdDir, Out: p.tails["etcd"], Err: p.tails["etcd"],
		URL:          &url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))},
		StartTimeout: healthTimeout, StopTimeout: bootTimeout,
	}
	e.Configure().
		Set("unsafe-no-fsync", "true").
		Set("log-level", "error").
		Set("snapshot-count", "1000000")
	p.env.ControlPlane.Etcd = e

	s := p.env.ControlPlane.GetAPIServer()
	s.Path, s.CertDir, s.Out, s.Err = p.links["kube-apiserver"], certs, p.tails["kube-apiserver"], p.tails["kube-apiserver"]
	s.SecureServing.Address, s.SecureServing.Port = "127.0.0.1", strconv.Itoa(ports[1])
	s.SecureServing.CA, s.SecureServing.Authn = acc.ca, acc
	s.StartTimeout, s.StopTimeout = healthTimeout, bootTimeout
	args := s.Configure()
	for flag, value := range apiserverFlags {
		args.Set(flag, value)
	}
	for flag, value := range o.APIServerFlags {
		args.Set(flag, value)
	}
	p.config = &rest.Config{
		Host:            "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[1])),
		BearerToken:     acc.token,
		TLSClientConfig: rest.TLSClientConfig{CAData: acc.ca},
		QPS:             -1, // no limit: the server is ours
	}
	return nil
}

// apiserverFlags make the API server a plain store: no admission of its own, which would change recorded objects or
// wait for controllers that do not run; only the APIs the project uses; no fairness, no garbage collection.
var apiserverFlags = map[string]string{
	"authorization-mode":             "AlwaysAllow",
	"enable-priority-and-fairness":   "false",
	"max-requests-inflight":          "0",
	"max-mutating-requests-inflight": "0",
	"profiling":                      "false",
	"enable-garbage-collector":       "false",
	"endpoint-reconciler-type":       "none",
	"disable-admission-plugins": strings.Join([]string{
		"NamespaceLifecycle", "LimitRanger", "ServiceAccount", "TaintNodesByCondition", "PodSecurity", "Priority",
		"DefaultTolerationSeconds", "DefaultStorageClass", "StorageObjectInUseProtection", "PersistentVolumeClaimResize",
		"RuntimeClass", "CertificateApproval", "CertificateSigning", "ClusterTrustBundleAttest",
		"CertificateSubjectRestriction", "DefaultIngressClass", "PodTopologyLabels", "NodeDeclaredFeatureValidator",
		"PodResizeValidator", "MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook",
		"ResourceQuota",
	}, ","),
	// Without apiregistration the server refuses to start; without networking and apiextensions its hooks wait for
	// informers that never fill, /healthz stays bad, and the server ends after a minute. The recorder watches apps,
	// autoscaling, batch, policy and events.
	"runtime-config": strings.Join([]string{
		"api/all=false", "api/v1=true", "apiregistration.k8s.io/v1=true", "apps/v1=true", "autoscaling/v2=true", "batch/v1=true",
		"policy/v1=true", "scheduling.k8s.io/v1=true", "storage.k8s.io/v1=true", "events.k8s.io/v1=true",
		"coordination.k8s.io/v1=true", "node.k8s.io/v1=true", "networking.k8s.io/v1=true",
		"apiextensions.k8s.io/v1=true",
	}, ","),
}

// ended says whether neither process runs any more, or ever did.
func (p *processes) ended() bool {
	for _, link := range p.links {
		if p.home.PID(link) != 0 && !p.home.Died(link) {
			return false
		}
	}
	return true
}

// stop ends both processes and removes all their files. Nothing in them is worth a graceful end.
func (p *processes) stop() error {
	p.home.Kill()
	<-p.started //nolint:errcheck // how the start went was reported when it did
	p.home.Kill()
	err := p.stopEnv()
	if p.ended() {
		// envtest signals processes that we have killed: one that has just gone is an error to it.
		err = nil
	}
	close(p.release)
	if p.freePort != nil {
		p.freePort()
	}
	p.closeLogs()
	if rerr := p.home.Remove(); err == nil {
		err = rerr
	}
	if err != nil {
		return fmt.Errorf("stop kube-apiserver and etcd: %w", err)
	}
	return nil
}

func (p *processes) log(dir, name string) (*tail, error) {
	t := &tail{}
	if dir != "" {
		f, err := os.Create(filepath.Join(dir, name+".log"))
		if err != nil {
			return nil, fmt.Errorf("log of %s: %w", name, err)
		}
		p.logs = append(p.logs, f)
		t.file = f
	}
	return t, nil
}

func (p *processes) closeLogs() {
	for _, f := range p.logs {
		_ = f.Close()
	}
	p.logs = nil
}

func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("free port: %w", err)
		}
		defer l.Close() // all at the end, so that no port comes twice
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
