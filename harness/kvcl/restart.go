package kvcl

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Kill ends kube-apiserver as SIGKILL does, and leaves etcd as it is: clients are refused until Restart. It returns when the process
// has ended. Not safe for concurrent use with Restart and Close.
func (s *APIServer) Kill() error {
	if err := s.procs.killAPIServer(); err != nil {
		return fmt.Errorf("kill kube-apiserver: %w", err)
	}
	return nil
}

// Restart starts kube-apiserver again after Kill, with the port, certificates and flags it had, over what etcd holds now. It returns
// when the server is healthy, at the latest after a minute. After an error Close is all that is left to do.
func (s *APIServer) Restart(ctx context.Context) error {
	if err := s.procs.restartAPIServer(ctx); err != nil {
		return fmt.Errorf("start kube-apiserver again: %w%s", err, tailText("kube-apiserver", s.procs.tails["kube-apiserver"]))
	}
	return nil
}

// EtcdURL is where clients of etcd reach what the API server stores, without credentials.
func (s *APIServer) EtcdURL() string { return s.procs.env.ControlPlane.Etcd.URL.String() }

func (p *processes) killAPIServer() error {
	if p.freePort != nil {
		return errors.New("it was killed before")
	}
	// Before it is healthy its end would be that of the start, and of etcd.
	err := <-p.started
	p.started <- err
	if err != nil {
		return err
	}
	server := p.env.ControlPlane.GetAPIServer()
	if err := syscall.Kill(p.home.PID(p.links["kube-apiserver"]), syscall.SIGKILL); err != nil {
		return err
	}
	// envtest waits for the process to end; that it was reaped already, it learns a moment later.
	for err = server.Stop(); errors.Is(err, syscall.ESRCH); err = server.Stop() {
		time.Sleep(readyPoll)
	}
	if err != nil {
		return err
	}
	p.freePort, err = keepPort(server.SecureServing.Port)
	return err
}

func (p *processes) restartAPIServer(ctx context.Context) error {
	if p.freePort == nil {
		return errors.New("it was not killed")
	}
	defer func() {
		p.freePort()
		p.freePort = nil
	}()
	<-p.started //nolint:errcheck // it was looked at before the server was killed
	p.onThread(p.env.ControlPlane.GetAPIServer().Start)
	ctx, cancel := context.WithTimeout(ctx, bootTimeout)
	defer cancel()
	select {
	case err := <-p.started:
		p.started <- err // stop wants it, too
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// keepPort keeps others from a port that nobody listens at: clients are refused, and a server that listens with SO_REUSEADDR, as Go
// programs do, gets it.
func keepPort(port string) (free func(), err error) {
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("keep port %s: %w", port, err)
	}
	unix.CloseOnExec(fd)
	free = func() { _ = unix.Close(fd) }
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Port: number, Addr: [4]byte{127, 0, 0, 1}})
	}
	if err != nil {
		free()
		return nil, fmt.Errorf("keep port %s: %w", port, err)
	}
	return free, nil
}
