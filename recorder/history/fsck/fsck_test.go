package fsck_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"github.com/scalehist/scalehist/recorder/history/fsck"
)

// file makes a history with rows.
func file(t *testing.T, rows ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "h.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	statements := []string{`PRAGMA synchronous = off`}
	for _, script := range []string{"../tables.sql", "../views.sql"} {
		b, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		statements = append(statements, string(b))
	}
	for _, s := range append(statements, rows...) {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func compare(t *testing.T, want []string, problems []fsck.Problem) {
	t.Helper()
	var got []string
	for _, p := range problems {
		got = append(got, string(p.Class)+" "+p.Object+" "+p.What)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestJournal(t *testing.T) {
	whole := []string{`INSERT INTO content(id, hash, json) VALUES (1, x'44136fa355b3678a1146ad16f7e8649e', '{}')`, `INSERT INTO scope(id, kind, namespace, prefix) VALUES (1, 'Pod', 'default', 'web-')`,
		`INSERT INTO object(id, scope_id, name, uid) VALUES (1, 1, 'a', 'u1'), (2, 1, 'b', 'u2')`,
		`INSERT INTO version(seq, at, object_id, content_id, ends) VALUES (1, 10, 1, 1, NULL), (2, 20, 2, 1, NULL), (3, 30, 1, 1, NULL), (4, 40, 2, NULL, 2)`,
		`INSERT INTO keyframe(seq, at, live) VALUES (3, 30, x'0201')`} // 2 and 3
	row := func(values string) string {
		return `INSERT INTO version(seq, at, object_id, content_id, state_id, node_id, ends) VALUES (` + values + `)`
	}
	for _, tt := range []struct {
		name string
		rows []string
		want []string
	}{
		{"whole", nil, nil},
		{"no object", []string{row(`5, 50, 9, 1, NULL, NULL, NULL`)}, []string{"dangling  a version belongs to an object that is not there"}},
		{"no series", []string{`PRAGMA foreign_keys = off`, `INSERT INTO sample(at, series_id, value) VALUES (10, 7, 1)`},
			[]string{"dangling  1 rows of table sample refer to rows of table series that are not there"}},
		{"no scope", []string{`UPDATE object SET scope_id = 9 WHERE id = 2`}, []string{"dangling  an object belongs to a scope (kind and namespace) that is not there"}},
		{"no content", []string{row(`5, 50, 1, 9, NULL, NULL, NULL`)}, []string{"dangling Pod default/web-a a version has a content that is not there"}},
		{"no state", []string{row(`5, 50, 1, 1, 9, NULL, NULL`)}, []string{"dangling Pod default/web-a a version has a state that is not there"}},
		{"no node", []string{row(`5, 50, 1, 1, NULL, 9, NULL`)}, []string{"dangling Pod default/web-a a version is on a node whose name is not there"}},
		{"wrong end", []string{row(`5, 50, 1, NULL, NULL, NULL, 2`)}, []string{"dangling Pod default/web-a an end names a version that is not there"}},
		{"empty row", []string{row(`5, 50, 1, NULL, NULL, NULL, NULL`)}, []string{"dangling Pod default/web-a a version says nothing: it has no content and ends nothing"}},
		{"no version", []string{`INSERT INTO object(id, scope_id, name, uid) VALUES (3, 1, 'c', 'u3')`}, []string{"order Pod default/web-c it has no version"}},
		{"twice", []string{`INSERT INTO object(id, scope_id, name, uid) VALUES (5, 1, 'a', 'u5')`, row(`5, 50, 5, 1, NULL, NULL, NULL`)},
			[]string{"order Pod default/web-a it lives twice under one name"}},
		{"back in time", []string{row(`5, 5, 1, 1, NULL, NULL, NULL`)}, []string{"order Pod default/web-a a version was seen before the one recorded ahead of it"}},
		{"after its end", []string{row(`5, 50, 2, 1, NULL, NULL, NULL`)}, []string{"order Pod default/web-b a version comes after its end"}},
		{"wrong keyframe", []string{`UPDATE keyframe SET live = x'01'`}, []string{"order  a keyframe says that 1 versions hold, the versions come to 2 or to others"}},
		{"altered content", []string{`UPDATE content SET json = '{ }'`}, []string{"altered Pod default/web-a its content (row 1 of table content) is not what was recorded: it does not match its hash"}},
		{"altered state", []string{`INSERT INTO content(id, hash, json) VALUES (2, x'00', '{}')`, row(`5, 50, 1, 1, 2, NULL, NULL`)},
			[]string{"altered Pod default/web-a its state (row 2 of table content) is not what was recorded: it does not match its hash"}},
		{"altered and unused", []string{`INSERT INTO content(id, hash, json) VALUES (2, x'', '{}')`}, []string{"altered  row 2 of table content, which no version uses, does not match its hash"}},
		{"keyframe cut short", []string{`UPDATE keyframe SET live = x'0280'`}, []string{"damage  a keyframe cannot be read"}},
		{"forgotten past", []string{`INSERT INTO base(id, seq, at) VALUES (1, 3, 30)`, `DELETE FROM version WHERE seq = 1`}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			problems, err := fsck.Check(t.Context(), file(t, append(whole, tt.rows...)...))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, tt.want, problems)
		})
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	path := file(t)
	cancel()
	if _, err := fsck.Check(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
