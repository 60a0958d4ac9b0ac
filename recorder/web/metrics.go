package web

import (
	"cmp"
	"context"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/scalehist/scalehist/internal/httpstatus"
	"github.com/scalehist/scalehist/recorder/service"
)

// metrics are what /metrics shows; docs/serve.md lists them.
type metrics struct {
	s        *Server
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

var (
	byCluster = []string{"cluster"}
	descState = prometheus.NewDesc("scalehist_cluster_state", "1 for the state a cluster is in, 0 for the others.", []string{"cluster", "state"}, nil)
	descDown  = prometheus.NewDesc("scalehist_cluster_watches_down", "1 while a recorded cluster has watches that are down.", byCluster, nil)
	descTries = prometheus.NewDesc("scalehist_cluster_attempts_total", "Attempts to record a cluster.", byCluster, nil)
	descFails = prometheus.NewDesc("scalehist_cluster_failures_total", "Attempts that ended with an error.", byCluster, nil)
	descSeen  = prometheus.NewDesc("scalehist_changes_total", "Changes seen in a cluster; its rate is changes per second.", byCluster, nil)
	descDone  = prometheus.NewDesc("scalehist_changes_written_total", "Changes written to a history.", byCluster, nil)
	descQueue = prometheus.NewDesc("scalehist_queue_length", "Changes that wait for the writer.", byCluster, nil)
	descLive  = prometheus.NewDesc("scalehist_objects", "Objects in a cluster that are recorded.", byCluster, nil)
	descLag   = prometheus.NewDesc("scalehist_lag_seconds", "Age of the last instant in a history that is being recorded; about 10 in a quiet cluster.", byCluster, nil)
	descGaps  = prometheus.NewDesc("scalehist_gaps", "Gaps in a history.", byCluster, nil)
	descGapT  = prometheus.NewDesc("scalehist_gap_seconds", "Time of the gaps in a history, overlaps counted once.", byCluster, nil)
	descBytes = prometheus.NewDesc("scalehist_history_bytes", "Size of a history with its log.", byCluster, nil)
	descFrom  = prometheus.NewDesc("scalehist_history_start_timestamp_seconds", "First instant of a history.", byCluster, nil)
	descTo    = prometheus.NewDesc("scalehist_history_end_timestamp_seconds", "Last instant of a history.", byCluster, nil)
	descOK    = prometheus.NewDesc("scalehist_config_last_reload_successful", "1 if the configuration file as it is now is in force.", nil, nil)
	descWhen  = prometheus.NewDesc("scalehist_config_last_reload_success_timestamp_seconds", "When the configuration in force was read.", nil, nil)
	descLoads = prometheus.NewDesc("scalehist_config_reloads_total", "Changes of the configuration that took effect, and that were refused.", []string{"outcome"}, nil)
)

func newMetrics(s *Server) *metrics {
	m := &metrics{s: s, registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "scalehist_http_requests_total", Help: "Requests answered."},
			[]string{"route", "method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "scalehist_http_request_duration_seconds", Help: "Time to answer.",
			Buckets: prometheus.DefBuckets}, []string{"route"})}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "scalehist_build_info", Help: "1, with what was built.",
		ConstLabels: prometheus.Labels{"version": s.o.Version, "commit": s.o.Commit, "goversion": runtime.Version()}})
	build.Set(1)
	m.registry.MustRegister(m, m.requests, m.seconds, build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 30 * time.Second})
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descState, descDown, descTries, descFails, descSeen, descDone, descQueue, descLive, descLag,
		descGaps, descGapT, descBytes, descFrom, descTo, descOK, descWhen, descLoads} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count := func(d *prometheus.Desc, v int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	c := m.s.o.Recordings.Config()
	gauge(descOK, one(c.Problem == ""))
	gauge(descWhen, seconds(c.LoadedAt))
	count(descLoads, c.Reloads, "applied")
	count(descLoads, c.Refused, "refused")
	for _, c := range m.s.library.list(context.Background()) {
		if c.Recorded {
			for _, state := range service.States() {
				gauge(descState, one(c.State == string(state)), c.Name, string(state))
			}
			gauge(descDown, one(c.State == string(service.StateRecording) && c.Reason != ""), c.Name)
			count(descTries, c.Attempts, c.Name)
			count(descFails, c.Failures, c.Name)
			count(descSeen, c.Changes, c.Name)
			count(descDone, c.Written, c.Name)
			gauge(descQueue, float64(c.Queued), c.Name)
			gauge(descLive, float64(c.Objects), c.Name)
		}
		h := c.History
		if h == nil {
			continue
		}
		gauge(descBytes, float64(h.Bytes), c.Name)
		if h.From.IsZero() {
			continue
		}
		gauge(descGaps, float64(h.Gaps), c.Name)
		gauge(descGapT, h.GapSeconds, c.Name)
		gauge(descFrom, seconds(h.From), c.Name)
		gauge(descTo, seconds(h.To), c.Name)
		if c.State == string(service.StateRecording) {
			gauge(descLag, max(0, m.s.o.Clock.Since(h.To).Seconds()), c.Name)
		}
	}
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// count observes requests by the route they took, which has few values; a path has as many as people invent.
func (m *metrics) count(routes *http.ServeMux, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := m.s.o.Clock.Now()
		_, route := routes.Handler(r)
		route = cmp.Or(route, "/")
		seen := httpstatus.Remember(w)
		next.ServeHTTP(seen, r)
		method := r.Method
		switch method {
		case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut:
		default:
			method = "other"
		}
		m.requests.WithLabelValues(route, method, strconv.Itoa(seen.Code)).Inc()
		m.seconds.WithLabelValues(route).Observe(m.s.o.Clock.Since(begin).Seconds())
	})
}
