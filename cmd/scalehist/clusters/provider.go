package clusters

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
	"github.com/scalehist/scalehist/virtualca/externalgrpc/conformance"
)

func newProviderCommand(s console.IO) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "provider",
		Short: "The external gRPC provider of a cluster-autoscaler: serve one, test one, record its calls",
		Long: `The contract of a cluster-autoscaler with --cloud-provider=externalgrpc. 'serve' serves virtual node groups to one, beside any API server;
'conformance' says what of the contract anybody's provider honours; 'record' writes down what an autoscaler asks of it, and 'calls' compares
two such recordings. To run a cluster-autoscaler over a recording, replay it:
'scalehist replay FILE.db --autoscaler exec:/path/to/cluster-autoscaler'. docs/out-of-tree.md has them all.`,
		Example: `  # Serve the node groups of a recording
  scalehist provider serve prod.db

  # What does my provider honour?
  scalehist provider conformance 127.0.0.1:8086`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newProviderServeCommand(s), newProviderConformanceCommand(s), newProviderRecordCommand(s), newProviderCallsCommand(s))
	return cmd
}

// guardProvider says what a provider that others reach needs.
const guardProvider = ": give --tls-cert, --tls-key and --ca"

// tlsFlags name the files of mutual TLS, as the autoscaler's cloud config does.
type tlsFlags struct{ files externalgrpc.TLSFiles }

func (f *tlsFlags) add(cmd *cobra.Command, other string) {
	flags := cmd.Flags()
	flags.StringVar(&f.files.Cert, "tls-cert", "", "PEM certificate of ours, for mutual TLS")
	flags.StringVar(&f.files.Key, "tls-key", "", "PEM key of the certificate")
	flags.StringVar(&f.files.CACert, "ca", "", "PEM certificates of the authority that "+other+" certificate must come from")
	for _, name := range []string{"tls-cert", "tls-key", "ca"} {
		if err := cmd.MarkFlagFilename(name); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only a flag that does not exist fails
		}
	}
}

// resolve is nil for plain text.
func (f *tlsFlags) resolve(cmd *cobra.Command) (*externalgrpc.TLSFiles, error) {
	t := f.files
	switch {
	case t == (externalgrpc.TLSFiles{}):
		return nil, nil
	case t.Cert == "" || t.Key == "" || t.CACert == "":
		return nil, console.UsageErrorf(cmd, "--tls-cert, --tls-key and --ca go together: give all three, or none for plain text")
	}
	return &t, nil
}

type providerConformanceFlags struct {
	format  console.Format
	change  string
	timeout time.Duration
	callers int
	tls     tlsFlags
}

func newProviderConformanceCommand(s console.IO) *cobra.Command {
	f := &providerConformanceFlags{}
	cmd := &cobra.Command{
		Use:   "conformance ADDRESS",
		Short: "Say what of the external gRPC contract a provider honours",
		Long: `Call all methods of the provider at an address (host:port) as autoscalers up to 1.34 and from 1.35 on do, and as nobody should, and print what it
honours: answers, refusals with their codes, both wires, many callers at once, deadlines, garbage. Three faults of the field are checks of their own:
nodegroup-for-node/own, increase/kept-next-loop and template/devices.

Unless --change names a group, nothing is asked for that a provider may grant. With it that group grows by a node, which is deleted again.

Exit codes: 0 all that was asked for is honoured; 1 something is broken; 2 error, such as nobody answering.`,
		Example: `  # Without changing anything
  scalehist provider conformance 127.0.0.1:8086

  # With a node more in a group, and away again
  scalehist provider conformance provider.example:8086 --change test --tls-cert tls.crt --tls-key tls.key --ca ca.crt`,
		Args: console.ExactArgs("ADDRESS"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, s, args[0]) },
	}
	console.AddFormatFlag(cmd, &f.format)
	flags := cmd.Flags()
	flags.StringVar(&f.change, "change", "", "node group that may grow by a node and shrink again; default: nothing is changed")
	flags.DurationVar(&f.timeout, "timeout", 5*time.Second, "time that a call may take")
	flags.IntVar(&f.callers, "callers", 64, "how many call at once")
	f.tls.add(cmd, "the provider's")
	return cmd
}

func (f *providerConformanceFlags) run(cmd *cobra.Command, s console.IO, address string) error {
	if f.timeout <= 0 || f.callers < 1 {
		return console.UsageErrorf(cmd, "--timeout %s and --callers %d must be positive", f.timeout, f.callers)
	}
	files, err := f.tls.resolve(cmd)
	if err != nil {
		return err
	}
	conn, err := files.Dial(address)
	if err != nil {
		return err
	}
	defer conn.Close()
	results, err := conformance.Run(cmd.Context(), conn, conformance.Options{Change: f.change, CallTime: f.timeout, Callers: f.callers})
	if err != nil {
		if cmd.Context().Err() != nil {
			return context.Cause(cmd.Context())
		}
		return fmt.Errorf("provider at %s: %w", address, err)
	}
	return f.print(s, address, results)
}

func (f *providerConformanceFlags) print(s console.IO, address string, results []conformance.Result) error {
	counts := map[conformance.Outcome]int{}
	t := console.Table{Columns: []console.Column{{Name: "check"}, {Name: "outcome"}, {Name: "asks for"}}}
	for _, r := range results {
		counts[r.Outcome]++
		t.Rows = append(t.Rows, []string{r.Check, string(r.Outcome), r.Asks})
	}
	if f.format == console.FormatJSON {
		if err := s.PrintJSON(results); err != nil {
			return err
		}
	} else {
		s.PrintTable(t, f.format)
		for _, r := range results {
			if r.Text != "" {
				s.Printf("%s: %s: %s\n", r.Outcome, r.Check, r.Text)
			}
		}
		s.Printf("%s: %d honoured, %d broken, %d absent, %d skipped of %s\n", address, counts[conformance.Honoured], counts[conformance.Broken],
			counts[conformance.Absent], counts[conformance.Skipped], plural.Of(len(results), "check"))
	}
	if counts[conformance.Broken] > 0 {
		return console.Differed()
	}
	return nil
}
