package clusters

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/engines/calls"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/recorder/history"
)

type providerRecordFlags struct {
	listen, out, cluster string
	tls                  tlsFlags
}

func newProviderRecordCommand(s console.IO) *cobra.Command {
	f := &providerRecordFlags{}
	cmd := &cobra.Command{
		Use:   "record ADDRESS",
		Short: "Stand between a cluster-autoscaler and its provider, and record every call",
		Long: `Forward the calls of a cluster-autoscaler to the provider at an address (host:port), whichever wire the two speak, and record them into a history
until Ctrl-C or SIGTERM: point the autoscaler's cloud config at --listen. An answer that is the same as the last one to the same question is not
recorded again. 'scalehist provider calls' shows and compares what was recorded.

With certificates the same are shown on both sides. Without them it listens on this machine only.

Exit codes: 0 stopped by Ctrl-C or SIGTERM; 2 error, such as a history that is there already.`,
		Example: `  # The autoscaler's cloud config says: address: 127.0.0.1:8087
  scalehist provider record 127.0.0.1:8086 --listen 127.0.0.1:8087 -o calls.db

  # With mutual TLS
  scalehist provider record provider.example:8086 --listen :8087 -o calls.db --tls-cert tls.crt --tls-key tls.key --ca ca.crt`,
		Args: console.ExactArgs("ADDRESS"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, s, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8087", "address of this side; port 0 takes any that is free")
	flags.StringVarP(&f.out, "output", "o", "", "the history to write")
	flags.StringVar(&f.cluster, "cluster", "provider", "name of the cluster in the history")
	f.tls.add(cmd, "the other side's")
	if err := cmd.MarkFlagFilename("output", "db"); err != nil {
		panic(fmt.Sprintf("completion of --output: %v", err)) // only a flag that does not exist fails
	}
	return cmd
}

func (f *providerRecordFlags) run(cmd *cobra.Command, s console.IO, address string) (err error) {
	if f.out == "" {
		return console.UsageErrorf(cmd, "%s: give -o FILE.db, where the calls are recorded", cmd.CommandPath())
	}
	files, err := f.tls.resolve(cmd)
	if err != nil {
		return err
	}
	l, err := console.Listen(cmd, f.listen, files != nil, guardProvider)
	if err != nil {
		return err
	}
	defer func() {
		if e := l.Close(); !errors.Is(e, net.ErrClosed) {
			err = errors.Join(err, e)
		}
	}()
	log, err := calls.Create(cmd.Context(), f.out, f.cluster, clock.RealClock{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	proxy, err := calls.NewProxy(address, files, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, proxy.Close()) }()
	server, err := proxy.Server(files)
	if err != nil {
		return err
	}
	s.Errf("recording calls to %s on %s into %s\n", address, l.Addr(), f.out)
	ctx, cancel := context.WithCancel(cmd.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-ctx.Done():
		case <-log.Failed():
		}
		server.Stop()
	})
	err = server.Serve(l)
	cancel()
	wg.Wait()
	if err != nil {
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	}
	return nil
}

type providerCallsFlags struct {
	format  console.Format
	changes bool
	exit    bool
}

func newProviderCallsCommand(s console.IO) *cobra.Command {
	f := &providerCallsFlags{}
	cmd := &cobra.Command{
		Use:   "calls FILE.db [OTHER.db]",
		Short: "Show recorded calls of a provider, or what two recordings have otherwise",
		Long: `Show the calls that 'provider record', or a replay with --autoscaler exec:PATH and --report-dir (provider-calls.db), recorded: each change that was
asked for, and each answer that was new. Of two recordings it shows which changes only one has, and which questions were answered otherwise:
two autoscalers, or their versions, before one provider, or two providers behind one autoscaler. When something happened is not compared.

Exit codes: 0 whatever two recordings have, with --exit-code 1 when they differ; 2 error.`,
		Example: `  # What was asked for, and when
  scalehist provider calls calls.db --changes

  # Does the new version ask for the same?
  scalehist replay prod.db --autoscaler exec:./cluster-autoscaler-1.35 --report-dir gen/old
  scalehist replay prod.db --autoscaler exec:./cluster-autoscaler-1.36 --report-dir gen/new
  scalehist provider calls gen/old/provider-calls.db gen/new/provider-calls.db --exit-code`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: console.CompleteHistory,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, s, args) },
	}
	console.AddFormatFlag(cmd, &f.format)
	cmd.Flags().BoolVar(&f.changes, "changes", false, "changes alone, no questions")
	cmd.Flags().BoolVar(&f.exit, "exit-code", false, "exit with 1 when two recordings differ")
	return cmd
}

