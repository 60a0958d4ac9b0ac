package histories

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/durable"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/load/imports"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

type importFlags struct {
	to, cluster string
	force       bool
	load        loadFlags
}

func newImportCommand(s console.IO) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Make a history from an object log, or from load in another format",
		Long: `Make a history from an object log: JSON lines {"at": RFC 3339, "op": "add|update|delete", "object": {...}},
plain or gzip, with Kubernetes objects and kind NodeGroup (scalehist.io/v1alpha1). "-" reads standard input.

With --format, from what containers used, as others recorded it: metrics of Prometheus, CSV, published traces (--formats lists them with their
options). The history has the usage, its pods and their workloads, on nodes that are made up; 'scalehist backtest' reads it. Several files are one
load. Stretches without values stay empty; lines that are wrong are named and left out, up to --wrong-lines of them.

Only what scaling depends on is kept; secrets, environment values and command lines never reach the file. The file
appears complete or not at all.`,
		Example: `  # A log from elsewhere
  scalehist import trace.jsonl.gz -o trace.db

  # Copy a history by its log
  scalehist export prod.db | scalehist import - -o copy.db

  # Two weeks of metrics, saved from /api/v1/query_range
  scalehist import --format prometheus cpu-*.json memory-*.json.gz -o usage.db

  # A CPU series in percent of a machine with 4 cores, of which memory is not known
  scalehist import --format csv:metric=cpu,unit=percent,cores=4 --assume 0,1Gi ec2.csv -o ec2.db`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.load.describe {
				return nil
			}
			if f.load.format != "" && len(args) > 1 && !slices.Contains(args, "") {
				return nil
			}
			return console.ExactArgs("FILE")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.load.describe:
				s.PrintTable(kindsTable("format", imports.Kinds()), console.FormatTable)
				return nil
			case f.to == "":
				return console.UsageErrorf(cmd, "import: no file to make: give -o FILE.db")
			case f.load.format != "":
				return f.importLoad(cmd, s, args)
			}
			return f.importLog(cmd, s, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.to, "output", "o", "", "the history to make (FILE.db)")
	flags.StringVar(&f.cluster, "cluster", "", "name of the cluster the log is of")
	flags.BoolVar(&f.force, "overwrite", false, "replace the output if it exists")
	f.load.add(cmd)
	return cmd
}

// importLog reads an object log.
func (f *importFlags) importLog(cmd *cobra.Command, s console.IO, from string) error {
	for _, name := range loadFlagNames {
		if cmd.Flags().Changed(name) {
			return console.UsageErrorf(cmd, "import: --%s is for load in another format: give --format too", name)
		}
	}
	in, name := s.In, "standard input"
	if from != "-" {
		if sameFile(from, f.to) {
			return fmt.Errorf("import: %s is the log itself: give the history another name", f.to)
		}
		file, err := openLog(from)
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		defer file.Close()
		in, name = file, from
	}
	progress := s.NewProgress("importing lines", -1)
	report, err := transfer.Import(cmd.Context(), in, f.to, transfer.ImportOptions{Name: name, Cluster: f.cluster, Force: f.force,
		Progress: func(lines int64) { progress.Set(lines, "") }})
	var exists *dbfile.ExistsError
	if errors.As(err, &exists) {
		return fmt.Errorf("import: %s exists already: choose another name, or replace it with --overwrite", exists.Path)
	}
	if err != nil {
		return err
	}
	progress.Set(report.Lines, "")
	progress.Done()
	for _, w := range report.Warnings {
		s.Errf("warning: %s\n", w)
	}
	c := report.Counts
	s.Printf("%s: %s, %s to %s: %s added, %s, %s, %s\n", f.to, plural.Of(report.Lines, "line"),
		stamp(report.From), stamp(report.To), plural.Of(c.Added, "object"), plural.Of(c.Updated, "update"), plural.Of(c.Deleted, "deletion"), plural.Of(c.Events, "event"))
	return nil
}

// openLog opens an object log. What is none for sure is refused before a line of it is read.
func openLog(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("object log %s: %w: give a log, for example one of 'scalehist export'", path, durable.WithoutPaths(err))
	}
	why := ""
	if info, err := f.Stat(); err == nil && info.IsDir() {
		why = "it is a directory: give a log, for example one of 'scalehist export'"
	} else if err == nil && info.Mode().IsRegular() { // a pipe cannot be read twice
		head := make([]byte, len(console.SqliteMagic))
		if n, err := f.ReadAt(head, 0); (err == nil || errors.Is(err, io.EOF)) && string(head[:n]) == console.SqliteMagic {
			why = "it is an SQLite database: a history needs no import; 'scalehist export' makes a log of it"
		}
	}
	if why != "" {
		return nil, errors.Join(fmt.Errorf("%s: %s", path, why), f.Close())
	}
	return f, nil
}
