package externalgrpc

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Errors a provider wraps; each is one gRPC status code. Any other error is Unknown, an ended context Canceled or
// DeadlineExceeded.
var (
	// ErrNotFound: there is no such group, node or instance (NotFound).
	ErrNotFound = errors.New("not found")
	// ErrInvalid: the request makes no sense at any time (InvalidArgument).
	ErrInvalid = errors.New("invalid argument")
	// ErrExhausted: a bound, a quota or the capacity is reached (ResourceExhausted).
	ErrExhausted = errors.New("resource exhausted")
	// ErrPrecondition: not in the state the group or node is in (FailedPrecondition).
	ErrPrecondition = errors.New("failed precondition")
	// ErrUnavailable: the provider does not answer now; worth another try (Unavailable).
	ErrUnavailable = errors.New("unavailable")
	// ErrUnimplemented: an optional answer that this provider does not have (Unimplemented).
	ErrUnimplemented = errors.New("unimplemented")
)

// NodeGroup is a group and its bounds, in nodes.
type NodeGroup struct {
	ID               string
	MinSize, MaxSize int
	// Debug is shown in the autoscaler's log.
	Debug string
}

// Node is what the autoscaler says of a node. A node that never joined has its instance id as name and provider id.
type Node struct {
	ProviderID, Name    string
	Labels, Annotations map[string]string
}

// State of an instance. The numbers are the wire's.
type State int32

// States of an instance.
const (
	Running  State = 1
	Creating State = 2
	Deleting State = 3
)

// ErrorClass says why an instance could not be created. The numbers are the wire's.
type ErrorClass int32

// Classes of instance errors.
const (
	OutOfResources ErrorClass = 1
	OtherError     ErrorClass = 99
)

// Instance is a machine of a group, from the request for it on.
type Instance struct {
	// ID is the spec.providerID of its node.
	ID    string
	State State
	// Error is set when creating it failed; the autoscaler then deletes the instance and backs the group off.
	Error *InstanceError
}

// InstanceError is why an instance could not be created. Code must not be empty.
type InstanceError struct {
	Code, Message string
	Class         ErrorClass
}

// Groups says which node groups there are and which nodes belong to them.
type Groups interface {
	NodeGroups(ctx context.Context) ([]NodeGroup, error)
	// NodeGroupForNode is the group of a node; the zero group when it belongs to none.
	NodeGroupForNode(ctx context.Context, n Node) (NodeGroup, error)
}

// Sizes reads and sets target sizes. Deltas are positive.
type Sizes interface {
	TargetSize(ctx context.Context, group string) (int, error)
	// IncreaseSize returns once TargetSize shows it. More than the group's maximum is ErrExhausted.
	IncreaseSize(ctx context.Context, group string, delta int) error
	// DecreaseTargetSize takes back requests; it is ErrPrecondition when nodes would have to go for it.
	DecreaseTargetSize(ctx context.Context, group string, delta int) error
}

// Instances lists and deletes the machines of a group.
type Instances interface {
	Instances(ctx context.Context, group string) ([]Instance, error)
	// DeleteNodes deletes nodes, or none: one that is not in the group is ErrPrecondition.
	DeleteNodes(ctx context.Context, group string, nodes []Node) error
}

// Provider is what a Server serves. It may also be Templates, Pricer, Optioner, GPUs and Loops. All of it is called by many
// goroutines at once.
type Provider interface {
	Groups
	Sizes
	Instances
}

// Templates says what a new node of a group looks like. Without it no group scales from zero.
type Templates interface {
	Template(ctx context.Context, group string) (*corev1.Node, error)
}

// Pricer prices nodes and pods over a period.
type Pricer interface {
	NodePrice(ctx context.Context, n Node, from, to time.Time) (float64, error)
	PodPrice(ctx context.Context, p *corev1.Pod, from, to time.Time) (float64, error)
}

// Options are the autoscaling options that a group may override.
type Options struct {
	ScaleDownUtilizationThreshold, ScaleDownGPUUtilizationThreshold   float64
	ScaleDownUnneededTime, ScaleDownUnreadyTime, MaxNodeProvisionTime time.Duration
	ZeroOrMaxNodeScaling, IgnoreDaemonSetsUtilization                 bool
}

// Optioner overrides options of a group. It gets the autoscaler's own and returns all of them; nil leaves them as they are.
// An autoscaler that gets an answer at all takes a maximum startup time of zero: nodes that are not ready are unready
// at once. Return nil or ErrUnimplemented where nothing is overridden.
type Optioner interface {
	GroupOptions(ctx context.Context, group string, defaults Options) (*Options, error)
}

// GPUs names the label of nodes with GPUs, and the values it may have.
type GPUs interface {
	GPULabel(ctx context.Context) (string, error)
	GPUTypes(ctx context.Context) ([]string, error)
}

// Loops hears of the autoscaler's loops: Refresh comes once at the beginning of each, Cleanup when it exits.
type Loops interface {
	Refresh(ctx context.Context) error
	Cleanup(ctx context.Context) error
}
