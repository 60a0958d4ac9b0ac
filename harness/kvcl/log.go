package kvcl

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	tailLines = 10
	// tailBytes bounds a tail; stack traces have long lines.
	tailBytes = 16 << 10
)

// tail keeps the last lines a process wrote and passes everything on to a file, if there is one.
type tail struct {
	mu   sync.Mutex
	buf  []byte
	file io.Writer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*tailBytes {
		t.buf = append([]byte(nil), t.buf[len(t.buf)-tailBytes:]...)
	}
	if t.file != nil {
		return t.file.Write(p)
	}
	return len(p), nil
}

func tailText(process string, t *tail) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.buf))
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return fmt.Sprintf("\nlast lines of %s:\n  %s", process, strings.Join(lines, "\n  "))
}

// klogFiles is where the logs of the scheduler and client-go go: to the files of all virtual clusters that want one.
// klog has one output per process, so a file may hold lines of another virtual cluster.
type klogFiles struct {
	mu    sync.Mutex
	files map[*os.File]bool
}

var (
	klogOut  = &klogFiles{files: map[*os.File]bool{}}
	klogOnce sync.Once
)

func (k *klogFiles) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for f := range k.files {
		_, _ = f.Write(p)
	}
	return len(p), nil
}

// openKlog sends klog to scheduler.log in dir, or nowhere, instead of standard error. The result ends it.
func openKlog(dir string) (func(), error) {
	klogOnce.Do(func() {
		fs := flag.NewFlagSet("klog", flag.ContinueOnError)
		klog.InitFlags(fs)
		for name, value := range map[string]string{
			"logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL", "one_output": "true",
		} {
			_ = fs.Set(name, value)
		}
		klog.SetOutput(klogOut)
		// The scheduler builds a logger per node and filter call otherwise: 6 to 20 % of its time.
		klog.EnableContextualLogging(false)
		// envtest tells of children that end, which they do at every stop; launch reports what matters.
		ctrllog.SetLogger(logr.Discard())
	})
	if dir == "" {
		return func() {}, nil
	}
	f, err := os.Create(filepath.Join(dir, "scheduler.log"))
	if err != nil {
		return nil, fmt.Errorf("log of the scheduler: %w", err)
	}
	klogOut.mu.Lock()
	klogOut.files[f] = true
	klogOut.mu.Unlock()
	return func() {
		klogOut.mu.Lock()
		defer klogOut.mu.Unlock()
		delete(klogOut.files, f)
		_ = f.Close()
	}, nil
}
