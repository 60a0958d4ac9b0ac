package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/harness/trace"
)

// faultList reads --fault and --faults.
func (f *replayFlags) faultList(cmd *cobra.Command) ([]trace.Fault, error) {
	var out []trace.Fault
	if f.faultFile != "" {
		data, err := os.ReadFile(f.faultFile)
		if err != nil {
			return nil, fmt.Errorf("--faults: %w", err)
		}
		if out, err = trace.ParseFaults(data); err != nil {
			return nil, fmt.Errorf("--faults %s: %w", f.faultFile, err)
		}
	}
	for _, text := range f.fault {
		one, err := trace.ParseFault(text)
		if err != nil {
			return nil, UsageErrorf(cmd, "--fault: %v", err)
		}
		out = append(out, one)
	}
	return out, nil
}

// completeFault completes the kind of a fault; its target and times are the user's.
func completeFault(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	out := make([]string, 0, len(trace.FaultKinds))
	for _, k := range trace.FaultKinds {
		out = append(out, string(k))
	}
	return out, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
