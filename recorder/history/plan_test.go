package history

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// TestQueriesUseIndexes asks SQLite for its plan: none of the queries may read a whole table of versions or objects.
func TestQueriesUseIndexes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	w, err := Create(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	g := &v1alpha1.NodeGroup{}
	g.Name = "g"
	if err := w.Write(t.Context(), []Entry{{ObservedAt: time.Unix(1e9, 0), Change: scalehist.Change{Op: scalehist.OpAdd, Object: g}}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, query string
		args        int
		want        []string
	}{
		{"SnapshotAt", snapshotQuery + snapshotOrder, 1, []string{"SEARCH v USING PRIMARY KEY (valid_from<?)", "SEARCH o USING INTEGER PRIMARY KEY"}},
		{"Changes, versions", versionsQuery, 4, []string{"SEARCH v USING PRIMARY KEY ((valid_from,seq)>(?,?) AND valid_from<?)"}},
		{"Changes, deletions", deletionsQuery, 4, []string{"SEARCH o USING INDEX object_deleted ((deleted_seen,deleted_seq)>(?,?) AND deleted_seen<?)", "SEARCH v USING PRIMARY KEY (valid_from=? AND seq=?)"}},
		{"NodeGroupSizes", groupVersionsQuery, 2, []string{"SEARCH o USING INDEX object_kind (kind=?)", "SEARCH v USING INDEX version_object (object_id=?"}},
		{"SettingsAt", snapshotQuery + settingsWhere + snapshotOrder, 1, nil},
		{"Events", eventsQuery, 4, []string{"SEARCH s USING PRIMARY KEY ((at,seq)>(?,?) AND at<?)", "SEARCH p USING"}},
	} {
		rows, err := w.db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+c.query, make([]any, c.args)...)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			plan = append(plan, detail)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(plan, "\n")
		for _, p := range plan {
			if strings.HasPrefix(p, "SCAN") {
				t.Errorf("%s scans: %s\n%s", c.name, p, text)
			}
		}
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: plan lacks %q:\n%s", c.name, want, text)
			}
		}
	}
}
