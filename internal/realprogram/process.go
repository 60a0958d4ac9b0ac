package realprogram

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"k8s.io/utils/clock"
)

// Process is a child that dies with this process, by whatever signal that ends.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// Start starts a program with its output in a file, which it makes or adds to.
func Start(path string, args []string, output string) (*Process, error) {
	f, err := os.OpenFile(output, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = f, f
	p.cmd.SysProcAttr = dieWithParent()
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the kernel kills it with the thread that started it: that thread waits for it
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
		}
		p.err = errors.Join(p.err, f.Close())
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return p, nil
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err is how the process ended, nil for exit code 0. It waits for the end.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// stopWait is how long a process has to end by itself.
const stopWait = 5 * time.Second

// Stop asks the process to end, and after a while makes it. It may be called again.
func (p *Process) Stop() {
	select {
	case <-p.done:
		return
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-clock.RealClock{}.After(stopWait):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}
