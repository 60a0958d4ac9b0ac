package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/scalehist/scalehist/internal/restapi"
)

// Client calls a discovery server.
type Client struct{ API restapi.Client }

func (c *Client) call(ctx context.Context, method, path string, body, into any) error {
	r, err := c.API.Request(ctx, method, path, body)
	if err == nil {
		err = c.API.Do(r, into)
	}
	var p *restapi.ProblemError
	if errors.As(err, &p) {
		switch p.Problem.Status {
		case http.StatusNotFound:
			err = fmt.Errorf("%w: %w", ErrUnknown, err)
		case http.StatusUnprocessableEntity:
			err = fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	if err != nil {
		return fmt.Errorf("discovery: %w", err)
	}
	return nil
}

func of(name string) string { return PathClusters + "/" + url.PathEscape(name) }

// Clusters lists the clusters that share capacity, by name.
func (c *Client) Clusters(ctx context.Context) ([]Cluster, error) {
	var list ClusterList
	err := c.call(ctx, http.MethodGet, PathClusters, nil, &list)
	return list.Clusters, err
}

// Put registers or updates a cluster.
func (c *Client) Put(ctx context.Context, in Registration) (out Cluster, err error) {
	err = c.call(ctx, http.MethodPut, of(in.Name), in, &out)
	return out, err
}

// Heartbeat is a sign of life.
func (c *Client) Heartbeat(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodPost, of(name)+"/heartbeat", nil, nil)
}

// Remove takes a cluster out of the list.
func (c *Client) Remove(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, of(name), nil, nil)
}

// Kubeconfig is how a cluster is reached.
func (c *Client) Kubeconfig(ctx context.Context, name string) (string, error) {
	var k Kubeconfig
	err := c.call(ctx, http.MethodGet, of(name)+"/kubeconfig", nil, &k)
	return k.Kubeconfig, err
}

// Watch calls f with each event until ctx ends, f fails or the server ends the watch, which is nil.
func (c *Client) Watch(ctx context.Context, f func(Event) error) error {
	r, err := c.API.Request(ctx, http.MethodGet, PathClusters+"?watch=true", nil)
	if err != nil {
		return fmt.Errorf("discovery: %w", err)
	}
	response, err := c.API.HTTP.Do(r)
	if err != nil {
		return fmt.Errorf("discovery: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("discovery: watch: %s", response.Status)
	}
	for lines := json.NewDecoder(response.Body); ; {
		var e Event
		switch err := lines.Decode(&e); {
		case errors.Is(err, io.EOF) || ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("discovery: watch: %w", err)
		}
		if err := f(e); err != nil {
			return err
		}
	}
}
