package elasti

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"k8s.io/utils/clock"
)

const (
	// QueryTimeout bounds one query.
	QueryTimeout = 5 * time.Second
	// maxAnswer bounds what is read of an answer, in bytes: one value is far smaller.
	maxAnswer = 1 << 20
)

// Names of environment variables that are KubeElasti's, for those who come from it.
const (
	EnvServer        = "PROMETHEUS_TRIGGER_SERVER_ADDRESS"
	EnvAuthorization = "PROMETHEUS_TRIGGER_AUTHORIZATION_HEADER"
	EnvAllowed       = "PROMETHEUS_TRIGGER_ALLOWED_SERVER_ADDRESSES"
)

// Servers says which Prometheus is asked, and how.
type Servers struct {
	// Default is asked by triggers that name none.
	Default string
	// Authorization is sent to Default, and to nobody else: anyone who may write an ElastiService chooses the address, and would get it.
	Authorization string
	// Allowed are the hosts (HOST or HOST:PORT) that triggers may name; any where it is empty. Default always is.
	Allowed []string
	// Client sends the requests; NewClient's where it is nil.
	Client *http.Client
}

// ServersFromEnv are the servers that the environment names.
func ServersFromEnv(env func(string) string) Servers {
	s := Servers{Default: env(EnvServer), Authorization: env(EnvAuthorization)}
	for a := range strings.SplitSeq(env(EnvAllowed), ",") {
		if a = strings.TrimSpace(a); a != "" {
			s.Allowed = append(s.Allowed, a)
		}
	}
	return s
}

// Factory makes scalers that ask the servers by HTTP, at the instants of a clock.
func (s Servers) Factory(c clock.PassiveClock) Factory {
	client := s.Client
	if client == nil {
		client = NewClient(len(s.Allowed) > 0)
	}
	return func(metadata json.RawMessage, cooldown time.Duration) (Scaler, error) {
		m, err := ParsePrometheusMetadata(metadata)
		if err != nil {
			return nil, err
		}
		asker, err := s.asker(m, client)
		if err != nil {
			return nil, err
		}
		return NewPrometheus(m, cooldown, asker, c), nil
	}
}

// asker checks the address of a trigger.
func (s Servers) asker(m PrometheusMetadata, client *http.Client) (*httpAsker, error) {
	address := m.ServerAddress
	if address == "" {
		address = s.Default
	}
	if address == "" {
		return nil, fmt.Errorf("metadata: serverAddress is not set, and there is no default (%s)", EnvServer)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("metadata: serverAddress: want http://HOST or https://HOST")
	}
	if address != s.Default && len(s.Allowed) > 0 && !slices.Contains(s.Allowed, u.Host) && !slices.Contains(s.Allowed, u.Hostname()) {
		return nil, fmt.Errorf("metadata: serverAddress: %s is not among the allowed ones", u.Host)
	}
	a := &httpAsker{api: u.JoinPath("api", "v1", "query"), header: http.Header{}, client: client}
	if s.Authorization != "" && address == s.Default {
		a.header.Set("Authorization", s.Authorization)
	}
	for k, v := range m.Headers {
		a.header.Set(k, v)
	}
	return a, nil
}

// NewClient is a client for addresses that others choose: it follows no redirects, takes no proxy from the environment, and, unless the hosts
// are listed, connects to no address of this machine or this link, where metadata services of clouds are.
func NewClient(listed bool) *http.Client {
	dialer := &net.Dialer{Timeout: QueryTimeout}
	if !listed {
		dialer.Control = guard
	}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("it redirects, which no Prometheus does")
		},
	}
}

// httpAsker asks the query API of one server. It sends GET, as KubeElasti does, and not what the client library of Prometheus sends first,
// POST: who may only read through a proxy, such as that of an API server, may not POST.
type httpAsker struct {
	api    *url.URL
	header http.Header
	client *http.Client
}

// Ask implements Asker.
func (a *httpAsker) Ask(ctx context.Context, query string, at time.Time) ([]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, QueryTimeout)
	defer cancel()
	u := *a.api
	u.RawQuery = url.Values{"query": {query}, "time": {at.UTC().Format(time.RFC3339)}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header = a.header.Clone()
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, a.failed(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, a.failed(err)
	}
	return a.values(resp, body)
}

// failed is an error of the way to the server, without its address, in which a password may be.
func (a *httpAsker) failed(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var network net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout() {
		return &AskError{ReasonTimeout, fmt.Errorf("Prometheus at %s did not answer within %s: %w", a.api.Host, QueryTimeout, err)}
	}
	return &AskError{ReasonUnreachable, fmt.Errorf("Prometheus at %s: %w", a.api.Host, err)}
}

// answer is what the query API says: https://prometheus.io/docs/prometheus/latest/querying/api/.
type answer struct {
	Status string `json:"status"`
	Type   string `json:"errorType"`
	Error  string `json:"error"`
	Data   struct {
		ResultType model.ValueType `json:"resultType"`
		Result     json.RawMessage `json:"result"`
	} `json:"data"`
}

func (a *httpAsker) values(resp *http.Response, body []byte) ([]float64, error) {
	var said answer
	err := json.Unmarshal(body, &said)
	fails := func(reason, format string, args ...any) error {
		return &AskError{reason, fmt.Errorf("Prometheus at %s: "+format, append([]any{a.api.Host}, args...)...)}
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return nil, fails(ReasonDenied, "%s: give headers in the trigger, or %s", resp.Status, EnvAuthorization)
	case said.Error != "":
		return nil, fails(ReasonFailed, "%s: %s: %s", resp.Status, said.Type, said.Error)
	case resp.StatusCode/100 != 2:
		return nil, fails(ReasonFailed, "%s", resp.Status)
	case len(body) > maxAnswer:
		return nil, fails(ReasonFailed, "its answer has more than %d bytes: the query has too many series", maxAnswer)
	case err != nil || said.Status != "success":
		return nil, fails(ReasonFailed, "its answer is not one of Prometheus (%s): is the address right?", resp.Header.Get("Content-Type"))
	}
	switch said.Data.ResultType {
	case model.ValVector:
		var vector model.Vector
		if err := json.Unmarshal(said.Data.Result, &vector); err != nil {
			return nil, fails(ReasonFailed, "its answer cannot be read: %w", err)
		}
		var out []float64
		for _, s := range vector {
			out = append(out, float64(s.Value))
		}
		return out, nil
	case model.ValScalar:
		var scalar model.Scalar
		if err := json.Unmarshal(said.Data.Result, &scalar); err != nil {
			return nil, fails(ReasonFailed, "its answer cannot be read: %w", err)
		}
		return []float64{float64(scalar.Value)}, nil
	case model.ValNone, model.ValMatrix, model.ValString:
	}
	return nil, fails(ReasonFailed, "the query gives a %s, want an instant vector or a scalar", said.Data.ResultType)
}
