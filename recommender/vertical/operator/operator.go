package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	vpaclient "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/client/clientset/versioned"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/input"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/internal/leader"
	"github.com/scalehist/scalehist/recommender/vertical"
)

// Name is what the operator is called: in spec.recommenders of VPAs, where Options do not name it, and in leases.
const Name = "scalehist-vertical"

const (
	// DefaultInterval is that of upstream's recommender.
	DefaultInterval = time.Minute
	// DefaultCheckpoints is how often checkpoints are written: less often than upstream, which writes ten VPAs' a minute.
	DefaultCheckpoints = 10 * time.Minute
	// qps and burst bound requests to the API server where the configuration does not: a round takes two per VPA, and one per namespace.
	qps, burst = 50, 100
	pageSize   = 500
	// slack is for rounds that read long windows of usage.
	slack = 10 * time.Minute
)

// Usage is a sample of a pod of a namespace.
type Usage struct {
	Namespace string
	vertical.Sample
}

// Source is where usage comes from.
type Source interface {
	// Usage gives what containers used up to now and was not given yet, one window of it in order of instants; more says that another call has
	// the next one. A source whose window is only the present returns that.
	Usage(ctx context.Context, now time.Time) (list []Usage, more bool, err error)
}

// Options say what an Operator does.
type Options struct {
	// Config leads to the API server.
	Config *rest.Config
	// Namespace is the one whose VPAs are looked at; all where it is empty.
	Namespace string
	// Name selects VPAs by spec.recommenders; that of upstream's recommender ("default") takes those that name none as well. Default: Name.
	Name string
	// Recommender is made for each VPA.
	Recommender vertical.Spec
	// Source has the usage.
	Source Source
	// Interval is how often; DefaultInterval where it is 0. Checkpoints is how often these are written.
	Interval, Checkpoints time.Duration
	// Write has what is recommended written into the status of the VPAs, and checkpoints. Otherwise nothing is written.
	Write bool
	// Report gets what is recommended for a VPA when that, or what became of it, is not what it was.
	Report func(Report)
	// Clock is the wall clock where it is nil.
	Clock clock.WithTicker
	// Election lets one of several processes act; nil: this one does.
	Election *leader.Election
}

// Operator recommends for VPAs.
type Operator struct {
	options Options
	clock   clock.WithTicker
	client  kubernetes.Interface
	vpas    vpaclient.Interface
	targets *targets
	fence   leader.Fence
	began   time.Time
	saved   time.Time
	// states are of VPAs that are there.
	states map[types.UID]*state
	rounds leader.Rounds
}

// New prepares an operator. It talks to nobody yet.
func New(o Options) (*Operator, error) {
	if o.Config == nil || o.Source == nil || o.Recommender.Maker == nil {
		return nil, errors.New("operator: Config, Source and Recommender must be set")
	}
	if o.Interval < 0 || o.Checkpoints < 0 {
		return nil, fmt.Errorf("operator: interval %s, checkpoints %s: want 0 or more", o.Interval, o.Checkpoints)
	}
	o.Interval, o.Checkpoints, o.Name = cmp.Or(o.Interval, DefaultInterval), cmp.Or(o.Checkpoints, DefaultCheckpoints), cmp.Or(o.Name, Name)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Report == nil {
		o.Report = func(Report) {}
	}
	config := rest.CopyConfig(o.Config)
	if config.QPS == 0 {
		config.QPS, config.Burst = qps, burst
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("operator: %w", err)
	}
	vpas, err := vpaclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("operator: %w", err)
	}
	t, err := newTargets(config, client.Discovery())
	if err != nil {
		return nil, fmt.Errorf("operator: %w", err)
	}
	op := &Operator{options: o, clock: o.Clock, client: client, vpas: vpas, targets: t, began: o.Clock.Now(), states: map[types.UID]*state{},
		rounds: leader.Rounds{Clock: o.Clock, Interval: o.Interval, Slack: slack}}
	op.saved = op.began
	return op, nil
}

// Run plays a round each interval until ctx ends, while this process may act. An error of a round is logged, and the next one comes; that ctx
// ended is none. Checkpoints are written at the end as well.
func (o *Operator) Run(ctx context.Context) error {
	if o.options.Election == nil {
		return o.lead(ctx)
	}
	var ended error
	err := o.options.Election.Lead(ctx, o.client, &o.fence, func(ctx context.Context) {
		leader.LogOf(ctx).Info("Leading", "identity", o.options.Election.Identity)
		o.states = map[types.UID]*state{} // another process may have gone on: its checkpoints are newer
		ended = o.lead(ctx)
	})
	return errors.Join(err, ended)
}

func (o *Operator) lead(ctx context.Context) error {
	o.rounds.Play(ctx, func(ctx context.Context) error {
		round, err := o.Round(ctx)
		if err == nil {
			leader.LogOf(ctx).V(1).Info("Round", "vpas", round.VPAs, "samples", round.Samples, "written", round.Written, "failed", round.Failed)
		}
		return err
	})
	return o.End(context.WithoutCancel(ctx))
}

// endTimeout bounds what is written after the end was asked for; a lease lasts longer.
const endTimeout = 5 * time.Second

// End writes the checkpoints of what was observed since they were written last.
func (o *Operator) End(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, endTimeout)
	defer stop()
	return o.checkpoint(ctx, o.clock.Now())
}

// Stuck is an error if a round takes far longer than rounds may.
func (o *Operator) Stuck() error { return o.rounds.Stuck() }

