// Package klogs decides where klog goes, which the scheduler and client-go write to: one output per process.
package klogs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// files is where the logs of the scheduler and client-go go: to the files of all virtual clusters that want one.
// klog has one output per process, so a file may hold lines of another virtual cluster.
type files struct {
	mu   sync.Mutex
	open map[*os.File]bool
}

var (
	out  = &files{open: map[*os.File]bool{}}
	once sync.Once
)

func (k *files) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for f := range k.open {
		_, _ = f.Write(p)
	}
	return len(p), nil
}

// Open sends klog to scheduler.log in dir, or nowhere, instead of standard error. The result ends it.
func Open(dir string) (func(), error) {
	once.Do(func() {
		fs := flag.NewFlagSet("klog", flag.ContinueOnError)
		klog.InitFlags(fs)
		for name, value := range map[string]string{
			"logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL", "one_output": "true",
		} {
			_ = fs.Set(name, value)
		}
		klog.SetOutput(out)
		// The scheduler builds a logger per node and filter call otherwise: 6 to 20 % of its time.
		klog.EnableContextualLogging(false)
		// envtest reports children that end, which they do at every stop; launch reports what matters.
		ctrllog.SetLogger(logr.Discard())
	})
	if dir == "" {
		return func() {}, nil
	}
	f, err := os.Create(filepath.Join(dir, "scheduler.log"))
	if err != nil {
		return nil, fmt.Errorf("log of the scheduler: %w", err)
	}
	out.mu.Lock()
	out.open[f] = true
	out.mu.Unlock()
	return func() {
		out.mu.Lock()
		defer out.mu.Unlock()
		delete(out.open, f)
		_ = f.Close()
	}, nil
}
