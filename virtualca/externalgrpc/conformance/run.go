package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/scalehist/scalehist/virtualca/externalgrpc/wire"
)

// Outcome of a check.
type Outcome string

// The outcomes.
const (
	Honoured Outcome = "honoured"
	Broken   Outcome = "broken"
	// Absent: an optional method that the provider does not have, as it may.
	Absent Outcome = "absent"
	// Skipped: there is nothing to check it on, or it would change something and that was not asked for.
	Skipped Outcome = "skipped"
)

// Result is what became of a check. Text says what is wrong, or why there is no answer; empty where it is honoured.
type Result struct {
	Check   string  `json:"check"`
	Outcome Outcome `json:"outcome"`
	// Asks is what the contract asks for.
	Asks string `json:"asks"`
	Text string `json:"text,omitempty"`
}

// Options of a run.
type Options struct {
	// Change names a group that may grow by a node and shrink again; empty: nothing is changed.
	Change string
	// CallTime bounds each call; zero is 5 s, as the autoscaler's.
	CallTime time.Duration
	// Callers is how many call at once; zero is 64.
	Callers int
}

// Run runs all checks over a connection, in a fixed order. It is an error only when nobody answers.
func Run(ctx context.Context, conn grpc.ClientConnInterface, o Options) ([]Result, error) {
	if o.CallTime == 0 {
		o.CallTime = 5 * time.Second
	}
	if o.Callers == 0 {
		o.Callers = 64
	}
	r := &run{Options: o, conn: conn, client: wire.NewCloudProviderClient(conn)}
	if err := r.look(ctx); err != nil {
		return nil, err
	}
	var out []Result
	for _, c := range checks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out = append(out, r.one(ctx, c))
	}
	return out, nil
}

// run is one run: the provider, and what it said of its groups at the start.
type run struct {
	Options
	conn   grpc.ClientConnInterface
	client wire.CloudProviderClient
	groups []*wire.NodeGroup
}

// check is a demand of the contract. It returns nil if it is honoured.
type check struct {
	name, asks string
	// changes: it may only run where something may be changed.
	changes bool
	run     func(ctx context.Context, r *run) error
}

// verdict is an error that is no fault.
type verdict struct {
	outcome Outcome
	text    string
}

func (v *verdict) Error() string { return v.text }

func skip(format string, args ...any) error {
	return &verdict{Skipped, fmt.Sprintf(format, args...)}
}

func (r *run) one(ctx context.Context, c check) Result {
	out := Result{Check: c.name, Asks: c.asks, Outcome: Honoured}
	if c.changes && r.Change == "" {
		out.Outcome, out.Text = Skipped, "it changes something: name a group that may grow (--change)"
		return out
	}
	err := c.run(ctx, r)
	if err == nil {
		return out
	}
	out.Outcome, out.Text = Broken, err.Error()
	if v, ok := err.(*verdict); ok { //nolint:errorlint // a verdict is never wrapped
		out.Outcome = v.outcome
	}
	return out
}

// look asks for the groups.
func (r *run) look(ctx context.Context) error {
	resp, err := call(ctx, r, r.client.NodeGroups, &wire.NodeGroupsRequest{})
	if err != nil && slices.Contains([]codes.Code{codes.Unavailable, codes.DeadlineExceeded}, status.Code(err)) {
		return fmt.Errorf("no provider answers: %w", err)
	}
	r.groups = resp.GetNodeGroups()
	return nil // what is wrong with the answer is a check's to say
}

// call makes a call within the time for it.
func call[Q, A any](ctx context.Context, r *run, method func(context.Context, *Q, ...grpc.CallOption) (*A, error), req *Q) (*A, error) {
	ctx, cancel := context.WithTimeout(ctx, r.CallTime)
	defer cancel()
	return method(ctx, req)
}

// refused checks that a call was refused with one of some codes.
func refused(err error, what string, want ...codes.Code) error {
	if err == nil {
		return fmt.Errorf("%s was answered without an error: want %s", what, codeNames(want))
	}
	if got := status.Code(err); !slices.Contains(want, got) {
		return fmt.Errorf("%s was refused with %s (%s): want %s", what, got, status.Convert(err).Message(), codeNames(want))
	}
	return nil
}

func codeNames(list []codes.Code) string {
	var out []string
	for _, c := range list {
		out = append(out, c.String())
	}
	return strings.Join(out, " or ")
}

// optional turns Unimplemented into a verdict.
func optional(err error, without string) error {
	if status.Code(err) == codes.Unimplemented {
		return &verdict{Absent, "not implemented: " + without}
	}
	return err
}

// size is the target size of a group.
func (r *run) size(ctx context.Context, group string) (int32, error) {
	resp, err := call(ctx, r, r.client.NodeGroupTargetSize, &wire.NodeGroupTargetSizeRequest{Id: group})
	if err != nil {
		return 0, fmt.Errorf("target size of %s: %w", group, err)
	}
	return resp.GetTargetSize(), nil
}

// instances are the machines of a group.
func (r *run) instances(ctx context.Context, group string) ([]*wire.Instance, error) {
	resp, err := call(ctx, r, r.client.NodeGroupNodes, &wire.NodeGroupNodesRequest{Id: group})
	if err != nil {
		return nil, fmt.Errorf("nodes of %s: %w", group, err)
	}
	return resp.GetInstances(), nil
}

// unchanged runs f, which must leave the target size of the group as it is.
func (r *run) unchanged(ctx context.Context, group string, f func() error) error {
	before, err := r.size(ctx, group)
	if err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	after, err := r.size(ctx, group)
	if err == nil && after != before {
		err = fmt.Errorf("the refused call changed the target size of %s from %d to %d", group, before, after)
	}
	return err
}

// any is a group to ask about.
func (r *run) any() (*wire.NodeGroup, error) {
	if len(r.groups) == 0 {
		return nil, skip("there are no node groups")
	}
	return r.groups[0], nil
}

// changeable is the group that may be changed.
func (r *run) changeable() (*wire.NodeGroup, error) {
	i := slices.IndexFunc(r.groups, func(g *wire.NodeGroup) bool { return g.GetId() == r.Change })
	if i < 0 {
		return nil, fmt.Errorf("there is no node group %q to change", r.Change)
	}
	return r.groups[i], nil
}
