package console

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist"
	reports "github.com/scalehist/scalehist/report"
)

// SqliteMagic begins every SQLite database (https://sqlite.org/fileformat.html#magic_header_string).
const SqliteMagic = "SQLite format 3\x00"

// IsHistory says whether an argument is a recording rather than a report: by its name, or by how the file begins.
func IsHistory(path string) bool {
	if strings.EqualFold(filepath.Ext(path), ".db") {
		return true
	}
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close() // only read
	head := make([]byte, len(SqliteMagic))
	_, err = io.ReadFull(file, head)
	return err == nil && string(head) == SqliteMagic
}

// ReadReport reads a report file, or report.json in a directory.
func ReadReport(path string) (*scalehist.ReplayReport, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("report %s does not exist: keep one with 'scalehist replay FILE.db --report-dir DIR'", path)
	}
	if info.IsDir() {
		path = filepath.Join(path, "report.json")
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("there is no %s: give a report file, or the directory of 'scalehist replay --report-dir'", path)
		}
	}
	if IsHistory(path) {
		return nil, fmt.Errorf("%s is a history, not a report: 'scalehist replay %s --report-dir DIR' makes one", path, path)
	}
	r, err := reports.Read(path)
	if err != nil {
		return nil, fmt.Errorf("%w: give a report.json, or the directory of 'scalehist replay --report-dir'", err)
	}
	return r, nil
}

// CompleteReport completes the one report a command takes.
func CompleteReport(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}
