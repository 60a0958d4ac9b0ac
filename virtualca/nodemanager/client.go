package nodemanager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
)

// Client is a provider whose node groups a node manager has. While nobody answers it asks again, with the same key, until the caller's deadline or
// Patience: a node manager that is restarted is slow, and nothing else.
type Client struct {
	API   restapi.Client
	Clock clock.Clock
	// Patience bounds how long nobody may answer; 0 is 20 s.
	Patience time.Duration
}

var (
	_ externalgrpc.Provider  = (*Client)(nil)
	_ externalgrpc.Templates = (*Client)(nil)
	_ externalgrpc.Pricer    = (*Client)(nil)
	_ externalgrpc.Optioner  = (*Client)(nil)
	_ externalgrpc.GPUs      = (*Client)(nil)
	_ externalgrpc.Loops     = (*Client)(nil)
)

const (
	defaultPatience       = 20 * time.Second
	firstWait, longestGap = 50 * time.Millisecond, time.Second
)

// call asks until somebody answers.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, body, into any) error {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	key := restapi.NewID() + restapi.NewID()
	patience := c.Patience
	if patience == 0 {
		patience = defaultPatience
	}
	start := c.Clock.Now()
	for wait := firstWait; ; wait = min(2*wait, longestGap) {
		r, err := c.API.Request(ctx, method, path, body)
		if err != nil {
			return fmt.Errorf("node manager: %w", err)
		}
		r.Header.Set(KeyHeader, key)
		err = c.API.Do(r, into)
		var answered *restapi.ProblemError
		if err == nil {
			return nil
		}
		if errors.As(err, &answered) {
			return fmt.Errorf("node manager: %w", fromProblem(err))
		}
		if ctx.Err() != nil || c.Clock.Since(start)+wait > patience {
			return fmt.Errorf("node manager: %w: %w", externalgrpc.ErrUnavailable, err)
		}
		timer := c.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C():
		}
		timer.Stop()
	}
}

func (c *Client) get(ctx context.Context, path string, query url.Values, into any) error {
	return c.call(ctx, http.MethodGet, path, query, nil, into)
}

func byID(id string) url.Values { return url.Values{"id": {id}} }

// NodeGroups implements externalgrpc.Groups.
func (c *Client) NodeGroups(ctx context.Context) (out []externalgrpc.NodeGroup, err error) {
	var list []NodeGroup
	err = c.get(ctx, "/nodegroup", nil, &list)
	for _, g := range list {
		out = append(out, groupFromWire(g))
	}
	return out, err
}

// NodeGroupForNode implements externalgrpc.Groups.
func (c *Client) NodeGroupForNode(ctx context.Context, n externalgrpc.Node) (externalgrpc.NodeGroup, error) {
	var g NodeGroup
	err := c.call(ctx, http.MethodPost, "/nodegroup/ownership", nil, nodeToWire(n), &g)
	return groupFromWire(g), err
}

// TargetSize implements externalgrpc.Sizes.
func (c *Client) TargetSize(ctx context.Context, id string) (int, error) {
	var s Size
	err := c.get(ctx, "/nodegroup/current-size", byID(id), &s)
	return s.TargetSize, err
}

func (c *Client) resize(ctx context.Context, path, id string, delta int) error {
	return c.call(ctx, http.MethodPost, path, url.Values{"id": {id}, "count": {strconv.Itoa(delta)}}, nil, &Done{})
}

// IncreaseSize implements externalgrpc.Sizes.
func (c *Client) IncreaseSize(ctx context.Context, id string, delta int) error {
	return c.resize(ctx, "/nodegroup/scaleup", id, delta)
}

// DecreaseTargetSize implements externalgrpc.Sizes.
func (c *Client) DecreaseTargetSize(ctx context.Context, id string, delta int) error {
	return c.resize(ctx, "/nodegroup/decrease", id, delta)
}

// Instances implements externalgrpc.Instances.
func (c *Client) Instances(ctx context.Context, id string) (out []externalgrpc.Instance, err error) {
	var list []Instance
	err = c.get(ctx, "/nodegroup/nodes", byID(id), &list)
	for _, i := range list {
		out = append(out, instanceFromWire(i))
	}
	return out, err
}

// DeleteNodes implements externalgrpc.Instances.
func (c *Client) DeleteNodes(ctx context.Context, id string, nodes []externalgrpc.Node) error {
	var in Nodes
	for _, n := range nodes {
		in.Nodes = append(in.Nodes, nodeToWire(n))
	}
	return c.call(ctx, http.MethodPost, "/nodegroup/scaledown", url.Values{"nodegroupid": {id}}, in, &Done{})
}

// Template implements externalgrpc.Templates.
func (c *Client) Template(ctx context.Context, id string) (*corev1.Node, error) {
	var t Template
	if err := c.get(ctx, "/nodegroup/template", byID(id), &t); err != nil {
		return nil, err
	}
	return &t.Node, nil
}

// NodePrice implements externalgrpc.Pricer.
func (c *Client) NodePrice(ctx context.Context, n externalgrpc.Node, from, to time.Time) (float64, error) {
	var p Price
	err := c.call(ctx, http.MethodPost, "/nodegroup/nodeprice", nil, NodePrice{Node: nodeToWire(n), From: from, To: to}, &p)
	return p.Price, err
}

// PodPrice implements externalgrpc.Pricer.
func (c *Client) PodPrice(ctx context.Context, pod *corev1.Pod, from, to time.Time) (float64, error) {
	var p Price
	err := c.call(ctx, http.MethodPost, "/nodegroup/podprice", nil, PodPrice{Pod: *pod, From: from, To: to}, &p)
	return p.Price, err
}

// GroupOptions implements externalgrpc.Optioner.
func (c *Client) GroupOptions(ctx context.Context, id string, defaults externalgrpc.Options) (*externalgrpc.Options, error) {
	var o GroupOptions
	if err := c.call(ctx, http.MethodPost, "/nodegroup/options", byID(id), optionsToWire(defaults), &o); err != nil || o.Options == nil {
		return nil, err
	}
	out := optionsFromWire(*o.Options)
	return &out, nil
}

// GPULabel implements externalgrpc.GPUs.
func (c *Client) GPULabel(ctx context.Context) (string, error) {
	var l GPULabel
	err := c.get(ctx, "/gpu/label", nil, &l)
	return l.Label, err
}

// GPUTypes implements externalgrpc.GPUs.
func (c *Client) GPUTypes(ctx context.Context) (types []string, err error) {
	err = c.get(ctx, "/gpu/types", nil, &types)
	return types, err
}

// Refresh implements externalgrpc.Loops.
func (c *Client) Refresh(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "/refresh", nil, nil, &Done{})
}

// Cleanup implements externalgrpc.Loops.
func (c *Client) Cleanup(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "/cleanup", nil, nil, &Done{})
}
