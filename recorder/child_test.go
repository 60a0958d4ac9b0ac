package recorder

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/scalehist/scalehist/recorder/history/dbfile"
)

// childRole names the environment variable that makes this test binary another program: a role in children.
const childRole = "SCALEHIST_TEST_CHILD"

// children are the programs this test binary can be.
var children = map[string]func() int{"recorder": childRecorder}

// childOrders is what a recorder in a process of its own is given in its environment.
type childOrders struct {
	Host, Token, Path string
	CA                []byte
	QueueSize         int
}

// childAnswer is what it answers to each line of its input: "flush", "stats", "limit BYTES" (of every file it writes).
type childAnswer struct {
	At     time.Time // observed time
	Error  string
	Stats  Stats
	HeapMB float64
	CPU    time.Duration // used so far
}

// childRecorder records until its input ends.
func childRecorder() int {
	signal.Ignore(syscall.SIGXFSZ) // a write beyond the limit is an error then, as on a full disk
	var orders childOrders
	if err := json.Unmarshal([]byte(os.Getenv("SCALEHIST_TEST_ORDERS")), &orders); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	cfg := &rest.Config{Host: orders.Host, BearerToken: orders.Token, TLSClientConfig: rest.TLSClientConfig{CAData: orders.CA}}
	r, err := New(cfg, Options{Path: orders.Path, Wait: true, QueueSize: orders.QueueSize})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	out := json.NewEncoder(os.Stdout)
	answer := func(err error) {
		a := childAnswer{At: r.now(), Stats: r.Stats()}
		if err != nil {
			a.Error = err.Error()
		}
		_ = out.Encode(a) // nobody listens any more: the input ends too
	}
	answer(r.WaitForStart(ctx))
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		order, arg, _ := strings.Cut(in.Text(), " ")
		switch order {
		case "flush":
			answer(r.Flush(ctx))
		case "limit":
			n, err := strconv.ParseUint(arg, 10, 64)
			if err == nil {
				err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: syscall.RLIM_INFINITY & (1<<63 - 1)})
			}
			answer(err)
		case "stats":
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			var u syscall.Rusage
			_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
			_ = out.Encode(childAnswer{At: r.now(), Stats: r.Stats(), HeapMB: float64(m.HeapAlloc) / (1 << 20),
				CPU: time.Duration(u.Utime.Nano() + u.Stime.Nano())})
		}
	}
	stop()
	if err := <-done; err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// process is a recorder in a process of its own.
type process struct {
	t       testing.TB
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *json.Decoder
	begun   childAnswer
}

// launch starts a recorder process and returns when it records, or with why it does not.
func launch(t testing.TB, cfg *rest.Config, path string, queue int) (*process, error) {
	t.Helper()
	orders, err := json.Marshal(childOrders{Host: cfg.Host, Token: cfg.BearerToken, CA: cfg.CAData, Path: path, QueueSize: queue})
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command(os.Args[0], "-test.run=^$")} //nolint:gosec // this very binary
	p.cmd.Env = append(os.Environ(), childRole+"=recorder", "SCALEHIST_TEST_ORDERS="+string(orders))
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said strings.Builder
	p.cmd.Stderr = &said
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.answers = json.NewDecoder(out)
	runtime.LockOSThread() // the child dies with the thread that started it
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	err = p.answer(&p.begun)
	if err == nil && p.begun.Error != "" {
		err = errors.New(p.begun.Error)
	}
	if err != nil {
		_ = p.in.Close()
		_ = p.cmd.Wait()
		return nil, fmt.Errorf("%w: %s", err, said.String())
	}
	return p, nil
}

// answer reads the next one. A process that does not give it within patience has hung: it is made to say where, which
// ends it.
func (p *process) answer(a *childAnswer) error {
	hung := time.AfterFunc(patience, func() { _ = p.cmd.Process.Signal(syscall.SIGQUIT) })
	defer hung.Stop()
	return p.answers.Decode(a)
}

// ask gives an order and returns the answer; errors are in it.
func (p *process) ask(order string) childAnswer {
	p.t.Helper()
	var a childAnswer
	_, err := io.WriteString(p.in, order+"\n")
	if err == nil {
		err = p.answer(&a)
	}
	if err != nil {
		p.t.Fatalf("the recorder process does not answer to %q: %v: %s", order, err, p.cmd.Stderr)
	}
	return a
}

// flush returns the observed time at which the file held what the API server had.
func (p *process) flush() time.Time {
	p.t.Helper()
	a := p.ask("flush")
	if a.Error != "" {
		p.t.Fatalf("flush: %s", a.Error)
	}
	return a.At
}

// kill is kill -9.
func (p *process) kill() {
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// end lets the process end by itself.
func (p *process) end() {
	p.t.Helper()
	if err := p.in.Close(); err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Fatalf("the recorder process: %v: %s", err, p.cmd.Stderr)
	}
}

// TestSecondProcessIsRefused: one writer a file, and who it is.
func TestSecondProcessIsRefused(t *testing.T) {
	path := t.TempDir() + "/h.db"
	first, err := launch(t, cluster, path, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(cluster, Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		if r.WaitForStart(ctx) == nil {
			stop() // it records, which it must not: let Run say so and not go on for ever
		}
	}()
	err = r.Run(ctx)
	var locked *dbfile.LockedError
	if !errors.As(err, &locked) || locked.PID != first.cmd.Process.Pid {
		t.Errorf("second recorder: %v, want a LockedError with PID %d", err, first.cmd.Process.Pid)
	}
	first.kill()
	record(t, cluster, Options{Path: path}).end() // what a killed process left behind keeps nobody out
}
