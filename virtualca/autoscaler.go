package virtualca

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/simulator/fit"
	"github.com/scalehist/scalehist/virtualca/config"
	"github.com/scalehist/scalehist/virtualca/expander"
	"github.com/scalehist/scalehist/virtualca/listing"
	"github.com/scalehist/scalehist/virtualca/status"
)

// CloudProvider is what the autoscaler sees of the node groups and how it acts on them. *cloudprovider.Provider is one.
type CloudProvider interface {
	// Refresh brings the provider's view up to date, at the beginning of every loop; an error ends the loop.
	Refresh(now time.Time) error
	// Groups lists the node groups with their target sizes, always in the same order.
	Groups() []scalehist.NodeGroup
	// GroupForNode names the group of a node; false when it is not autoscaled.
	GroupForNode(*corev1.Node) (string, bool)
	// Template is the node a scale-up from zero would bring; false when unknown. TemplatePods run on it besides.
	Template(group string) (*corev1.Node, bool)
	TemplatePods(group string) []*corev1.Pod
	// GroupOptions override flags for one group; false when there are none.
	GroupOptions(group string) (cloudprovider.GroupOptions, bool)
	// Instances lists what exists or is being made for a group.
	Instances(group string) []cloudprovider.Instance
	IncreaseSize(ctx context.Context, now time.Time, group string, delta int) error
	DecreaseTargetSize(ctx context.Context, now time.Time, group string, delta int) error
	DeleteNodes(ctx context.Context, now time.Time, group string, nodeNames []string) error
	// GPULabel marks GPU nodes and names their type; "" for none. IgnoresGPUs: the provider reports no GPUs, whatever the
	// label says.
	GPULabel() string
	IgnoresGPUs() bool
	// ResourceLimits are [min, max] over the cluster by resource name.
	ResourceLimits() map[string][2]int64
	// Prices serve the price expander.
	expander.Prices
}

var _ CloudProvider = (*cloudprovider.Provider)(nil)
var _ scalehist.Autoscaler = (*Autoscaler)(nil)

// Autoscaler is the virtual cluster autoscaler. It is not safe for concurrent use.
type Autoscaler struct {
	cluster  scalehist.Cluster
	provider CloudProvider
	settings config.Settings

	checker *fit.Checker
	state   *clusterState
	hints   *hints
	// expanders choose among the options of a scale-up.
	expanders *expander.Chain

	loops int
	// again is how many more loops come at once.
	again           int
	lastScaleUp     time.Time
	lastScaleUpFail time.Time
	exampleCache    map[string]*example
	listing         listing.Pods
	nodes           listing.Nodes
	// events is when an event was last written, unready the copies of nodes that only count as not ready.
	events  map[string]time.Time
	unready map[*corev1.Node]*corev1.Node
	// status is what the status ConfigMap says, transitions since when.
	status      *status.Cluster
	transitions map[string]transition
	// down is what scale-down remembers.
	down *downState
}

// loopsAfterAction is how many loops follow at once on one that scaled up or began to delete nodes: two, in every recorded run
// of upstream 1.36.1 (loop/trigger.go).
const loopsAfterAction = 2

// New makes an autoscaler that has not run a loop yet. It is an error when the settings are impossible, or the price
// expander has no prices.
func New(cluster scalehist.Cluster, provider CloudProvider, settings config.Settings) (*Autoscaler, error) {
	if err := settings.Check(); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	if err := expander.Check(settings.Expander, provider); err != nil {
		return nil, err
	}
	checker, err := fit.New()
	if err != nil {
		return nil, fmt.Errorf("fit checker: %w", err)
	}
	a := &Autoscaler{cluster: cluster, provider: provider, settings: settings, checker: checker, hints: newHints(),
		expanders: expander.New(&settings), exampleCache: map[string]*example{}, events: map[string]time.Time{}, transitions: map[string]transition{}}
	a.state = newClusterState(&a.settings)
	a.down = newDownState(&a.settings.Down)
	return a, nil
}

// Name implements scalehist.Autoscaler.
func (a *Autoscaler) Name() string { return "virtualca" }

// ScanInterval is the time between two loops when nothing asks for another one at once.
func (a *Autoscaler) ScanInterval() time.Duration { return a.settings.ScanInterval }

// MaxNodeProvisionTime is how long a node of a group may take from request to registration.
func (a *Autoscaler) MaxNodeProvisionTime(group string) time.Duration { return a.provisionTime(group) }

// Resume takes over a scale-up that an earlier autoscaler asked for at an instant and that still has delta nodes on the
// way, so that they count as upcoming: a real one that restarts forgets them, but a replay that begins in the middle of
// a recording stands in for one that did not restart there.
func (a *Autoscaler) Resume(at time.Time, group string, delta int) {
	a.state.register(group, delta, at, a.provisionTime(group))
}

// Settings are the settings it runs with.
func (a *Autoscaler) Settings() config.Settings { return a.settings }

// Utilization is the share of each node's resources that is asked for, by node name, of the nodes the last loop's
// scale-down looked at.
func (a *Autoscaler) Utilization() map[string]float64 { return maps.Clone(a.down.utilization) }
