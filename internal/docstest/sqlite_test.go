package docstest

import (
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	_ "modernc.org/sqlite"
)

// sqliteShim is set where this test binary, called sqlite3, plays the sqlite3 shell: pages are run where that is not installed.
const sqliteShim = "SCALEHIST_DOCS_SQLITE3"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "sqlite3" && os.Getenv(sqliteShim) != "" {
		if err := sqlite3(os.Args[1:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "Error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// sqlite3 does what pages ask of the shell: sqlite3 -readonly -header -column FILE [SQL], SQL from standard input without one.
func sqlite3(args []string, in io.Reader, out io.Writer) (err error) {
	var plain []string
	for _, a := range args {
		switch a {
		case "-readonly", "-header", "-column":
		default:
			if strings.HasPrefix(a, "-") {
				return fmt.Errorf("option %s is none that pages use", a)
			}
			plain = append(plain, a)
		}
	}
	if len(plain) == 1 {
		text, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		plain = append(plain, string(text))
	}
	if len(plain) != 2 {
		return fmt.Errorf("want FILE and SQL, got %q", args)
	}
	if _, err := os.Stat(plain[0]); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+plain[0]+"?mode=ro")
	if err != nil {
		return err
	}
	defer func() {
		if e := db.Close(); err == nil {
			err = e
		}
	}()
	rows, err := db.Query(plain[1])
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	table := [][]string{names}
	for rows.Next() {
		values, pointers := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			pointers[i] = &values[i]
		}
		if err := rows.Scan(pointers...); err != nil {
			return err
		}
		line := make([]string, len(names))
		for i, v := range values {
			line[i] = cell(v)
		}
		table = append(table, line)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return columns(out, table)
}

// cell is a value as the shell writes it.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []byte:
		return string(v)
	case float64:
		text := strconv.FormatFloat(v, 'g', 15, 64)
		if !strings.ContainsAny(text, ".eIN") {
			text += ".0"
		}
		return text
	default:
		return fmt.Sprint(v)
	}
}

// columns prints as the shell's mode "column" does: a header, a rule, columns as wide as what is in them.
func columns(out io.Writer, table [][]string) error {
	if len(table) == 1 {
		return nil // the shell prints no header without rows
	}
	widths := make([]int, len(table[0]))
	for _, row := range table {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	rule := make([]string, len(widths))
	for i, w := range widths {
		rule[i] = strings.Repeat("-", w)
	}
	lines := append([][]string{table[0], rule}, table[1:]...)
	for _, row := range lines {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		if _, err := fmt.Fprintln(out, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}
