package api

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/internal/decode"
	"github.com/scalehist/scalehist/recommender"
)

// ClientOptions are the settings of a Client. URL is needed.
type ClientOptions struct {
	// URL is where the API is: "http://127.0.0.1:8600", or "https://host/base". Its fragment is the strategy to ask for where
	// a request names none: "http://127.0.0.1:8600#optimal".
	URL string
	// CAFile holds PEM certificates of authorities to trust, instead of the system's. CertFile and KeyFile are the client's
	// own. TokenFile holds a bearer token in its first line, and is read again for each request.
	CAFile, CertFile, KeyFile, TokenFile string
	// Timeout bounds one try; default two minutes.
	Timeout time.Duration
	// Tries is how often a request is sent at most, when the server refuses the connection, or says 429 or 503; default 5.
	// No other answer is tried again.
	Tries int
	// Clock waits between tries; default the wall clock.
	Clock clock.Clock
}

// Client asks a server that answers the API, in whatever language it is. It is safe for concurrent use.
type Client struct {
	o        ClientOptions
	base     *url.URL
	strategy string
	http     *http.Client
}

var _ recommender.Recommender = (*Client)(nil)

// The defaults of ClientOptions.
const (
	DefaultClientTimeout = 2 * time.Minute
	DefaultTries         = 5
)

const (
	// maxAnswer bounds an answer in bytes, maxAnswerMemory what decoding it may allocate: a plan for 100,000 pods takes a tenth.
	maxAnswer       = 64 << 20
	maxAnswerMemory = 384 << 20
	// maxServerName bounds what a recommender calls itself, in bytes: every report has it.
	maxServerName = 200
)

// NewClient prepares a client. Nothing is sent yet.
func NewClient(o ClientOptions) (*Client, error) {
	u, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	c := &Client{o: o, strategy: u.Fragment}
	u.Fragment, u.RawQuery = "", ""
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), PathRecommend)
	c.base = u
	c.o.Timeout, c.o.Tries = cmp.Or(o.Timeout, DefaultClientTimeout), cmp.Or(o.Tries, DefaultTries)
	if c.o.Timeout < 0 || c.o.Tries < 0 {
		return nil, errors.New("recommender client: timeout and tries must not be negative")
	}
	if c.o.Clock == nil {
		c.o.Clock = clock.RealClock{}
	}
	config, err := o.tls()
	if err != nil {
		return nil, err
	}
	if u.Scheme == "http" && (o.CAFile != "" || o.CertFile != "" || o.KeyFile != "") {
		return nil, fmt.Errorf("recommender URL %q: certificates need https", o.URL)
	}
	c.http = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true,
		DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 8},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

// CheckURL says what is wrong with a URL of ClientOptions.
func CheckURL(text string) error {
	_, err := parseURL(text)
	return err
}

func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("recommender URL %q: want http://host:port or https://host:port, and #strategy after it for one that is not the default", text)
	}
	return u, nil
}

func (o *ClientOptions) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile != "" {
		data, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("recommender CA: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("recommender CA %s: no certificate in it: give a PEM file", o.CAFile)
		}
	}
	if (o.CertFile == "") != (o.KeyFile == "") {
		return nil, errors.New("recommender client certificate: give both certificate and key")
	}
	if o.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("recommender client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{cert}
	}
	return config, nil
}

// Strategy is the one of the URL, "" where it names none.
func (c *Client) Strategy() string { return c.strategy }

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Recommend implements recommender.Recommender. An answer that contradicts the request is an error, as is a problem, which
// is quoted.
func (c *Client) Recommend(ctx context.Context, r *recommender.Request) (*recommender.Recommendation, error) {
	q := FromRequest(r)
	q.Strategy = cmp.Or(q.Strategy, c.strategy)
	out, err := c.Ask(ctx, q)
	if err != nil {
		return nil, err
	}
	if err := settle(r, out.Recommendation); err != nil {
		return nil, fmt.Errorf("recommender at %s: %w", c.base.Redacted(), err)
	}
	return out.Recommendation, nil
}

