package recorder

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/sources"
	"github.com/scalehist/scalehist/recorder/usage"
)

// Options are the settings of a Recorder. Only Path is needed.
type Options struct {
	// Path of the history; an existing one is continued, with a gap for the time in between.
	Path string
	// Cluster names the cluster in a new history; default the host of the API server.
	Cluster string
	// Source says in a new history who wrote it: "recorder v0.3".
	Source string
	// Clock gives observed time; default the wall clock.
	Clock clock.Clock
	// NodeGroups derives node groups from nodes; default sources.Auto.
	NodeGroups sources.Source
	// Kinds to watch, by name ("Pod"); default all of Kinds(). Pods and Nodes are always among them.
	Kinds []string
	// CANamespace is the namespace of the cluster-autoscaler's Deployment; default: wherever there is one.
	CANamespace string
	// QueueSize bounds the changes that wait for the writer; default 4096.
	QueueSize int
	// BatchSize is the most changes a transaction takes, BatchInterval the longest a change waits for one; defaults
	// 1000 and 250 ms.
	BatchSize     int
	BatchInterval time.Duration
	// Retain is how much of the history to keep: what ended longer ago is forgotten while recording, at the start and then
	// every 30th of Retain, but no more often than hourly and no less often than daily; 0: everything is kept.
	Retain time.Duration
	// Wait keeps trying when the API server cannot be reached at the start, or does not take the credentials; else that
	// is an error of Run.
	Wait bool
	// Reload reads the connection again, a kubeconfig say, when the API server does not take the credentials any more.
	// Without it only what client-go renews by itself (token files, exec plugins) is renewed.
	Reload func() (*rest.Config, error)
	// ControlPlane is where the autoscaler and the machines of the cluster are, if not in the cluster itself; nil: there.
	ControlPlane *ControlPlane
	// Usage is how often to record what containers use, from the metrics API; 0: never.
	Usage time.Duration
	// Prometheus has queries whose results are recorded as series; nil: none.
	Prometheus *usage.Prometheus
	// Times is set when the recorded cluster lives in virtual time: see Times.
	Times Times
}

// ControlPlane is the API server and namespace that has the autoscaler, its ConfigMaps and the machines of a cluster: the
// seed of a Gardener shoot, the management cluster of Cluster API. Nothing else is read there. The history is of the
// cluster the recorder was made for.
type ControlPlane struct {
	// Config is how to reach it; nil: it is the cluster itself.
	Config *rest.Config
	// Namespace narrows it; "": all of them.
	Namespace string
}

// Times translates what an API server stamps with the wall clock into the virtual time of the cluster it plays. With
// it Clock must be the virtual clock, and its time at least two days away from the wall clock's, because stamps are
// told apart by that. Changes are then written at Flush (and at the end) only, ordered by kind, namespace and name, so
// that the order in which independent watches deliver does not reach the history.
type Times interface {
	// ObjectTime gives the virtual creation time and the UID of an object the API server returned; false for objects
	// it does not know. Those were created when they were first seen, and get a UID from their kind and name.
	// It is called from several goroutines.
	ObjectTime(o scalehist.Object) (created time.Time, uid string, ok bool)
}

// withDefaults fills in and checks the options.
func (o Options) withDefaults(host string) (Options, error) {
	if o.Path == "" {
		return o, errors.New("recorder: no file to write to: set Path")
	}
	o.Cluster = cmp.Or(o.Cluster, host)
	o.Source = cmp.Or(o.Source, "recorder")
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.NodeGroups == nil {
		o.NodeGroups = sources.Auto()
	}
	o.QueueSize = cmp.Or(o.QueueSize, 4096)
	o.BatchSize = cmp.Or(o.BatchSize, 1000)
	o.BatchInterval = cmp.Or(o.BatchInterval, 250*time.Millisecond)
	if o.QueueSize < 1 || o.BatchSize < 1 || o.BatchInterval < 0 {
		return o, fmt.Errorf("recorder: queue size %d, batch size %d, batch interval %s: want positive values",
			o.QueueSize, o.BatchSize, o.BatchInterval)
	}
	if o.Usage < 0 || o.Usage > 0 && o.Usage < time.Second {
		return o, fmt.Errorf("recorder: usage every %s: want 1s or more", o.Usage)
	}
	if o.Times != nil && (o.Usage > 0 || o.Prometheus != nil) {
		return o, errors.New("recorder: usage and Prometheus live in wall-clock time: leave them out with Times")
	}
	if o.Retain != 0 && o.Retain < leastRetain {
		return o, fmt.Errorf("recorder: retain %s: want %s or more", o.Retain, leastRetain)
	}
	for _, k := range o.Kinds {
		if !slices.Contains(Kinds(), k) {
			return o, fmt.Errorf("recorder: unknown kind %q: choose from %v", k, Kinds())
		}
	}
	return o, nil
}
