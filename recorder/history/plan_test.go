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
		{"the keyframe before an instant", keyframeQuery, 1, []string{"SEARCH keyframe USING INDEX keyframe_at (at<?)"}},
		{"what changed since", journalQuery, 1, []string{"SEARCH version USING INTEGER PRIMARY KEY (rowid>?)"}},
		{"the versions that hold", fetchQuery, 1, []string{"SEARCH v USING INTEGER PRIMARY KEY", "SEARCH h USING INTEGER PRIMARY KEY", "SEARCH o USING INTEGER PRIMARY KEY"}},
		{"node groups and settings at an instant", fewQuery, 2, []string{"SEARCH k USING COVERING INDEX", "SEARCH x USING COVERING INDEX object_kind (scope_id=?)",
			"SEARCH f USING COVERING INDEX version_few (object_id=? AND at<?)"}},
		{"Changes", changesQuery, 3, []string{"SEARCH v USING INTEGER PRIMARY KEY (rowid>?)", "SEARCH h USING INTEGER PRIMARY KEY"}},
		{"ChangesOf", kindVersionsQuery, 3, []string{"SEARCH x USING COVERING INDEX object_kind (scope_id=?)", "SEARCH v USING INDEX version_few (object_id=? AND at>? AND at<?)"}},
		{"SettingsChanges", changeTimesQuery, 3, []string{"SEARCH o USING COVERING INDEX object_kind (scope_id=?)", "SEARCH v USING COVERING INDEX version_few (object_id=? AND at<?)"}},
		{"lives without UID", `SELECT count(*) FROM object WHERE scope_id = ? AND name = ? AND typeof(uid) = 'text'`, 2, []string{"object_text (scope_id=? AND name=?)"}},
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
			if strings.HasPrefix(p, "SCAN") && p != "SCAN j VIRTUAL TABLE INDEX 1:" { // j is json_each of a parameter
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