// Ask sends a request and gives the whole answer, unchecked against the request.
func (c *Client) Ask(ctx context.Context, q *Request) (*Response, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("request to the recommender: %w", err)
	}
	data, err := c.call(ctx, http.MethodPost, PathRecommend, body)
	if err != nil {
		return nil, err
	}
	out := &Response{}
	if err := c.read(data, out); err != nil {
		return nil, err
	}
	if out.APIVersion != Version || out.Recommendation == nil {
		return nil, fmt.Errorf("recommender at %s: the answer has apiVersion %q: want %q, and a recommendation", c.base.Redacted(), out.APIVersion, Version)
	}
	return out, nil
}

// Strategies says what the server calls itself and can be asked for.
func (c *Client) Strategies(ctx context.Context) (*StrategyList, error) {
	data, err := c.call(ctx, http.MethodGet, PathStrategies, nil)
	if err != nil {
		return nil, err
	}
	out := &StrategyList{}
	if err := c.read(data, out); err != nil {
		return nil, err
	}
	if len(out.Name) > maxServerName {
		return nil, fmt.Errorf("recommender at %s: its name has %d bytes, more than %d", c.base.Redacted(), len(out.Name), maxServerName)
	}
	return out, nil
}

// read decodes an answer, which is counted before: it may be small where what it becomes is large.
func (c *Client) read(data []byte, into any) error {
	a := &allowance{maxElements: maxAnswer / bytesPerElement, maxMemory: maxAnswerMemory, memory: 2 * int64(len(data))}
	var large *RequestError
	if err := a.weigh(data, reflect.TypeOf(into).Elem(), "", false); errors.As(err, &large) {
		return fmt.Errorf("recommender at %s: the answer is refused: %s", c.base.Redacted(), large.Problem)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("recommender at %s: the answer does not follow %s: %s", c.base.Redacted(), PathOpenAPI, decode.Plain(err))
	}
	return nil
}

// settle fills in what an answer may leave out, and refuses what contradicts the request. Whether the answer is a good
// one is not judged here: an answer may grow a group past its max, and the provider refuses that.
func settle(r *recommender.Request, a *recommender.Recommendation) error {
	grown := map[string]bool{}
	for i := range a.ScaleUps {
		up, path := &a.ScaleUps[i], fmt.Sprintf("recommendation.scaleUps[%d]", i)
		at := slices.IndexFunc(r.NodeGroups, func(g recommender.NodeGroup) bool { return g.Name == up.NodeGroup })
		switch {
		case at < 0:
			return &RequestError{path + ".nodeGroup", fmt.Sprintf("there is no node group %q", up.NodeGroup), "name one of the request's"}
		case grown[up.NodeGroup]:
			return &RequestError{path + ".nodeGroup", fmt.Sprintf("node group %s grows twice", up.NodeGroup), "sum it up"}
		case up.Count <= 0:
			return &RequestError{path + ".count", fmt.Sprintf("%d", up.Count), "want the number of new nodes, 1 or more"}
		}
		grown[up.NodeGroup] = true
		g := &r.NodeGroups[at]
		if up.From == 0 && up.To == 0 {
			up.From, up.To = g.TargetSize, g.TargetSize+up.Count
		}
		if up.From != g.TargetSize || up.To != up.From+up.Count {
			return &RequestError{path, fmt.Sprintf("from %d to %d by %d, and the target size of %s is %d", up.From, up.To, up.Count, up.NodeGroup, g.TargetSize), "correct them, or leave out from and to"}
		}
		up.Zone, up.MachineType = cmp.Or(up.Zone, g.Zone), cmp.Or(up.MachineType, g.MachineType)
	}
	gone := map[string]bool{}
	for i := range a.ScaleDowns {
		d, path := &a.ScaleDowns[i], fmt.Sprintf("recommendation.scaleDowns[%d].node", i)
		if gone[d.Node] || !slices.ContainsFunc(r.Objects.Nodes, func(n *corev1.Node) bool { return n.Name == d.Node }) {
			return &RequestError{path, fmt.Sprintf("node %q goes twice, or is not among the objects", d.Node), "name nodes of the request, each once"}
		}
		gone[d.Node] = true
	}
	return nil
}
