package liqo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/scalehist/scalehist/internal/plaintext"
)

// maxOutput is how much of what liqoctl wrote last an error quotes, in bytes; killWait is how long its output may stay open after its end.
const (
	maxOutput = 500
	killWait  = 5 * time.Second
)

// run runs liqoctl with the kubeconfig of a cluster.
func (p *Peering) run(ctx context.Context, cluster string, args []string) (err error) {
	text, err := p.o.Kubeconfigs.Kubeconfig(ctx, cluster)
	if err != nil {
		return fmt.Errorf("%w %s: %w", errLiqoctl, args[0], err)
	}
	f, err := nameless(text)
	if err != nil {
		return fmt.Errorf("%w %s: %w", errLiqoctl, args[0], err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	args = append(args[:len(args):len(args)], "--remote-kubeconfig", inherited)
	if p.o.Kubeconfig != "" {
		args = append(args, "--kubeconfig", p.o.Kubeconfig)
	}
	cmd := exec.CommandContext(ctx, p.o.Liqoctl, args...) //nolint:gosec // the operator names the program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.ExtraFiles = []*os.File{f}
	cmd.WaitDelay = killWait
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("it was ended after %s: %w", p.o.Timeout, ctx.Err())
	}
	last := strings.TrimSpace(string(out[max(0, len(out)-maxOutput):]))
	return fmt.Errorf("%w %s, cluster %s: %w: it wrote last: %q", errLiqoctl, args[0], cluster, err, plaintext.Lines(last))
}

// inherited is the first of the files that a child inherits.
const inherited = "/dev/fd/3"

// nameless is an open file with a text that has no name any more.
func nameless(text string) (*os.File, error) {
	f, err := os.CreateTemp("", "scalehist-liqo-") // only this user can read it
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.WriteString(text); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
