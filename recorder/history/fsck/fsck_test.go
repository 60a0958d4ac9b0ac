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

// file makes a history of a schema by its migrations, with rows.
func file(t *testing.T, schema int, rows ...string) string {
	t.Helper()
	scripts, err := filepath.Glob("../migrations/*.sql") // in name order
	if err != nil || len(scripts) < schema {
		t.Fatalf("%d migrations, %v", len(scripts), err)
	}
	path := filepath.Join(t.TempDir(), "h.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	statements := []string{`PRAGMA synchronous = off`}
	for _, s := range scripts[:schema] {
		b, err := os.ReadFile(s)
		if err != nil {
			t.Fatal(err)
		}
		statements = append(statements, string(b))
	}
	statements = append(statements, `PRAGMA user_version = `+string(rune('0'+schema)))
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

// object and version are rows of the schemas before the journal.
func object(id, name, seen, deleted string) string {
	return `INSERT INTO object(id, kind, namespace, name, uid, first_seen, first_seq, deleted_seen, deleted_seq)
		VALUES (` + id + `, 'Pod', 'default', '` + name + `', 'u` + id + `', ` + seen + `, 0, ` + deleted + `, 99)`
}

func version(seq, object, from, to string) string {
	return `INSERT INTO version(valid_from, seq, valid_to, object_id, content_id) VALUES (` + from + `, ` + seq + `, ` + to + `, ` + object + `, 1)`
}

func TestIntervals(t *testing.T) {
	const content = `INSERT INTO content(id, hash, json) VALUES (1, x'44136fa355b3678a1146ad16f7e8649e', '{}')`
	whole := []string{content, object("1", "a", "10", "30"), version("1", "1", "10", "20"), version("2", "1", "20", "30")}
	for _, tt := range []struct {
		name string
		rows []string
		want []string // "class object what"
	}{
		{"whole", whole, nil},
		{"unknown object", append(whole, version("3", "7", "40", "NULL")), []string{"dangling  1 rows of table version refer to rows of table object that are not there",
			"dangling  a version belongs to an object that is not there"}},
		{"no content", whole[1:], []string{"dangling  2 rows of table version refer to rows of table content that are not there"}},
		{"altered", append(whole, `UPDATE content SET json = '{ }'`), []string{"altered Pod default/a its content (row 1 of table content) is not what was recorded: it does not match its hash"}},
		{"inverted", append(whole, object("2", "b", "10", "NULL"), version("3", "2", "10", "5")), []string{"order Pod default/b a version ends before it begins"}},
		{"overlap", append(whole, object("2", "b", "10", "NULL"), version("3", "2", "10", "25"), version("4", "2", "20", "NULL")),
			[]string{"order Pod default/b a version begins while the one before it still holds"}},
		{"hole", append(whole, object("2", "b", "10", "NULL"), version("3", "2", "10", "15"), version("4", "2", "20", "NULL")),
			[]string{"order Pod default/b its versions have a hole between them"}},
		{"no version", append(whole, object("2", "b", "10", "NULL")), []string{"order Pod default/b it has no version"}},
		{"not ended", append(whole, object("2", "b", "10", "30"), version("3", "2", "10", "NULL")), []string{"order Pod default/b it was deleted, but a version of it still holds"}},
		{"deleted first", append(whole, object("2", "b", "40", "30"), version("3", "2", "40", "50")), []string{"order Pod default/b it was deleted before it was seen"}},
		{"twice", append(whole, object("2", "b", "10", "NULL"), object("3", "b", "10", "NULL"), version("3", "2", "10", "NULL"), version("4", "3", "10", "NULL")),
			[]string{"order Pod default/b it lives twice under one name"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			schema, problems, err := fsck.Check(t.Context(), file(t, 2, append([]string{`PRAGMA foreign_keys = off`}, tt.rows...)...))
			if err != nil || schema != 2 {
				t.Fatalf("schema %d, %v", schema, err)
			}
			compare(t, tt.want, problems)
		})
	}
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
			_, problems, err := fsck.Check(t.Context(), file(t, 4, append(whole, tt.rows...)...))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, tt.want, problems)
		})
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	path := file(t, 2)
	cancel()
	if _, _, err := fsck.Check(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
