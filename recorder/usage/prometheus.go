package usage

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/scalehist/scalehist/recorder/history"
)

// Prometheus says what to ask and how to reach it: a Prometheus, or whatever has its query API (Thanos, Mimir, a proxy).
type Prometheus struct {
	// URL of the API without /api/v1: "https://prometheus.example:9090".
	URL string
	// TokenFile has a bearer token; it is read for every request, so that it may be renewed.
	TokenFile string
	// CAFile has the certificates to trust instead of the system's; CertFile and KeyFile are a client's.
	CAFile, CertFile, KeyFile string
	// Queries to record.
	Queries []Query
}

// Check says what is wrong with p, nil if nothing is.
func (p *Prometheus) Check() error {
	u, err := url.Parse(p.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("Prometheus %q: want http://HOST or https://HOST", redacted(p.URL))
	}
	if (p.CertFile == "") != (p.KeyFile == "") {
		return errors.New("Prometheus: a client's certificate and its key: give both or none")
	}
	if len(p.Queries) == 0 {
		return errors.New("Prometheus: no queries")
	}
	return check(p.Queries)
}

// redacted leaves out a password.
func redacted(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "URL"
	}
	return u.Redacted()
}

// Client asks a Prometheus.
type Client struct{ api v1.API }

// NewClient prepares to ask p. It talks to nobody yet.
func NewClient(p Prometheus) (*Client, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if p.CAFile != "" || p.CertFile != "" {
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if p.CAFile != "" {
		pem, err := os.ReadFile(p.CAFile)
		if err != nil {
			return nil, fmt.Errorf("Prometheus: certificates to trust: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("Prometheus: %s has no PEM certificate", p.CAFile)
		}
		transport.TLSClientConfig.RootCAs = pool
	}
	if p.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(p.CertFile, p.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("Prometheus: client certificate: %w", err)
		}
		transport.TLSClientConfig.Certificates = []tls.Certificate{cert}
	}
	var rt http.RoundTripper = transport
	if p.TokenFile != "" {
		if _, err := os.ReadFile(p.TokenFile); err != nil {
			return nil, fmt.Errorf("Prometheus: token: %w", err)
		}
		rt = &bearer{file: p.TokenFile, next: transport}
	}
	c, err := api.NewClient(api.Config{Address: p.URL, RoundTripper: rt})
	if err != nil {
		return nil, fmt.Errorf("Prometheus %s: %w", redacted(p.URL), err)
	}
	return &Client{api: v1.NewAPI(c)}, nil
}

// bearer sends the token in a file.
type bearer struct {
	file string
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := os.ReadFile(b.file)
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	return b.next.RoundTrip(r)
}

// timeout bounds one request; a Prometheus gives up on a query after two minutes (--query.timeout).
const timeout = 2*time.Minute + 10*time.Second

// Range gives the values of a query at every instant of a window, by series and time; of a series all its samples from a step before the first on. NaN and infinities are values too: that a
// query has no number to give decides what an autoscaler does with it. Native histograms are left out.
func (c *Client) Range(ctx context.Context, q Query, w Window) ([]history.Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var value model.Value
	var err error
	if q.Series {
		// A range reaches from after its start to its instant: windows follow each other without a doubled sample.
		text := fmt.Sprintf("%s[%ds]", q.Query, int64((w.Last.Sub(w.First)+q.Step)/time.Second))
		value, _, err = c.api.Query(ctx, text, w.Last)
	} else {
		value, _, err = c.api.QueryRange(ctx, q.Query, v1.Range{Start: w.First, End: w.Last, Step: q.Step})
	}
	if err != nil {
		return nil, fmt.Errorf("query %s: %w", q.Name, withoutQuery(err))
	}
	matrix, ok := value.(model.Matrix)
	if !ok {
		return nil, fmt.Errorf("query %s: the answer is a %s, want a matrix", q.Name, value.Type())
	}
	var out []history.Sample
	for _, s := range matrix {
		labels := make(map[string]string, len(s.Metric))
		for k, v := range s.Metric {
			labels[string(k)] = string(v)
		}
		for _, v := range s.Values {
			out = append(out, history.Sample{Series: q.Name, Labels: labels, At: v.Timestamp.Time().UTC(), Value: float64(v.Value)})
		}
	}
	return out, nil
}

// withoutQuery leaves out the address with its query that a failed request names.
func withoutQuery(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
