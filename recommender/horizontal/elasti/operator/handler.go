package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"k8s.io/utils/keymutex"

	"github.com/scalehist/scalehist/internal/leader"
	"github.com/scalehist/scalehist/recommender/horizontal/elasti"
)

// Name is what the handler calls itself in events and leases.
const Name = "scalehist-horizontal"

const (
	// concurrency is how many are looked at at once: most of the time is spent waiting for Prometheus, which may take until its timeout.
	concurrency = 32
	// qps and burst bound requests to the API server where the configuration does not: a look takes two to five.
	qps, burst = 100, 200
	// locks is how many locks targets share.
	locks = 1024
	// slack is for rounds in which Prometheus answers late.
	slack = 5 * time.Minute
)

// Options say what a Handler does.
type Options struct {
	// Config leads to the API server.
	Config *rest.Config
	// Namespace is the one whose ElastiServices are looked at; all where it is empty.
	Namespace string
	// Interval is how often; elasti.DefaultInterval where it is 0.
	Interval time.Duration
	// Registry has the types of triggers.
	Registry elasti.Registry
	// WakeOnUnknown is that of elasti.Policy.
	WakeOnUnknown bool
	// Clock is the wall clock where it is nil.
	Clock clock.WithTicker
	// Election lets one of several processes act; nil: this one does.
	Election *Election
}

// Handler scales the targets of ElastiServices.
type Handler struct {
	options  Options
	clock    clock.WithTicker
	services *services
	targets  *targets
	keda     *keda
	client   kubernetes.Interface
	scalers  *scalers
	locks    keymutex.KeyMutex
	events   record.EventRecorder
	close    func()
	// fence is asked before each write.
	fence leader.Fence

	rounds leader.Rounds

	mu sync.Mutex
	// seen is what is remembered of ElastiServices from one look to the next.
	seen map[types.UID]remembered
}

// remembered is what a status may not hold yet, or not at all, where the definition is KubeElasti's.
type remembered struct {
	lastNeeded time.Time
	reason     string
}

// New prepares a handler. It talks to nobody yet. Close ends it.
func New(o Options) (*Handler, error) {
	if o.Config == nil || len(o.Registry) == 0 {
		return nil, errors.New("operator: Config and Registry must be set")
	}
	if o.Interval < 0 {
		return nil, fmt.Errorf("operator: the interval %s is negative", o.Interval)
	}
	if o.Interval == 0 {
		o.Interval = elasti.DefaultInterval
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	config := rest.CopyConfig(o.Config)
	if config.QPS == 0 {
		config.QPS, config.Burst = qps, burst
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("operator: %w", err)
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("operator: %w", err)
	}
	h := &Handler{options: o, clock: o.Clock, client: client, locks: keymutex.NewHashed(locks), seen: map[types.UID]remembered{},
		scalers: newScalers(o.Registry), rounds: leader.Rounds{Clock: o.Clock, Interval: o.Interval, Slack: slack}}
	if h.targets, err = newTargets(config, client.Discovery(), o.Clock, o.Interval, h.fence.Check); err != nil {
		return nil, fmt.Errorf("operator: %w", err)
	}
	h.services = &services{client: dyn, namespace: o.Namespace, wake: o.WakeOnUnknown, fence: h.fence.Check}
	h.keda = &keda{client: dyn, fence: h.fence.Check}
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	h.events = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: Name})
	h.close = broadcaster.Shutdown
	return h, nil
}

// Close lets go of scalers and ends the writing of events.
func (h *Handler) Close(ctx context.Context) error {
	err := h.scalers.close(ctx)
	h.close()
	return err
}

// Run looks at all ElastiServices every interval until ctx ends, while this process may act. An error of a round is logged, and the next one
// comes; that ctx ended is none.
func (h *Handler) Run(ctx context.Context) error {
	if h.options.Election == nil {
		h.lead(ctx)
		return nil
	}
	return h.options.Election.Lead(ctx, h.client, &h.fence, func(ctx context.Context) {
		leader.LogOf(ctx).Info("Leading", "identity", h.options.Election.Identity)
		h.lead(ctx)
	})
}

