package recorder

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/usage"
)

// clients are how the API server is asked; they change when the credentials do.
type clients struct {
	kube kubernetes.Interface
	meta metadata.Interface
	dyn  dynamic.Interface
	pods *usage.Pods // nil without Options.Usage
}

func (r *Recorder) kube() kubernetes.Interface { return r.clients.Load().kube }

func (r *Recorder) metadata() metadata.Interface { return r.clients.Load().meta }

// connect makes clients of the cluster behind cfg.
func (r *Recorder) connect(cfg *rest.Config) (*clients, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.ContentType = "application/vnd.kubernetes.protobuf"
	cfg.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	cfg.QPS = -1 // a handful of watches, and the lists of Flush
	boundAnswers(cfg)
	if r.o.Times == nil {
		r.compareClocks(cfg)
	}
	watching := rest.CopyConfig(cfg)
	r.line.know(watching, true)
	r.line.know(cfg, false) // what it says is no sign of life of a watch
	kube, err := kubernetes.NewForConfig(watching)
	if err != nil {
		return nil, fmt.Errorf("recorder: %w", err)
	}
	meta, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("recorder: %w", err)
	}
	dyn, err := dynamic.NewForConfig(watching)
	if err != nil {
		return nil, fmt.Errorf("recorder: %w", err)
	}
	out := &clients{kube: kube, meta: meta, dyn: dyn}
	if r.o.Usage > 0 {
		if out.pods, err = usage.NewPods(cfg); err != nil {
			return nil, fmt.Errorf("recorder: %w", err)
		}
	}
	return out, nil
}

// renewInterval is the least time between two looks at the source of the credentials.
const renewInterval = time.Second

// renew takes credentials again after they were refused. A connection to another cluster is not taken: the next list
// would end every object that the other cluster does not have.
func (r *Recorder) renew(ctx context.Context) {
	const refused = "the API server does not take the credentials any more"
	r.renewing.Lock()
	defer r.renewing.Unlock()
	if r.o.Reload == nil {
		r.trouble.set(ctx, partCredentials, refused)
		return
	}
	now := r.now()
	if !r.renewed.IsZero() && now.Sub(r.renewed) < renewInterval {
		return
	}
	r.renewed = now
	fail := func(err error) {
		r.trouble.set(ctx, partCredentials, fmt.Sprintf("%s: %v", refused, cause(err)))
	}
	cfg, err := r.o.Reload()
	if err != nil {
		fail(err)
		return
	}
	fresh, err := r.connect(cfg)
	if err != nil {
		fail(err)
		return
	}
	if have := r.cluster.Load(); have != nil && *have != "" {
		limited, cancel := context.WithTimeout(ctx, probeTimeout) // the other watches wait for this
		identity, err := r.identity(limited, fresh.meta)
		cancel()
		if err == nil && identity != "" && identity != *have {
			err = &history.OtherClusterError{Path: r.o.Path, Cluster: r.o.Cluster, Have: *have, Want: identity}
		}
		if err != nil {
			fail(err)
			return
		}
	}
	r.clients.Store(fresh)
}
