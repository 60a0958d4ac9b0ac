package docstest

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHistoryPageHasEveryColumn: docs/history.md names every table and view of a history, and every column of it in its line.
func TestHistoryPageHasEveryColumn(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "history.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, reference, _ := strings.Cut(string(text), "\n## Views\n")
	shared, _, _ := strings.Cut(reference, "| view |")
	lines := strings.Split(reference, "\n")
	lineOf := func(name string) string {
		for _, l := range lines {
			first, _, _ := strings.Cut(strings.TrimPrefix(l, "| "), " | ")
			for cell := range strings.SplitSeq(first, ", ") {
				if cell == "`"+name+"`" && strings.HasPrefix(l, "| ") && !strings.Contains(shared, l) {
					return l
				}
			}
		}
		return ""
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(root, "fixtures", "full-day", "recording.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT m.name, m.type, c.name FROM sqlite_master m, pragma_table_info(m.name) c
		WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite_%' ORDER BY m.type, m.name, c.cid`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var of, kind, column string
		if err := rows.Scan(&of, &kind, &column); err != nil {
			t.Fatal(err)
		}
		n++
		line := lineOf(of)
		if line == "" {
			t.Errorf("docs/history.md has no line for the %s %s", kind, of)
			continue
		}
		if cell := "`" + column + "`"; !strings.Contains(line, cell) && (kind == "table" || !strings.Contains(shared, cell)) {
			t.Errorf("docs/history.md: the line of the %s %s does not name its column %s", kind, of, column)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if n < 100 {
		t.Errorf("found %d columns only", n)
	}
}
