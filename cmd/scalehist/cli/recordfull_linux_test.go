package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
)

// fileLimit names the environment variable with the size in bytes beyond which the command cannot write a file, as on a full disk.
const fileLimit = "SCALEHIST_TEST_FILE_LIMIT"

func init() {
	n, err := strconv.ParseUint(os.Getenv(fileLimit), 10, 64)
	if err != nil {
		return
	}
	signal.Ignore(syscall.SIGXFSZ) // a write beyond the limit is an error then
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
		panic(err)
	}
}

func init() { onClusters = append(onClusters, recordOnAFullDisk) }

// recordOnAFullDisk: a recording that cannot be written goes on until it is stopped, says that it cannot, and ends as one that failed, with what
// became of what it saw. One that cannot begin fails at once. What was written before can be read.
func recordOnAFullDisk(t *testing.T, client kubernetes.Interface, config string) {
	db := filepath.Join(t.TempDir(), "full.db")
	full := func(limit int, found func(*exec.Cmd)) (code int, out, said string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "record", "--kubeconfig", config, "-o", db, "--node-groups", "labels:pool")
		cmd.Env = append(os.Environ(), mainVariable+"=1", exitAtOnce, fmt.Sprintf("%s=%d", fileLimit, limit))
		var stdout bytes.Buffer
		stderr := &waitingBuffer{text: "the history cannot be written", found: func() { found(cmd) }}
		cmd.Stdout, cmd.Stderr = &stdout, stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
	}
	code, out, said := full(8<<10, func(*exec.Cmd) { t.Error("a recording that has no file goes on") })
	if code != console.ExitFailed || out != "" || !strings.Contains(said, "scalehist: record: history "+db) {
		t.Errorf("without room for a file: exit %d, printed %q, error %q", code, out, said)
	}
	for i := range 60 {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("big-", i), Labels: map[string]string{}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		for j := range 40 {
			p.Labels[fmt.Sprintf("l%d-%d", i, j)] = strings.Repeat(fmt.Sprint(i%10), 60)
		}
		if _, err := client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	code, out, said = full(192<<10, func(cmd *exec.Cmd) {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
	})
	if code != console.ExitFailed || out != "" || !strings.Contains(said, "scalehist: record: recorder: the recording was stopped while the history could not be written, what was seen since is lost") {
		t.Errorf("exit %d, printed %q, error %q; want %d and what is lost", code, out, said, console.ExitFailed)
	}
	h, err := history.Open(t.Context(), db)
	var empty *dbfile.EmptyError
	if errors.As(err, &empty) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.Check(t.Context()), h.Close()); err != nil {
		t.Error(err)
	}
}
