package histories

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/durable"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/load/imports"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// loadFlags are those of load in another format.
type loadFlags struct {
	format, assume, request string
	goneAfter               time.Duration
	wrongLines              int
	describe                bool
}

// loadFlagNames are those that an object log has no use for.
var loadFlagNames = []string{"assume", "request", "gone-after", "wrong-lines"}

func (f *loadFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "", "read load in this format, with its options, such as csv:metric=cpu,unit=percent; none: an object log")
	flags.BoolVar(&f.describe, "formats", false, "list the formats with their options, and do nothing else")
	flags.StringVar(&f.assume, "assume", "", "CPU,MEMORY that stand for a resource of which the input has nothing")
	flags.StringVar(&f.request, "request", "0,0", "what containers request of which the input does not say it: CPU,MEMORY; 0 for none")
	flags.DurationVar(&f.goneAfter, "gone-after", 0, "pods without values for that long before the end of the input ended with their last one; 0: they stay")
	flags.IntVar(&f.wrongLines, "wrong-lines", 10, "most wrong lines to leave out; 0: none may be wrong")
	console.MustComplete(cmd, "format", cobra.FixedCompletions(imports.Names(), cobra.ShellCompDirectiveNoFileComp))
}

// load reads the flags.
func (f *loadFlags) load(cmd *cobra.Command) (*imports.Load, imports.Format, error) {
	l := &imports.Load{MostWrong: f.wrongLines, GoneAfter: f.goneAfter, Assume: [2]int64{-1, -1}}
	format, err := imports.Parse(f.format)
	if err != nil {
		return nil, format, console.UsageErrorf(cmd, "import: --format: %w", err)
	}
	if f.assume != "" {
		if l.Assume, err = both(f.assume); err != nil {
			return nil, format, console.UsageErrorf(cmd, "import: --assume: %w", err)
		}
	}
	if l.Request, err = both(f.request); err != nil {
		return nil, format, console.UsageErrorf(cmd, "import: --request: %w", err)
	}
	if f.wrongLines < 0 || f.goneAfter < 0 {
		return nil, format, console.UsageErrorf(cmd, "import: --wrong-lines and --gone-after: want 0 or more")
	}
	return l, format, nil
}

// importLoad makes a history of what containers used.
func (f *importFlags) importLoad(cmd *cobra.Command, s console.IO, args []string) (err error) {
	l, format, err := f.load.load(cmd)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(f.to); err == nil && !f.force { // before hours of reading
		return fmt.Errorf("import: %s exists already: choose another name, or replace it with --overwrite", f.to)
	}
	if info, err := os.Stat(filepath.Dir(f.to)); err != nil || !info.IsDir() {
		return fmt.Errorf("import: %s: no such folder: choose one that exists", filepath.Dir(f.to))
	}
	var inputs []imports.Input
	for _, name := range args {
		if sameFile(name, f.to) {
			return fmt.Errorf("import: %s is one of the files to read: give the history another name", f.to)
		}
		inputs = append(inputs, input(s, name))
	}
	progress := s.NewProgress("reading values", -1)
	l.Folder, l.Progress = filepath.Dir(f.to), func(n int64) { progress.Set(n, "") }
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := l.Read(cmd.Context(), format, inputs); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	progress.Done()
	for _, w := range l.Wrong {
		s.Errf("warning: left out: %s\n", w)
	}
	cluster := f.cluster
	if cluster == "" {
		cluster = "imported"
	}
	report, err := writeLines(cmd.Context(), s, l.Lines, f.to, transfer.ImportOptions{Name: format.Name, Cluster: cluster, Force: f.force})
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	for _, n := range append(l.Notes(), report.Warnings...) {
		s.Errf("warning: %s\n", n)
	}
	s.Printf("%s: %s, %s to %s\n", f.to, plural.Of(report.Lines, "line"), stamp(report.From), stamp(report.To))
	return nil
}

// input is a file, or what comes in.
func input(s console.IO, name string) imports.Input {
	if name == "-" {
		return imports.Input{Name: "standard input", Open: func() (io.ReadCloser, error) { return io.NopCloser(s.In), nil }}
	}
	return imports.Input{Name: name, Open: func() (io.ReadCloser, error) {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: give a file of the format", name, durable.WithoutPaths(err))
		}
		if info, err := file.Stat(); err == nil && info.IsDir() {
			return nil, errors.Join(fmt.Errorf("%s: it is a directory: give its files", name), file.Close())
		}
		return file, nil
	}}
}
