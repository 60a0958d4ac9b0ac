package nodemanager_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/internal/realprogram"
	"github.com/scalehist/scalehist/internal/realprogram/realtest"
	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
	"github.com/scalehist/scalehist/virtualca/nodemanager"
)

const (
	servedVariable = "SCALEHIST_TEST_SERVED"
	addressFile    = "address"
)

// TestServed is the process that TestKilled kills: a node manager over the files of a directory.
func TestServed(t *testing.T) {
	dir := os.Getenv(servedVariable)
	if dir == "" {
		t.Skip("it is run by TestKilled")
	}
	var backend nodemanager.Backend
	if filepath.Base(dir) == "virtual" {
		backend = ours(t, filepath.Join(dir, "state.db"))
	} else {
		pool := borrowed(t, filepath.Join(dir, "state.db"))
		run(t, pool.Run)
		backend = pool
	}
	address, err := os.ReadFile(filepath.Join(dir, addressFile))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", string(address))
	if err != nil {
		t.Fatal(err)
	}
	t.Fatal(http.Serve(l, nodemanager.NewServer(backend, restapi.Gate{}))) //nolint:gosec // the test's timeout is that of the process
}

// TestKilled kills the node manager between requests and while they are under way, at seeded moments: what was granted is there, once.
func TestKilled(t *testing.T) {
	for _, kind := range []string{"virtual", "multicluster"} {
		t.Run(kind, func(t *testing.T) { killed(t, kind) })
	}
}

func killed(t *testing.T, kind string) {
	const kills, callers, calls = 5, 4, 12
	dir := filepath.Join(t.TempDir(), kind)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, addressFile), []byte(address), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(servedVariable, dir)
	process := start(t, dir)
	defer func() { process.Stop() }()
	c := &nodemanager.Client{API: restapi.Client{HTTP: &http.Client{Transport: &http.Transport{}}, Base: "http://" + address}, Clock: clock.RealClock{}, Patience: time.Minute}
	before, err := c.TargetSize(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	progress := make(chan struct{}, callers*calls)
	for caller := range callers {
		wg.Go(func() {
			for i := range calls {
				if err := c.IncreaseSize(t.Context(), "a", 1); err != nil {
					t.Errorf("caller %d, call %d: %v", caller, i, err)
				}
				progress <- struct{}{}
			}
		})
	}
	chance := rand.New(rand.NewPCG(15, 5)) //nolint:gosec // moments of a test
	for range kills {
		for range callers * calls / (kills + 1) {
			<-progress
		}
		clock.RealClock{}.Sleep(time.Duration(chance.IntN(3000)) * time.Microsecond) // anywhere in the next request
		kill(t, process)
		process = start(t, dir)
	}
	wg.Wait()
	want := before + callers*calls
	kill(t, process) // what was answered last is there, too
	process = start(t, dir)
	if n, err := c.TargetSize(t.Context(), "a"); err != nil || n != want {
		t.Errorf("target size %d, %v: want %d", n, err, want)
	}
	var list []externalgrpc.Instance
	realtest.Eventually(t, fmt.Sprintf("the %d nodes do not come", want), func() bool {
		list, err = c.Instances(t.Context(), "a")
		for _, i := range list {
			if i.State != externalgrpc.Running {
				return false
			}
		}
		return err == nil && len(list) == want
	})
	var nodes []externalgrpc.Node
	for _, i := range list[:len(list)-2] { // the minimum is 1
		nodes = append(nodes, externalgrpc.Node{ProviderID: i.ID})
	}
	deleted := make(chan error, 1)
	go func() { deleted <- c.DeleteNodes(t.Context(), "a", nodes) }()
	kill(t, process)
	process = start(t, dir)
	if err := <-deleted; err != nil {
		t.Error(err)
	}
	realtest.Eventually(t, "the nodes do not go", func() bool {
		list, err = c.Instances(t.Context(), "a")
		return err == nil && len(list) == 2
	})
}

func start(t *testing.T, dir string) *realprogram.Process {
	t.Helper()
	p, err := realprogram.Start(os.Args[0], []string{"-test.run=^TestServed$"}, filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func kill(t *testing.T, p *realprogram.Process) {
	t.Helper()
	one, err := os.FindProcess(p.PID())
	if err == nil {
		err = one.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
}
