package api

import (
	"cmp"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/scalehist/scalehist/internal/httpstatus"
)

// metrics are what /metrics shows; docs/recommender.md lists them.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	problems *prometheus.CounterVec
	inFlight prometheus.Gauge
	nodes    *prometheus.CounterVec
	unplaced prometheus.Counter
	panics   prometheus.Counter
}

func newMetrics(o *Options) *metrics {
	m := &metrics{registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "scalehist_recommender_http_requests_total", Help: "Requests answered."},
			[]string{"route", "method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "scalehist_recommender_duration_seconds", Help: "Time of a recommendation, without reading and writing.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}}, []string{"strategy"}),
		problems: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "scalehist_recommender_problems_total", Help: "Requests answered with a problem, by its kind."}, []string{"kind"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "scalehist_recommender_in_flight", Help: "Recommendations that are being made."}),
		nodes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "scalehist_recommender_nodes_total", Help: "Nodes that were recommended to come (up) and to go (down)."},
			[]string{"direction"}),
		unplaced: prometheus.NewCounter(prometheus.CounterOpts{Name: "scalehist_recommender_unplaced_pods_total", Help: "Pods for which no recommendation had a place."}),
		panics:   prometheus.NewCounter(prometheus.CounterOpts{Name: "scalehist_recommender_panics_total", Help: "Requests that ended in a panic."}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "scalehist_build_info", Help: "1, with what was built.",
		ConstLabels: prometheus.Labels{"version": o.Version, "commit": o.Commit, "goversion": runtime.Version()}})
	build.Set(1)
	limit := prometheus.NewGauge(prometheus.GaugeOpts{Name: "scalehist_recommender_max_concurrent", Help: "Most recommendations at once."})
	limit.Set(float64(o.MaxConcurrent))
	m.registry.MustRegister(m.requests, m.seconds, m.problems, m.inFlight, m.nodes, m.unplaced, m.panics, build, limit,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 30 * time.Second})
}

// count observes requests by the route they took, which has few values; a path has as many as people invent.
func (m *metrics) count(routes *http.ServeMux, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, route := routes.Handler(r)
		seen := httpstatus.Remember(w)
		next.ServeHTTP(seen, r)
		method := r.Method
		switch method {
		case http.MethodGet, http.MethodHead, http.MethodPost:
		default:
			method = "other"
		}
		m.requests.WithLabelValues(cmp.Or(route, "/"), method, strconv.Itoa(seen.Code)).Inc()
	})
}
