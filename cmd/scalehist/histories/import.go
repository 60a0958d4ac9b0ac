package histories

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/recorder/history"
)

func newImportCommand(s console.IO) *cobra.Command {
	var to, cluster string
	var force bool
	cmd := &cobra.Command{
		Use:   "import LOG",
		Short: "Make a history from an object log",
		Long: `Make a history from an object log: JSON lines {"at": RFC 3339, "op": "add|update|delete", "object": {...}},
plain or gzip, with Kubernetes objects and kind NodeGroup (scalehist.io/v1alpha1). "-" reads standard input.

Only what scaling depends on is kept; secrets, environment values and command lines never reach the file. The file
appears complete or not at all.`,
		Example: `  # A log from elsewhere
  scalehist import trace.jsonl.gz -o trace.db

  # Copy a history by its log
  scalehist export prod.db | scalehist import - -o copy.db`,
		Args: console.ExactArgs("LOG"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if to == "" {
				return console.UsageErrorf(cmd, "import: no file to make: give -o FILE.db")
			}
			in, name := s.In, "standard input"
			if args[0] != "-" {
				if sameFile(args[0], to) {
					return fmt.Errorf("import: %s is the log itself: give the history another name", to)
				}
				f, err := openLog(args[0])
				if err != nil {
					return fmt.Errorf("import: %w", err)
				}
				defer f.Close()
				in, name = f, args[0]
			}
			progress := s.NewProgress("importing lines", -1)
			report, err := history.Import(cmd.Context(), in, to, history.ImportOptions{Name: name, Cluster: cluster, Force: force,
				Progress: func(lines int64) { progress.Set(lines, "") }})
			var exists *history.ExistsError
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
			s.Printf("%s: %s, %s to %s: %s added, %s, %s, %s\n", to, plural.Of(report.Lines, "line"),
				stamp(report.From), stamp(report.To), plural.Of(c.Added, "object"), plural.Of(c.Updated, "update"), plural.Of(c.Deleted, "deletion"), plural.Of(c.Events, "event"))
			return nil
		},
	}
	cmd.Flags().StringVarP(&to, "output", "o", "", "the history to make (FILE.db)")
	cmd.Flags().StringVar(&cluster, "cluster", "", "name of the cluster the log is of")
	cmd.Flags().BoolVar(&force, "overwrite", false, "replace the output if it exists")
	console.RequireFlag(cmd, "output")
	return cmd
}

// openLog opens an object log. What is none for sure is refused before a line of it is read.
func openLog(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("object log %s: %w: give a log, for example one of 'scalehist export'", path, history.WithoutPaths(err))
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
