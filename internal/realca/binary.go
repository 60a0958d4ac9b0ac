package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// envBinary names the cluster-autoscaler to run.
const envBinary = "SCALEHIST_CLUSTER_AUTOSCALER"

// packed is where a compressed binary lies beside the repository.
const packed = "../shared/bin/cluster-autoscaler-*.xz"

// findBinary finds the cluster-autoscaler, unpacking it once into the user's cache.
func findBinary(ctx context.Context) (string, error) {
	if path := os.Getenv(envBinary); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%s: %w", envBinary, err)
		}
		return filepath.Abs(path)
	}
	found, err := filepath.Glob(packed)
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("no cluster-autoscaler binary: set %s to one, or put one xz file at %s", envBinary, packed)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("unpack %s: %w", found[0], err)
	}
	name := filepath.Base(found[0])
	path := filepath.Join(cache, "scalehist", name[:len(name)-len(".xz")])
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), name)
	if err != nil {
		return "", err
	}
	unpack := exec.CommandContext(ctx, "xz", "-dc", found[0])
	unpack.Stdout, unpack.Stderr = tmp, os.Stderr
	err = errors.Join(unpack.Run(), tmp.Chmod(0o755), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("unpack %s: %w", found[0], err), os.Remove(tmp.Name()))
	}
	return path, nil
}

// process is a child that dies with this process.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// startProcess starts a binary with its output in a file.
func startProcess(path string, args []string, output string) (*process, error) {
	f, err := os.Create(output)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(path, args...), done: make(chan struct{})}
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

// stopWait is how long a process has to end by itself.
const stopWait = 5 * time.Second

// stop asks the process to end, and then makes it.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(stopWait):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}