func (f *providerCallsFlags) run(cmd *cobra.Command, s console.IO, args []string) error {
	if f.exit && len(args) < 2 {
		return console.UsageErrorf(cmd, "--exit-code is of a comparison: give two histories")
	}
	lists := make([][]calls.Call, len(args))
	for i, path := range args {
		var err error
		if lists[i], err = readCalls(cmd.Context(), path); err != nil {
			return err
		}
		if f.changes {
			lists[i] = calls.Changes(lists[i])
		}
	}
	if len(lists) == 1 {
		return f.list(s, lists[0])
	}
	d := calls.Compare(lists[0], lists[1])
	if err := f.compared(s, args, d); err != nil {
		return err
	}
	if f.exit && !d.Same() {
		return console.Differed()
	}
	return nil
}

func readCalls(ctx context.Context, path string) (_ []calls.Call, err error) {
	db, err := history.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	list, err := calls.Read(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

func answer(c calls.Call) string {
	if c.Code != "" {
		return c.Code + ": " + c.Message
	}
	return calls.Short(c.Response)
}

func (f *providerCallsFlags) list(s console.IO, list []calls.Call) error {
	if f.format == console.FormatJSON {
		return s.PrintJSON(list)
	}
	t := console.Table{Columns: []console.Column{{Name: "at"}, {Name: "method"}, {Name: "asked"}, {Name: "answered"}}}
	for _, c := range list {
		t.Rows = append(t.Rows, []string{c.Offset(), c.Method, calls.Short(c.Request), answer(c)})
	}
	s.PrintTable(t, f.format)
	return nil
}

func (f *providerCallsFlags) compared(s console.IO, args []string, d calls.Difference) error {
	if f.format == console.FormatJSON {
		return s.PrintJSON(d)
	}
	if d.Same() {
		s.Printf("the same changes were asked for, and what both asked was answered alike\n")
		return nil
	}
	s.Printf("A: %s\nB: %s\n", args[0], args[1])
	if len(d.Changes) > 0 {
		t := console.Table{Title: "Changes", Columns: []console.Column{{Name: "in"}, {Name: "A at"}, {Name: "B at"}, {Name: "method"}, {Name: "asked"}, {Name: "answered"}}}
		for _, r := range d.Changes {
			row := []string{"both", "", ""}
			c := r.A
			if c == nil {
				c, row[0] = r.B, "B"
			} else if r.B == nil {
				row[0] = "A"
			}
			if r.A != nil {
				row[1] = r.A.Offset()
			}
			if r.B != nil {
				row[2] = r.B.Offset()
			}
			t.Rows = append(t.Rows, append(row, c.Method, calls.Short(c.Request), answer(*c)))
		}
		s.PrintTable(t, f.format)
	}
	if len(d.Answers) > 0 {
		t := console.Table{Title: "Answers", Columns: []console.Column{{Name: "in"}, {Name: "at"}, {Name: "method"}, {Name: "asked"}, {Name: "answered"}}}
		for _, r := range d.Answers {
			for i, side := range [][]calls.Call{r.A, r.B} {
				for _, c := range side {
					t.Rows = append(t.Rows, []string{"AB"[i : i+1], c.Offset(), c.Method, calls.Short(c.Request), answer(c)})
				}
			}
		}
		s.PrintTable(t, f.format)
	}
	for _, r := range d.Asked {
		s.Printf("%s: %s in A, %d in B\n", r.Method, plural.Of(r.A, "question"), r.B)
	}
	return nil
}
