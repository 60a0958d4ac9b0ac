package redact

import (
	"bytes"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver, to read a history as a stranger would

	"github.com/scalehist/scalehist/recorder/history/objectlog"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// dump is every text and blob in every table, which is all that views show, and the file as it is.
func dump(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	column := func(query string) []string {
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		defer rows.Close()
		names, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for rows.Next() {
			values, to := make([]any, len(names)), make([]any, len(names))
			for i := range values {
				to[i] = &values[i]
			}
			if err := rows.Scan(to...); err != nil {
				t.Fatal(err)
			}
			for _, v := range values {
				if b, ok := v.([]byte); ok {
					v = string(b)
				}
				out = append(out, fmt.Sprint(v))
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return out
	}
	var b strings.Builder
	for _, table := range column(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`) {
		for _, v := range column(`SELECT * FROM "` + table + `"`) {
			b.WriteString(v + "\n")
		}
	}
	b.Write(contents(t, path))
	b.WriteString(exported(t, path))
	return b.String()
}

// secrets are the texts of canaryLog that no redacted byte may show. Each is unlike anything of Kubernetes.
var secrets = regexp.MustCompile(`(?i)zq[a-z0-9]+`)

// TestCanaries: a log with a secret in every place that a history keeps; each begins with "zq", which no word of
// Kubernetes does.
func TestCanaries(t *testing.T) {
	for _, name := range []string{"canaries.jsonl"} {
		log, err := os.Open(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		src := filepath.Join(t.TempDir(), "zqfile.db")
		report, err := transfer.Import(t.Context(), log, src, transfer.ImportOptions{Name: "zqlog.jsonl", Cluster: "zqcluster-1"})
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Warnings) > 0 {
			t.Errorf("warnings: %v", report.Warnings)
		}
		before := map[string]bool{}
		for _, s := range secrets.FindAllString(exported(t, src), -1) {
			before[s] = true
		}
		if len(before) < 90 {
			t.Errorf("the history holds %d secrets, too few to show anything: %v", len(before), slices.Sorted(maps.Keys(before)))
		}
		dst, result := redacted(t, src, Options{})
		after := dump(t, dst)
		for _, secret := range slices.Sorted(maps.Keys(before)) {
			if strings.Contains(strings.ToLower(after), strings.ToLower(secret)) {
				t.Errorf("%s is in the redacted file", secret)
			}
		}
		for _, secret := range []string{"zqcluster", "zqlog", "zqfile", "10.66.77.88", "10-66-77-88", "0f3a5b1c-77aa-4bb2-9c01-d2e3f4a5b6c7", "0F3A5B1C77AA4BB29C01D2E3F4A5B6C7"} {
			if strings.Contains(after, secret) {
				t.Errorf("%s is in the redacted file", secret)
			}
		}
		uid := []byte{0x0f, 0x3a, 0x5b, 0x1c, 0x77, 0xaa, 0x4b, 0xb2, 0x9c, 0x01, 0xd2, 0xe3, 0xf4, 0xa5, 0xb6, 0xc7}
		if !bytes.Contains(contents(t, src), uid) || bytes.Contains(contents(t, dst), uid) {
			t.Error("a UID was not stored as bytes, or is in the redacted file")
		}
		if again := result.Mapping.Restore(exported(t, dst)); len(secrets.FindAllString(again, -1)) < 90 {
			t.Error("the mapping does not bring the names back")
		}
	}
}

// schemas are the statements that made the file's tables: their words are ours.
func schemas(t *testing.T, path string) []string {
	t.Helper()
	return query(t, path, `SELECT sql FROM sqlite_master WHERE sql IS NOT NULL`)
}

// query is the one column of text that a statement gives of a file.
func query(t *testing.T, path, statement string) []string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// flagNames are words too, of upstream.
var flagNames = regexp.MustCompile(`--[a-z-]+`)

// keyNames are keys of labels and annotations, with their domain.
var keyNames = regexp.MustCompile(`"([a-z0-9.-]+/[\w.-]+)":`)

// TestFixtureNames: no name, label value, image or UID of the fixtures is in their redacted copies, unless it is made of
// public words, or is called like a machine type; and the mapping brings everything back.
//
//scalehist:unraced
func TestFixtures(t *testing.T) {
	for _, src := range fixtures(t) {
		names, types := map[string]bool{}, map[string]bool{}
		add := func(s string) {
			if len(s) > 3 {
				names[s] = true
			}
		}
		log := exported(t, src)
		eachLine(t, src, func(l objectlog.Line) {
			add(l.Object.GetName())
			add(l.Object.GetNamespace())
			for k, v := range l.Object.GetLabels() {
				if known := openValues[k]; known != nil && known(v) {
					types[v] = true
				} else if !plainValues[v] {
					add(v)
				}
			}
			add(string(l.Object.GetUID()))
		})
		for _, m := range regexp.MustCompile(`"image":"([^"]*)"`).FindAllStringSubmatch(log, -1) {
			if !autoscalerImage(m[1]) {
				add(m[1])
			}
		}
		for _, m := range regexp.MustCompile(`"machineType":"([^"]*)"`).FindAllStringSubmatch(log, -1) {
			if openMachine(m[1]) {
				types[m[1]] = true
			} else {
				add(m[1])
			}
		}
		dst, result := redacted(t, src, Options{})
		restores(t, src, log, exported(t, dst), result.Mapping)
		after := flagNames.ReplaceAllString(dump(t, dst), "")
		after = keyNames.ReplaceAllStringFunc(after, func(key string) string { // "worker.gardener.cloud/system-components" is no workload of that name
			if openKeys[keyNames.FindStringSubmatch(key)[1]] {
				return ""
			}
			return key
		})
		for _, schema := range schemas(t, dst) {
			after = strings.ReplaceAll(after, schema, "")
		}
		for _, machine := range slices.Sorted(maps.Keys(types)) { // they stay: a group may be called like a part of one
			if len(machine) > 3 {
				after = strings.ReplaceAll(after, machine, "")
			}
		}
		public := func(s string) bool {
			if kind, rest, ok := strings.Cut(s, "/"); ok && openKinds[kind] {
				s = rest
			}
			for _, p := range pieces(s) {
				if p.word && !(&dictionary{public: publicWords}).isPublic(p.text) {
					return false
				}
			}
			return true
		}
		for _, s := range slices.Sorted(maps.Keys(names)) {
			if public(s) || types[s] || !strings.Contains(after, s) {
				continue
			}
			if regexp.MustCompile(`\b` + regexp.QuoteMeta(s) + `\b`).MatchString(after) {
				t.Errorf("%s: %q is in the redacted copy", src, s)
			}
		}
		if result.Words == 0 || result.HashLength != maxHash {
			t.Errorf("%s: %d words replaced with %d characters of hash", src, result.Words, result.HashLength)
		}
	}
}
