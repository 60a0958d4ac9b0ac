package histories

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/load/emulate"
)

type emulateWorkerFlags struct {
	server, name, listen, measure, cgroup string
	maxCPU, maxMemory                     string
	stressNG                              bool
}

func newEmulateWorkerCommand(s console.IO) *cobra.Command {
	var f emulateWorkerFlags
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Hold memory and burn CPU as a server of 'emulate serve' asks, until Ctrl-C",
		Long: `Register at a --server by a --name, and hold the memory and burn the CPU that it asks for, each period, until Ctrl-C or SIGTERM. Memory is
touched, page by page; CPU is burnt on as many threads as there are whole cores in what is asked for. With --stress-ng, stress-ng does that, as in
smart-kube's stress test; it must be in PATH.

What it uses is measured by /proc (itself, and stress-ng), or with --measure cgroup for the whole container by cgroup v2, and includes the process itself: it cannot use less
memory than it takes to run, about 40Mi. It refuses to use more than --max-cpu and --max-memory. Linux only.

Exit codes: 0 stopped; 2 error.`,
		Example: `  # For the server on this machine
  scalehist emulate worker --name web-0

  # By stress-ng
  scalehist emulate worker --name web-1 --stress-ng

  # In a pod
  scalehist emulate worker --server http://emulate:8099 --listen :8098 --measure cgroup`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, s) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.server, "server", "http://127.0.0.1:8099", "address of the server to register at")
	flags.StringVar(&f.name, "name", "", "name to register by, which a pod of the history has (default: the host's)")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "address to listen on for the server")
	flags.StringVar(&f.measure, "measure", "proc", "what is measured: proc (this process, and stress-ng) or cgroup (the container)")
	flags.StringVar(&f.cgroup, "cgroup", "/sys/fs/cgroup", "directory of cgroup v2")
	flags.StringVar(&f.maxCPU, "max-cpu", "4", "most CPU to burn")
	flags.StringVar(&f.maxMemory, "max-memory", "4Gi", "most memory to hold")
	flags.BoolVar(&f.stressNG, "stress-ng", false, "have stress-ng hold memory and burn CPU, in place of this process")
	if err := cmd.RegisterFlagCompletionFunc("measure", cobra.FixedCompletions([]string{"proc", "cgroup"}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(fmt.Sprintf("completion of --measure: %v", err)) // only a flag that does not exist fails
	}
	return cmd
}

func (f *emulateWorkerFlags) run(cmd *cobra.Command, s console.IO) (err error) {
	cpu, err := amount(f.maxCPU, true)
	if err != nil {
		return console.UsageErrorf(cmd, "emulate worker: --max-cpu: %w", err)
	}
	memory, err := amount(f.maxMemory, false)
	if err != nil {
		return console.UsageErrorf(cmd, "emulate worker: --max-memory: %w", err)
	}
	if u, err := url.Parse(f.server); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return console.UsageErrorf(cmd, "emulate worker: --server %s: want http://HOST:PORT", f.server)
	}
	var meter emulate.Meter
	switch f.measure {
	case "proc":
		meter = emulate.Process{}
		if f.stressNG {
			meter = emulate.Tree{}
		}
	case "cgroup":
		meter = emulate.Cgroup{Dir: f.cgroup}
	default:
		return console.UsageErrorf(cmd, "emulate worker: --measure %s: want proc or cgroup", f.measure)
	}
	if f.name == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("emulate worker: name of this host: %w: give --name", err)
		}
		f.name = strings.ToLower(host)
	}
	w, err := emulate.NewWorker(meter, mebibytes(memory), cpu)
	if err != nil {
		return fmt.Errorf("emulate worker: measure by %s: %w: choose another --measure", f.measure, err)
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if f.stressNG {
		if err := w.UseStressNG(); err != nil {
			return fmt.Errorf("emulate worker: --stress-ng: %w", err)
		}
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("emulate worker: %w: choose another --listen", err)
	}
	web := &http.Server{Handler: w.Handler(), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	stop := context.AfterFunc(cmd.Context(), func() { _ = web.Close() })
	defer stop()
	said := ""
	err = w.Register(cmd.Context(), f.server, f.name, listener.Addr().(*net.TCPAddr).Port, func(err error) {
		if said != err.Error() {
			said = err.Error()
			s.Errf("waiting for %s: %s\n", f.server, said)
		}
	})
	if err != nil && cmd.Context().Err() == nil {
		err = fmt.Errorf("emulate worker: register at %s: %w", f.server, err)
		if closed := errors.Join(web.Close(), <-served); !errors.Is(closed, http.ErrServerClosed) {
			err = errors.Join(err, closed)
		}
		return err
	}
	if err == nil {
		s.Errf("%s works for %s; Ctrl-C stops\n", f.name, f.server)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("emulate worker: %w", err)
	}
	return nil
}
