package promserve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/scalehist/scalehist/internal/httphost"
	"github.com/scalehist/scalehist/internal/httproute"
)

// maxBody is the most that a request with a form may have.
const maxBody = 1 << 20

// answer is the envelope of https://prometheus.io/docs/prometheus/latest/querying/api/#format-overview.
type answer struct {
	Status    string   `json:"status"`
	Data      any      `json:"data,omitempty"`
	ErrorType string   `json:"errorType,omitempty"`
	Error     string   `json:"error,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
	Infos     []string `json:"infos,omitempty"`
}

// parameterError is a parameter that cannot be read.
type parameterError struct {
	name string
	err  error
}

func (e *parameterError) Error() string {
	return fmt.Sprintf("invalid parameter %q: %v", e.name, e.err)
}

func badData(parameter string, err error) error { return &parameterError{parameter, err} }

// Handler serves the API.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	serve := func(path string, methods []string, f func(*http.Request) (any, annotations.Annotations, error)) {
		for _, m := range methods {
			mux.HandleFunc(m+" "+path, func(w http.ResponseWriter, r *http.Request) {
				r.Body = http.MaxBytesReader(w, r.Body, maxBody)
				if err := r.ParseForm(); err != nil {
					fail(w, badData("form", err))
					return
				}
				data, notes, err := f(r)
				if err != nil {
					fail(w, err)
					return
				}
				a := answer{Status: "success", Data: data}
				a.Warnings, a.Infos = notes.AsStrings(r.FormValue("query"), 10, 10)
				write(w, http.StatusOK, a)
			})
		}
	}
	both, get := []string{http.MethodGet, http.MethodPost}, []string{http.MethodGet}
	serve("/api/v1/query", both, s.query)
	serve("/api/v1/query_range", both, s.queryRange)
	serve("/api/v1/series", both, s.series)
	serve("/api/v1/labels", both, s.labelNames)
	serve("/api/v1/label/{name}/values", get, s.labelValues)
	serve("/api/v1/metadata", get, s.metadata)
	for _, path := range []string{"/-/healthy", "/-/ready"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "scalehist serves a recording.") })
	}
	routed := httproute.Refuse(mux, func(w http.ResponseWriter, r *http.Request, code int) {
		a := answer{Status: "error", ErrorType: "not_found", Error: r.URL.Path + " is not served: a recording answers query, query_range, series, labels, label values and metadata"}
		if code == http.StatusMethodNotAllowed {
			a.ErrorType, a.Error = "bad_data", r.Method+" is not served at "+r.URL.Path+": use "+w.Header().Get("Allow")
		}
		write(w, code, a)
	})
	names := httphost.Names{LocalOnly: true}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := names.Check(r); err != nil {
			write(w, http.StatusForbidden, answer{Status: "error", ErrorType: "forbidden", Error: err.Error()})
			return
		}
		routed.ServeHTTP(w, r)
	})
}

// fail answers with an error, as Prometheus types and numbers them; what is not recorded is bad data.
func fail(w http.ResponseWriter, err error) {
	code, kind := http.StatusUnprocessableEntity, "execution"
	var (
		parameter *parameterError
		absent    *NotRecordedError
		unknown   *unknownError
		stored    promql.ErrStorage
		timeout   promql.ErrQueryTimeout
		canceled  promql.ErrQueryCanceled
	)
	switch {
	case errors.As(err, &unknown):
		code, kind, err = http.StatusBadRequest, "bad_data", unknown
	case errors.As(err, &parameter), errors.As(err, &absent):
		code, kind = http.StatusBadRequest, "bad_data"
	case errors.As(err, &timeout):
		code, kind = http.StatusServiceUnavailable, "timeout"
	case errors.As(err, &canceled):
		code, kind = 499, "canceled" // as Prometheus: the client is gone
	case errors.As(err, &stored):
		code, kind = http.StatusInternalServerError, "internal"
	}
	write(w, code, answer{Status: "error", ErrorType: kind, Error: err.Error()})
}

func write(w http.ResponseWriter, code int, a answer) {
	body, err := json.Marshal(a)
	if err != nil {
		code, body = http.StatusInternalServerError, []byte(`{"status":"error","errorType":"internal","error":"the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(body) // a client that is gone
}

type result struct {
	ResultType parser.ValueType `json:"resultType"`
	Result     parser.Value     `json:"result"`
}

func (s *Server) answer(r *http.Request, at span) (any, annotations.Annotations, error) {
	if v := r.FormValue("lookback_delta"); v != "" {
		return nil, nil, badData("lookback_delta", fmt.Errorf("a recording looks back %s, as it was made", Lookback))
	}
	ctx := r.Context()
	if v := r.FormValue("timeout"); v != "" {
		d, err := duration(v)
		if err != nil {
			return nil, nil, badData("timeout", err)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	limit, err := limitOf(r)
	if err != nil {
		return nil, nil, err
	}
	out, err := s.run(ctx, r.FormValue("query"), at)
	if err != nil {
		return nil, nil, err
	}
	notes := out.Warnings
	switch v := out.Value.(type) {
	case promql.Vector:
		out.Value = promql.Vector(limited(v, limit, &notes))
	case promql.Matrix:
		out.Value = promql.Matrix(limited(v, limit, &notes))
	}
	return result{out.Value.Type(), out.Value}, notes, nil
}

func (s *Server) query(r *http.Request) (any, annotations.Annotations, error) {
	at, err := instantOf(r, "time", s.clock.Now())
	if err != nil {
		return nil, nil, err
	}
	return s.answer(r, span{start: at, end: at})
}

func (s *Server) queryRange(r *http.Request) (any, annotations.Annotations, error) {
	var at span
	var errs [3]error
	at.start, errs[0] = instantOf(r, "start", time.Time{})
	at.end, errs[1] = instantOf(r, "end", time.Time{})
	if at.step, errs[2] = duration(r.FormValue("step")); errs[2] != nil {
		errs[2] = badData("step", errs[2])
	}
	for _, err := range errs {
		if err != nil {
			return nil, nil, err
		}
	}
	switch {
	case at.end.Before(at.start):
		return nil, nil, badData("end", errors.New("end timestamp must not be before start time"))
	case at.step <= 0:
		return nil, nil, badData("step", errors.New("zero or negative query resolution step widths are not accepted. Try a positive integer"))
	case at.end.Sub(at.start)/at.step > maxPoints:
		return nil, nil, badData("step", fmt.Errorf("more than %d points per series: use a longer step", maxPoints))
	}
	return s.answer(r, at)
}

func (s *Server) series(r *http.Request) (any, annotations.Annotations, error) {
	if len(r.Form["match[]"]) == 0 {
		return nil, nil, badData("match[]", errors.New("no match[] parameter provided"))
	}
	found, err := s.selected(r.Form["match[]"])
	return cut(r, found, err)
}

func (s *Server) labelNames(r *http.Request) (any, annotations.Annotations, error) {
	found, err := s.selected(r.Form["match[]"])
	var out []string
	for _, l := range found {
		l.Range(func(l labels.Label) { out = append(out, l.Name) })
	}
	return cut(r, unique(out), err)
}

func (s *Server) labelValues(r *http.Request) (any, annotations.Annotations, error) {
	found, err := s.selected(r.Form["match[]"])
	var out []string
	for _, l := range found {
		if v := l.Get(r.PathValue("name")); v != "" {
			out = append(out, v)
		}
	}
	return cut(r, unique(out), err)
}

// meta is what is known of a metric: not its type, but the query behind it.
type meta struct {
	Type model.MetricType `json:"type"`
	Help string           `json:"help"`
	Unit string           `json:"unit"`
}

func (s *Server) metadata(r *http.Request) (any, annotations.Annotations, error) {
	out := map[string][]meta{}
	for _, c := range s.all {
		names := []string{c.name}
		if c.selector != nil {
			names = nil
			for _, l := range c.labels {
				names = append(names, l.Get(model.MetricNameLabel))
			}
		}
		for _, n := range unique(names) {
			if m := (meta{model.MetricTypeUnknown, c.spec.Query, ""}); !slices.Contains(out[n], m) {
				out[n] = append(out[n], m)
			}
		}
	}
	metric := r.FormValue("metric")
	if metric == "" {
		return out, nil, nil
	}
	if out[metric] == nil {
		return nil, nil, &NotRecordedError{metric, "recorded: " + (&plan{all: s.all}).some()}
	}
	return map[string][]meta{metric: out[metric]}, nil, nil
}

// unique sorts and leaves out what is there twice; never nil, which JSON would show.
func unique(list []string) []string {
	slices.Sort(list)
	return append([]string{}, slices.Compact(list)...)
}

func cut[T any](r *http.Request, list []T, err error) (any, annotations.Annotations, error) {
	if err != nil {
		return nil, nil, err
	}
	limit, err := limitOf(r)
	var notes annotations.Annotations
	return append([]T{}, limited(list, limit, &notes)...), notes, err
}

var errTruncated = errors.New("results truncated due to limit")

func limited[T any](list []T, limit int, notes *annotations.Annotations) []T {
	if limit == 0 || len(list) <= limit {
		return list
	}
	notes.Add(errTruncated)
	return list[:limit]
}

func limitOf(r *http.Request) (int, error) {
	v := r.FormValue("limit")
	if v == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return 0, badData("limit", fmt.Errorf("%q: want a number, 0 or more", v))
	}
	return n, nil
}

// instantOf reads seconds since 1970 or RFC 3339; fallback where it is not set, an error if that is zero.
func instantOf(r *http.Request, name string, fallback time.Time) (time.Time, error) {
	v := r.FormValue(name)
	if v == "" {
		if fallback.IsZero() {
			return fallback, badData(name, errors.New("it is not set"))
		}
		return fallback, nil
	}
	if s, err := strconv.ParseFloat(v, 64); err == nil && math.Abs(s) < 1e11 {
		whole, part := math.Modf(s)
		return time.Unix(int64(whole), int64(math.Round(part*1000))*int64(time.Millisecond)).UTC(), nil
	}
	at, err := time.Parse(time.RFC3339Nano, v)
	if err != nil {
		return at, badData(name, fmt.Errorf("cannot parse %q to a valid timestamp", v))
	}
	return at, nil
}

// duration reads seconds, or a duration as Prometheus writes them.
func duration(v string) (time.Duration, error) {
	if s, err := strconv.ParseFloat(v, 64); err == nil && math.Abs(s) < 1e9 {
		return time.Duration(s * float64(time.Second)), nil
	}
	d, err := model.ParseDuration(v)
	if err != nil {
		return 0, fmt.Errorf("cannot parse %q to a valid duration", v)
	}
	return time.Duration(d), nil
}
