package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// limits bound a process.
type limits struct {
	// deadline is how long it may run, in wall time. It is far beyond what any source takes (a second), for machines that are busy.
	deadline time.Duration
	// memory is the most it may have resident, in bytes. The runtime is to keep to three quarters of it (GOMEMLIMIT), so that garbage is not
	// taken for what is needed.
	memory int64
}

// defaultLimits hold for every entrance: scalehist on the largest source takes less than 200 MB and two seconds.
var defaultLimits = limits{deadline: time.Minute, memory: 1 << 30}

// outputLimit is how much of an output is kept, in bytes; more is a finding.
const outputLimit = 64 << 20

// ending is what became of a process.
type ending struct {
	code   int // -1: by a signal
	peak   int64
	late   bool // it was still running at its deadline
	stdout *kept
	stderr *kept
}

// process is a program that runs within limits.
type process struct {
	cmd    *exec.Cmd
	within limits
	stdout kept
	stderr kept
	done   chan struct{}
	peak   int64 // written before done is closed
	err    error
	late   bool
	begun  time.Time
}

// start runs a program with nothing of the environment but what env says and where programs are.
func start(ctx context.Context, within limits, dir string, env []string, program string, args ...string) (*process, error) {
	p := &process{within: within, done: make(chan struct{}), begun: time.Now()}
	p.cmd = exec.CommandContext(ctx, program, args...)
	p.cmd.Dir = dir
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "GOMAXPROCS=" + os.Getenv("GOMAXPROCS"), "GOMEMLIMIT=" + strconv.FormatInt(within.memory/4*3, 10)}, env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.WaitDelay = 5 * time.Second
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	exited := make(chan error, 1)
	go func() { exited <- p.cmd.Wait() }()
	go p.watch(exited)
	return p, nil
}

// watch ends the process when it passes a limit.
func (p *process) watch(exited <-chan error) {
	defer close(p.done)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(p.within.deadline)
	defer deadline.Stop()
	for {
		select {
		case p.err = <-exited:
			// Not Maxrss of its rusage: that counts what this process had when it made the other.
			return
		case <-tick.C:
			p.peak = max(p.peak, highWater(p.cmd.Process.Pid))
			if p.peak > p.within.memory {
				p.cmd.Process.Kill() //nolint:errcheck // it may have ended by itself
			}
		case <-deadline.C:
			p.late = true
			p.cmd.Process.Signal(syscall.SIGQUIT) //nolint:errcheck // what it is doing is then in its standard error
			deadline.Reset(2 * time.Second)
			select {
			case p.err = <-exited:
			case <-deadline.C:
				p.cmd.Process.Kill() //nolint:errcheck // it may have ended by itself
				p.err = <-exited
			}
			return
		}
	}
}

// wait gives what became of the process, once it has.
func (p *process) wait() (ending, error) {
	<-p.done
	e := ending{peak: p.peak, late: p.late, stdout: &p.stdout, stderr: &p.stderr}
	var exit *exec.ExitError
	switch {
	case errors.As(p.err, &exit):
		e.code = exit.ExitCode()
	case p.err != nil:
		return e, p.err
	}
	return e, nil
}

// highWater is the most memory a process had resident, in bytes; 0 where the system does not say.
func highWater(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, text, _ := strings.Cut(string(status), "VmHWM:")
	text, _, _ = strings.Cut(text, "kB")
	kb, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0
	}
	return kb << 10
}

// kept is an output of a process, the beginning of it where it is long.
type kept struct {
	mu   sync.Mutex
	data bytes.Buffer
	size int64
}

var _ io.Writer = (*kept)(nil)

func (k *kept) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.size += int64(len(b))
	k.data.Write(b[:min(len(b), outputLimit-k.data.Len())])
	return len(b), nil
}

func (k *kept) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.data.String()
}