// Round is what a look at all VPAs came to.
type Round struct {
	// VPAs name this recommender; Samples of their pods were new; the status of so many was Written; Failed could not be read or written.
	VPAs, Samples, Written, Failed int
}

// Round recommends for every VPA once. The error is about what concerns all of them: lists, and usage. What fails about one is reported, and does
// not concern the others.
func (o *Operator) Round(ctx context.Context) (Round, error) {
	now := o.clock.Now()
	states, err := o.look(ctx, now)
	if err != nil {
		return Round{}, err
	}
	round := Round{VPAs: len(states)}
	usageErr := o.observe(ctx, now, states, &round)
	for _, s := range states {
		r := s.recommend(ctx, now)
		if r.Err == nil && usageErr == nil && o.options.Write {
			if r.Written, r.Err = o.write(ctx, s, r.Status); r.Written {
				round.Written++
			}
		}
		if ctx.Err() != nil {
			return round, ctx.Err()
		}
		if r.Err != nil {
			round.Failed++
		}
		if usageErr == nil && s.news(&r) {
			o.options.Report(r)
		}
	}
	if usageErr != nil {
		return round, fmt.Errorf("usage: %w", usageErr)
	}
	if now.Sub(o.saved) >= o.options.Checkpoints {
		return round, o.checkpoint(ctx, now)
	}
	return round, nil
}

// look reads the VPAs that name this recommender, in order of names, and the pods of their targets.
func (o *Operator) look(ctx context.Context, now time.Time) ([]*state, error) {
	list, err := o.list(ctx)
	if err != nil {
		return nil, err
	}
	pods := map[string][]corev1.Pod{}
	var out []*state
	there := map[types.UID]bool{}
	for i := range list {
		v := &list[i]
		if pods[v.Namespace] == nil {
			found, err := o.client.CoreV1().Pods(v.Namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
			if err != nil {
				return nil, fmt.Errorf("list pods of namespace %s: %w", v.Namespace, err)
			}
			pods[v.Namespace] = found.Items
		}
		s, err := o.state(ctx, v)
		if err != nil {
			return nil, err
		}
		s.took(pods[v.Namespace], now)
		there[v.UID] = true
		out = append(out, s)
	}
	for uid, s := range o.states {
		if !there[uid] {
			if s.recommender != nil {
				vertical.Close(s.recommender)
			}
			delete(o.states, uid)
		}
	}
	return out, nil
}

// list are the VPAs that name this recommender.
func (o *Operator) list(ctx context.Context) ([]vpav1.VerticalPodAutoscaler, error) {
	var all []vpav1.VerticalPodAutoscaler
	options := metav1.ListOptions{Limit: pageSize}
	for {
		list, err := o.vpas.AutoscalingV1().VerticalPodAutoscalers(o.options.Namespace).List(ctx, options)
		switch {
		case apierrors.IsNotFound(err):
			return nil, errors.New("the cluster does not serve VerticalPodAutoscalers: apply upstream's definition, deploy/vpa-v1-crd-gen.yaml of the Vertical Pod Autoscaler")
		case err != nil:
			return nil, fmt.Errorf("list VerticalPodAutoscalers: %w", err)
		}
		for _, v := range list.Items {
			named := slices.ContainsFunc(v.Spec.Recommenders, func(s *vpav1.VerticalPodAutoscalerRecommenderSelector) bool { return s.Name == o.options.Name })
			if named || len(v.Spec.Recommenders) == 0 && o.options.Name == input.DefaultRecommenderName {
				all = append(all, v)
			}
		}
		if options.Continue = list.Continue; options.Continue == "" {
			break
		}
	}
	slices.SortFunc(all, func(a, b vpav1.VerticalPodAutoscaler) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// state is what is kept of a VPA. It begins again with the selector of its target, as upstream, and with what its checkpoints have.
func (o *Operator) state(ctx context.Context, v *vpav1.VerticalPodAutoscaler) (*state, error) {
	selector, unsupported := o.targets.selector(ctx, v)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s := o.states[v.UID]
	known := s != nil && (s.selector.String() == selector.String() || unsupported != nil)
	if known {
		s.follow(v, unsupported)
		return s, nil
	}
	s = &state{vpa: v, selector: selector, unsupported: unsupported, began: o.began}
	if unsupported == nil { // whether there is a checkpoint is asked once there is a target
		if err := o.load(ctx, s); err != nil {
			return nil, err
		}
		o.states[v.UID] = s
	}
	return s, nil
}

// observe hands usage to the recommenders of the pods' VPAs.
func (o *Operator) observe(ctx context.Context, now time.Time, states []*state, round *Round) error {
	for _, s := range states {
		for _, sample := range s.ooms {
			s.observe(ctx, sample)
		}
		s.ooms = nil
	}
	of := map[types.NamespacedName][]*state{}
	for _, s := range states {
		for _, name := range s.pods {
			id := types.NamespacedName{Namespace: s.vpa.Namespace, Name: name}
			of[id] = append(of[id], s)
		}
	}
	for more := true; more; {
		list, again, err := o.options.Source.Usage(ctx, now)
		if err != nil {
			return err
		}
		for _, u := range list {
			for _, s := range of[types.NamespacedName{Namespace: u.Namespace, Name: u.Pod}] {
				if s.observe(ctx, u.Sample) {
					round.Samples++
				}
			}
		}
		more = again
	}
	return nil
}
