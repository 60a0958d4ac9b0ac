package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	domain "github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history/canary"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// TestCanariesReachNoReport: of a log with a secret in every place, imported and redacted, no command shows one: not what it
// prints, nor what it writes. The first log has a canary in every text that there can be, and no API server would take its objects;
// the second one is of a cluster that replays.
//
//scalehist:unraced
func TestCanariesReachNoReport(t *testing.T) {
	cage := &canary.Cage{}
	var b bytes.Buffer
	w := objectlog.NewWriter(&b, false)
	for _, o := range cage.Objects() {
		if err := w.Write(objectlog.Line{At: canary.At, Op: domain.OpAdd, Object: o}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if len(cage.Canaries) < 2476 {
		t.Fatalf("only %d canaries", len(cage.Canaries))
	}
	code, cluster, errs := scalehist(t, "", "export", filepath.Join("..", "..", "..", "fixtures", "safe-to-evict", "recording.db"))
	if code != 0 {
		t.Fatal(errs)
	}
	cluster = regexp.MustCompile(`\b(std|web|loose|pinned|agent|pool|r1|z1)\b`).ReplaceAllString(cluster, "zq$1")
	for name, log := range map[string]struct {
		text    string
		least   int
		replays bool
	}{"everywhere": {b.String(), 2476, false}, "cluster": {cluster, 8, true}} {
		t.Run(name, func(t *testing.T) {
			secrets := regexp.MustCompile(`(?i)zq[a-z0-9]+`)
			dir := t.TempDir()
			at := func(file string) string { return filepath.Join(dir, file) }
			if err := os.WriteFile(at("zqlog.jsonl"), []byte(log.text), 0o600); err != nil {
				t.Fatal(err)
			}
			command := func(args ...string) string {
				code, stdout, stderr := scalehist(t, "", args...)
				if code != 0 {
					t.Fatalf("%q: exit %d\n%s%s", args, code, stdout, stderr)
				}
				return stdout + stderr
			}
			command("import", at("zqlog.jsonl"), "-o", at("zqfile.db"), "--cluster", "zqcluster")
			found := map[string]bool{}
			for _, s := range secrets.FindAllString(command("export", at("zqfile.db")), -1) {
				found[s] = true
			}
			if len(found) < log.least {
				t.Errorf("only %d secrets in the history, want %d", len(found), log.least)
			}
			command("redact", at("zqfile.db"), "-f", at("out.db"))
			clean := func(what, text string) {
				for _, s := range secrets.FindAllString(text, 3) {
					if found[s] || strings.HasPrefix(strings.ToLower(s), "zqlog") || strings.HasPrefix(strings.ToLower(s), "zqfile") {
						t.Errorf("%s shows %s", what, s)
					}
				}
			}
			shows := func(args ...string) { clean(strings.Join(args, " "), command(args...)) }
			shows("compact", at("out.db"))
			shows("export", at("out.db"))
			shows("inspect", at("out.db"))
			shows("inspect", at("out.db"), "-o", "json")
			if log.replays {
				shows("replay", at("out.db"), "--control-plane", "memory", "--report-dir", at("report"))
				shows("replay", at("out.db"), "--control-plane", "memory", "-o", "json")
				shows("compare", at("report/report.json"), at("report/report.json"), "-o", "markdown")
			}
			err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
				if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), "zq") {
					return err
				}
				b, err := os.ReadFile(path)
				clean(e.Name(), string(b))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}