// lead plays rounds until ctx ends, and returns when the last one has ended.
func (h *Handler) lead(ctx context.Context) {
	h.rounds.Play(ctx, func(ctx context.Context) error {
		round, err := h.Poll(ctx)
		log := leader.LogOf(ctx)
		switch {
		case err != nil:
		case round.Scaled > 0 || round.Failed > 0:
			log.Info("Round", "elastiServices", round.Services, "scaled", round.Scaled, "failed", round.Failed)
		default:
			log.V(1).Info("Round", "elastiServices", round.Services)
		}
		return err
	})
}

// Stuck is an error if a round takes far longer than rounds may.
func (h *Handler) Stuck() error { return h.rounds.Stuck() }

// Round is what a look at all ElastiServices came to.
type Round struct {
	// Services were looked at; Scaled of them had their replicas changed, Failed could not be decided about or acted on.
	Services, Scaled, Failed int
}

// Poll looks at every ElastiService once. The error is about the list: what fails about one of them is in its status, and does not concern
// the others.
func (h *Handler) Poll(ctx context.Context) (Round, error) {
	list, err := h.services.list(ctx)
	if err != nil {
		return Round{}, err
	}
	h.forget(ctx, list)
	rivals := rivalsOf(list)
	var scaled, failed atomic.Int64
	var group errgroup.Group
	group.SetLimit(concurrency)
	for _, s := range list {
		group.Go(func() error {
			acted, err := h.look(ctx, s, rivals[s.key()])
			if acted {
				scaled.Add(1)
			}
			if err != nil {
				failed.Add(1)
			}
			return ctx.Err()
		})
	}
	_ = group.Wait() // that ctx ended, which is returned below
	return Round{len(list), int(scaled.Load()), int(failed.Load())}, ctx.Err()
}

// rivalsOf are the names of the ElastiServices of each target that has several.
func rivalsOf(list []*service) map[string][]string {
	byTarget := map[string][]string{}
	for _, s := range list {
		if s.err == nil {
			byTarget[s.key()] = append(byTarget[s.key()], s.Name)
		}
	}
	for key, names := range byTarget {
		if len(names) < 2 {
			delete(byTarget, key)
		}
	}
	return byTarget
}

// forget drops what is remembered of ElastiServices that are not there any more.
func (h *Handler) forget(ctx context.Context, list []*service) {
	there := make(map[types.UID]bool, len(list))
	for _, s := range list {
		there[s.UID] = true
	}
	h.scalers.keep(ctx, there)
	h.mu.Lock()
	defer h.mu.Unlock()
	for uid := range h.seen {
		if !there[uid] {
			delete(h.seen, uid)
		}
	}
}

// Wake gives the target of an ElastiService its minimum now, because somebody needs it: a request came. The cooldown begins again.
func (h *Handler) Wake(ctx context.Context, name types.NamespacedName) error {
	list, err := h.services.listIn(ctx, name.Namespace)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.Name != name.Name {
			continue
		}
		if s.err != nil {
			return s.err
		}
		if names := rivalsOf(list)[s.key()]; names != nil {
			return rivalError(s, names)
		}
		_, err := h.act(ctx, s, func(now time.Time, t elasti.Target) (elasti.Decision, error) {
			return elasti.Decision{From: t.Replicas, To: max(t.Replicas, s.policy.MinReplicas), Needed: true, Reason: elasti.ReasonNeeded, Message: "somebody asked for it"}, nil
		})
		return err
	}
	return fmt.Errorf("there is no ElastiService %s", name)
}

func rivalError(s *service, names []string) error {
	return reasoned(ReasonRivals, fmt.Errorf("%s scale the same target, %s: none of them is acted for; keep one", strings.Join(names, ", "), s.targetName()))
}
