package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/harness"
)

// faultList reads --fault and --faults.
func (f *replayFlags) faultList(cmd *cobra.Command) ([]harness.Fault, error) {
	var out []harness.Fault
	if f.faultFile != "" {
		data, err := os.ReadFile(f.faultFile)
		if err != nil {
			return nil, fmt.Errorf("--faults: %w", err)
		}
		if out, err = harness.ParseFaults(data); err != nil {
			return nil, fmt.Errorf("--faults %s: %w", f.faultFile, err)
		}
	}
	for _, text := range f.fault {
		one, err := harness.ParseFault(text)
		if err != nil {
			return nil, UsageErrorf(cmd, "--fault: %v", err)
		}
		out = append(out, one)
	}
	return out, nil
}

// completeFault completes the kind of a fault; its target and times are the user's.
func completeFault(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	out := make([]string, 0, len(harness.FaultKinds))
	for _, k := range harness.FaultKinds {
		out = append(out, string(k))
	}
	return out, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
