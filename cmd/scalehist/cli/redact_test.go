package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

func TestRedact(t *testing.T) {
	src := filepath.Join("..", "..", "..", "fixtures", "gpu-taints", "recording.db")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	code, out, errs := scalehist(t, "", "redact", src, "-f", in("a.db"), "--save-salt", in("salt"), "--save-mapping", in("map.json"))
	if code != console.ExitOK || !strings.Contains(out, "words replaced") || !strings.Contains(out, "node group") {
		t.Fatalf("redact: %d\n%s%s", code, out, errs)
	}
	for _, secret := range []string{"salt", "map.json"} {
		if info, err := os.Stat(in(secret)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, mode %v, want 0600", secret, err, info.Mode())
		}
	}
	var mapping struct {
		Names map[string]map[string]string `json:"names"`
	}
	b, err := os.ReadFile(in("map.json"))
	if err == nil {
		err = json.Unmarshal(b, &mapping)
	}
	if err != nil || mapping.Names["node group"]["gpu"] == "" || mapping.Names["namespace"]["default"] != "" {
		t.Errorf("the mapping has no group gpu, or renames the namespace default: %v\n%s", err, b)
	}
	code, out, errs = scalehist(t, "", "redact", src, "-f", in("b.db"), "--salt-file", in("salt"), "-o", "json")
	var result struct {
		History    string         `json:"history"`
		Words      int            `json:"words"`
		Names      map[string]int `json:"names"`
		HashLength int            `json:"hashLength"`
	}
	if err := json.Unmarshal([]byte(out), &result); code != console.ExitOK || err != nil || result.History != in("b.db") || result.Words == 0 || result.Names["pod"] == 0 {
		t.Fatalf("redact -o json: %d %v\n%s%s", code, err, out, errs)
	}
	first, err := os.ReadFile(in("a.db"))
	if err != nil {
		t.Fatal(err)
	}
	if second, err := os.ReadFile(in("b.db")); err != nil || !bytes.Equal(first, second) {
		t.Errorf("the saved salt makes another file (%v)", err)
	}
	if code, out, errs = scalehist(t, "", "inspect", in("a.db")); code != console.ExitOK || !strings.Contains(out, "NodeGroup") {
		t.Errorf("inspect: %d\n%s%s", code, out, errs)
	}
}

func TestRedactKeeps(t *testing.T) {
	src := filepath.Join("..", "..", "..", "fixtures", "gpu-taints", "recording.db")
	dst := filepath.Join(t.TempDir(), "out.db")
	code, _, errs := scalehist(t, "", "redact", src, "-f", dst, "--keep-labels", "pool")
	if code != console.ExitOK {
		t.Fatalf("redact: %d\n%s", code, errs)
	}
	_, log, _ := scalehist(t, "", "export", dst)
	if !strings.Contains(log, `"pool":"std"`) {
		t.Error("--keep pool does not keep the label")
	}
	if strings.Contains(log, `"name":"std"`) || strings.Contains(log, "train") {
		t.Error("--keep pool keeps more than the label")
	}
}

func TestRedactRefuses(t *testing.T) {
	src := filepath.Join("..", "..", "..", "fixtures", "gpu-taints", "recording.db")
	dir := t.TempDir()
	there := filepath.Join(dir, "there.db")
	if err := os.WriteFile(there, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no output", []string{"redact", src}, `"out" not set`},
		{"output exists", []string{"redact", src, "-f", there}, "replace it with --overwrite"},
		{"short salt", []string{"redact", src, "-f", filepath.Join(dir, "x.db"), "--salt-file", there}, "give at least 16"},
		{"no salt file", []string{"redact", src, "-f", filepath.Join(dir, "x.db"), "--salt-file", filepath.Join(dir, "none")}, "--salt-file"},
		{"salt file exists", []string{"redact", src, "-f", filepath.Join(dir, "x.db"), "--save-salt", there}, "exists already"},
		{"both salts", []string{"redact", src, "-f", filepath.Join(dir, "x.db"), "--save-salt", there, "--salt-file", there}, "none of the others can be"},
		{"no history", []string{"redact", filepath.Join(dir, "none.db"), "-f", filepath.Join(dir, "x.db")}, "none.db"},
	}
	for _, tt := range tests {
		code, _, errs := scalehist(t, "", tt.args...)
		if code != console.ExitFailed || !strings.Contains(errs, tt.want) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s", tt.name, code, console.ExitFailed, tt.want, errs)
		}
		if _, err := os.Stat(filepath.Join(dir, "x.db")); err == nil {
			t.Errorf("%s: a file was made", tt.name)
		}
	}
}

// TestDoctorOfCopy: the doctor finds in a redacted copy what it finds in the original, messages of the autoscaler read included.
//
//scalehist:unraced
func TestDoctorOfCopy(t *testing.T) {
	findings := 0
	for _, name := range []string{"aws-burst", "ca-burst-two-sizes", "ca-staggered-burst", "gpu-taints", "safe-to-evict", "ca-stockout-fallback"} {
		src := filepath.Join("..", "..", "..", "fixtures", name, "recording.db")
		dst := filepath.Join(t.TempDir(), "out.db")
		if code, out, errs := scalehist(t, "", "redact", src, "-f", dst); code != console.ExitOK {
			t.Fatalf("redact %s: %d\n%s%s", name, code, out, errs)
		}
		found := func(path string) string {
			_, out, errs := scalehist(t, "", "doctor", path, "-o", "json")
			var reports []struct {
				Findings []struct{ Code, Severity string } `json:"findings"`
			}
			if err := json.Unmarshal([]byte(out), &reports); err != nil {
				t.Fatalf("doctor %s: %v\n%s%s", path, err, out, errs)
			}
			var b strings.Builder
			for _, r := range reports {
				for _, f := range r.Findings {
					b.WriteString(f.Code + " " + f.Severity + "\n")
				}
			}
			return b.String()
		}
		if was, is := found(src), found(dst); was != is {
			t.Errorf("%s: the doctor found\n%sand in the copy\n%s", name, was, is)
		} else {
			findings += strings.Count(was, "\n")
		}
	}
	if findings == 0 {
		t.Error("the doctor found nothing in any fixture, so nothing is shown")
	}
}
