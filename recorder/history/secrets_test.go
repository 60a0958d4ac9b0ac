package history_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// TestImportKeepsNoSecret: what a recorder masks is masked on import too. Each case is a command line of the autoscaler with a
// secret that must not be in the bytes of the file.
func TestImportKeepsNoSecret(t *testing.T) {
	const secret = "Hunter2"
	for _, words := range [][]string{
		{"./cluster-autoscaler", "--token=" + secret},
		{"./cluster-autoscaler", "--password", secret},
		{"./cluster-autoscaler", "--password", "-" + secret},
		{"./cluster-autoscaler", "--kubernetes=https://user:" + secret + "@host"},
		{"./cluster-autoscaler", "https://user:" + secret + "@host"},
		{"sh", "-c", "export TOKEN=" + secret + "; ./cluster-autoscaler --v=4"},
		{"sh", "-c", "TOKEN=" + secret + " ./cluster-autoscaler --v=4"},
		{"./cluster-autoscaler", "--header=Authorization: Bearer " + secret},
		{"./cluster-autoscaler", "--clientsecret=" + secret},
		{"./cluster-autoscaler", "--conn=Server=h;Pwd=" + secret},
		{"./cluster-autoscaler", "-u", "admin:" + secret},
		{"./cluster-autoscaler", "--passwordfile=" + secret},
	} {
		dst := filepath.Join(t.TempDir(), "h.db")
		command, err := json.Marshal(slices.Concat(words, []string{"--max-nodes-total=7"}))
		if err != nil {
			t.Fatal(err)
		}
		if words[0] == "sh" {
			words[2] += " --max-nodes-total=7"
			if command, err = json.Marshal(words); err != nil {
				t.Fatal(err)
			}
		}
		log := fmt.Sprintf(`{"at":"2026-03-01T12:00:00Z","op":"add","object":{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"kube-system","name":"ca"},`+
			`"spec":{"template":{"spec":{"containers":[{"name":"cluster-autoscaler","command":%s,"env":[{"name":"P","value":%q}]}],"initContainers":[{"name":"cluster-autoscaler","args":[%q]}]}}}}}`,
			command, secret, "--token="+secret)
		if _, err := transfer.Import(t.Context(), strings.NewReader(log+"\n"), dst, transfer.ImportOptions{Name: "x"}); err != nil {
			t.Fatal(err)
		}
		file, err := os.ReadFile(dst)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(file), secret) {
			t.Errorf("%q reached the file", words)
		}
		snapshot, err := reopen(t, dst).SnapshotAt(t.Context(), start)
		if err != nil || !slices.Contains(snapshot.CASettings.Flags, "--max-nodes-total=7") {
			t.Errorf("%q: flags %q, %v", words, snapshot.CASettings.Flags, err)
		}
	}
}
