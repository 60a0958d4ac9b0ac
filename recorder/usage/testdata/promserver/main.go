// Command promserver is a real Prometheus without its scraping, for tests: its database, its query engine and its HTTP
// API on a free port of the loopback interface. It prints its address, takes samples at /put as JSON
// [{"labels": {...}, "t": milliseconds, "v": number}], and ends with its standard input. It is a module of its own so that
// what it needs does not bear on the versions the recorder is built with.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/route"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
	v1 "github.com/prometheus/prometheus/web/api/v1"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type sample struct {
	Labels map[string]string `json:"labels"`
	T      int64             `json:"t"`
	V      float64           `json:"v"`
}

func run() error {
	dir, err := os.MkdirTemp("", "promserver")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	o := tsdb.DefaultOptions()
	o.OutOfOrderTimeWindow = int64(24 * time.Hour / time.Millisecond)
	db, err := tsdb.Open(dir, slog.New(slog.DiscardHandler), prometheus.NewRegistry(), o, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	p := parser.NewParser(parser.Options{})
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: p,
		EnableAtModifier: true, EnableNegativeOffset: true, NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() }}) // as cmd/prometheus
	ready := func(f http.HandlerFunc) http.HandlerFunc { return f }
	registry := prometheus.NewRegistry()
	api := v1.NewAPI(engine, db, nil, nil, nil, nil, nil, nil, func() config.Config { return config.Config{} }, nil, v1.GlobalURLOptions{}, ready,
		nil, dir, false, false, 0, slog.New(slog.DiscardHandler), nil, 0, 0, 0, false, nil, nil, nil, nil, nil, registry, registry, nil,
		false, nil, false, false, false, false, 5*time.Minute, false, false, nil, nil, v1.OpenAPIOptions{}, p)
	router := route.New()
	api.Register(router.WithPrefix("/api/v1"))
	mux := http.NewServeMux()
	mux.Handle("/", router)
	mux.HandleFunc("/put", func(w http.ResponseWriter, r *http.Request) {
		var list []sample
		err := json.NewDecoder(r.Body).Decode(&list)
		app := db.Appender(context.Background())
		for _, s := range list {
			if err == nil {
				_, err = app.Append(0, labels.FromMap(s.Labels), s.T, s.V)
			}
		}
		if err == nil {
			err = app.Commit()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(l, mux) }()
	fmt.Println("http://" + l.Addr().String())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
