package console

import (
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// Behind the global klog is one relay, set once: klog's logger must not be exchanged while something logs, and a
// server that still answers, or a library's goroutine, may. What the relay passes on to is exchanged instead.
var (
	relayTo  atomic.Pointer[logr.Logger]
	relaySet sync.Once
)

// logGlobally makes logger what the global klog writes to.
func logGlobally(logger logr.Logger) {
	relayTo.Store(&logger)
	relaySet.Do(func() { klog.SetLogger(logr.New(relay{})) })
}

// relay is a logr.LogSink that passes on to the logger of the moment.
type relay struct {
	names  []string
	values []any
}

// Init implements logr.LogSink.
func (relay) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (r relay) Enabled(level int) bool { return relayTo.Load().V(level).Enabled() }

// Info implements logr.LogSink.
func (r relay) Info(level int, msg string, keysAndValues ...any) {
	r.logger().V(level).Info(msg, keysAndValues...)
}

// Error implements logr.LogSink.
func (r relay) Error(err error, msg string, keysAndValues ...any) {
	r.logger().Error(err, msg, keysAndValues...)
}

// WithValues implements logr.LogSink.
func (r relay) WithValues(keysAndValues ...any) logr.LogSink {
	r.values = append(r.values[:len(r.values):len(r.values)], keysAndValues...)
	return r
}

// WithName implements logr.LogSink.
func (r relay) WithName(name string) logr.LogSink {
	r.names = append(r.names[:len(r.names):len(r.names)], name)
	return r
}

// logger is the logger of the moment, with what was added here. The frames of the relay and of klog are not the caller's.
func (r relay) logger() logr.Logger {
	l := *relayTo.Load()
	for _, name := range r.names {
		l = l.WithName(name)
	}
	return l.WithValues(r.values...).WithCallDepth(2)
}
