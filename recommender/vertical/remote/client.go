package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/scalehist/scalehist/internal/restapi"
)

// ErrSilent is what errors.Is finds where nobody answers.
var ErrSilent = errors.New("no answer")

// maxAnswer bounds an answer, in bytes: a workload has a hundred containers at most.
const maxAnswer = 4 << 20

// Client asks a server. It is safe for concurrent use.
type Client struct {
	api     restapi.Client
	timeout time.Duration
}

// NewClient prepares a client of a server at an address, http or https, whose requests end within timeout; it sends nothing yet. A token is sent
// where it is not empty.
func NewClient(address, token string, timeout time.Duration) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("address %q: want http://host:port or https://host:port", address)
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 32, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true}
	return &Client{timeout: timeout, api: restapi.Client{Base: strings.TrimSuffix(u.String(), "/"), Token: token, MaxAnswer: maxAnswer,
		HTTP: &http.Client{Transport: transport, Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}}, nil
}

// Make has a server keep a workload, and returns its id.
func (c *Client) Make(ctx context.Context, w Workload) (string, error) {
	var out Made
	err := c.do(ctx, http.MethodPost, PathWorkloads, w, &out)
	if err == nil && out.ID == "" {
		err = c.Wrong("the answer has no id")
	}
	return out.ID, err
}

// Follow changes the policies of a workload, and keeps what was observed.
func (c *Client) Follow(ctx context.Context, id string, w Workload) error {
	return c.do(ctx, http.MethodPut, path(id, ""), w, nil)
}

// Observe hands over observations, at most MaxObserved.
func (c *Client) Observe(ctx context.Context, id string, list []Observation) (*Taken, error) {
	out := &Taken{}
	return out, c.do(ctx, http.MethodPost, path(id, "/observe"), Observed{list}, out)
}

// Recommend hands over observations, at most MaxObserved, and asks what is recommended at an instant.
func (c *Client) Recommend(ctx context.Context, id string, list []Observation, now time.Time) (*Answer, error) {
	out := &Answer{}
	return out, c.do(ctx, http.MethodPost, path(id, "/recommend"), Question{list, now}, out)
}

// Reset has a server forget what was observed.
func (c *Client) Reset(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodPost, path(id, "/reset"), nil, nil)
}

// Save is what was learned by an instant; Load replaces what was learned.
func (c *Client) Save(ctx context.Context, id string, now time.Time) ([]byte, error) {
	var out State
	err := c.do(ctx, http.MethodGet, path(id, "/state?now="+url.QueryEscape(now.UTC().Format(time.RFC3339Nano))), nil, &out)
	return out.State, err
}

// Load implements what Save says.
func (c *Client) Load(ctx context.Context, id string, state []byte) error {
	return c.do(ctx, http.MethodPut, path(id, "/state"), State{state}, nil)
}

// Remove has a server forget a workload.
func (c *Client) Remove(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, path(id, ""), nil, nil)
}

// Gone says whether a server answered that it does not know a workload: it may have been started again.
func Gone(err error) bool {
	var problem *restapi.ProblemError
	return errors.As(err, &problem) && problem.Problem.Status == http.StatusNotFound
}

func path(id, rest string) string { return PathWorkloads + "/" + url.PathEscape(id) + rest }

// do sends a request and reads its answer. The error names the server, and says what to do where it does not answer.
func (c *Client) do(ctx context.Context, method, path string, body, into any) error {
	r, err := c.api.Request(ctx, method, path, body)
	if err == nil {
		err = c.api.Do(r, into)
	}
	if err == nil || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	var slow net.Error
	var dial *net.OpError
	switch {
	case errors.As(err, &slow) && slow.Timeout():
		return c.Wrong("%w within %s: give it longer with the option timeout", ErrSilent, c.timeout)
	case errors.As(err, &dial) && dial.Op == "dial":
		return c.Wrong("%w: %w: start it, or correct the address", ErrSilent, dial)
	}
	return c.Wrong("%w", err)
}

// Wrong is an error of what the server did.
func (c *Client) Wrong(format string, args ...any) error {
	return fmt.Errorf("recommender at %s: %w", c.api.Base, fmt.Errorf(format, args...))
}
