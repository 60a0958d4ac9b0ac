package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/recommender"
)

// working reads a request, gives its handler one of the slots and a deadline, and refuses where there is none. The body
// is read before the slot is taken: who sends slowly keeps nobody out. It is unpacked and decoded with the slot, so that
// memory is bounded.
func (s *Server) working(handle func(http.ResponseWriter, *http.Request, []byte) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() {
			s.fail(w, r, draining())
			return
		}
		packed, taken, err := s.receive(w, r)
		defer s.received.give(taken)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		default:
			s.fail(w, r, &restapi.Error{Status: http.StatusTooManyRequests, Kind: kindTooMany, RetryAfter: "1",
				Detail: fmt.Sprintf("%d recommendations are being made, which is the most at once", s.o.MaxConcurrent),
				Advice: "ask again in a second, or give the server a higher --max-concurrent"})
			return
		}
		s.metrics.inFlight.Inc()
		defer s.metrics.inFlight.Dec()
		ctx, cancel := context.WithTimeout(r.Context(), s.o.Timeout)
		defer cancel()
		r = r.WithContext(ctx)
		body, err := s.unpack(r, packed)
		if err == nil {
			err = handle(w, r, body)
		}
		if err != nil {
			s.fail(w, r, err)
		}
	}
}

// draining refuses a request of a server that is about to end.
func draining() *restapi.Error {
	return &restapi.Error{Status: http.StatusServiceUnavailable, Kind: kindDraining, Detail: "the server is shutting down", Advice: "ask again", RetryAfter: "1"}
}

func (s *Server) recommend(w http.ResponseWriter, r *http.Request, body []byte) error {
	o := DecodeOptions{MaxBody: s.o.MaxBody}
	switch v := r.URL.Query().Get("fieldValidation"); v {
	case "", "Strict":
	case "Ignore":
		o.IgnoreUnknown = true
	default:
		return &restapi.Error{Status: http.StatusBadRequest, Kind: kindRequest, Detail: fmt.Sprintf("fieldValidation=%s", v), Advice: "want Strict or Ignore"}
	}
	q, err := DecodeRequest(body, o)
	if err != nil {
		return err
	}
	request, warnings := q.Recommender()
	answer, took, err := s.ask(r.Context(), request)
	if err != nil {
		return err
	}
	restapi.WriteJSON(w, http.StatusOK, "application/json", &Response{APIVersion: Version, Recommendation: answer, Warnings: warnings,
		Run: &Run{RunTime: scalehist.Duration(took), RequestID: restapi.RequestID(r), Server: strings.TrimSpace(s.o.Name + " " + s.o.Version)}})
	return nil
}

// ask lets the recommender answer, and measures it.
func (s *Server) ask(ctx context.Context, request *recommender.Request) (*recommender.Recommendation, time.Duration, error) {
	if request.Prices == nil {
		request.Prices = s.o.Prices
	}
	request.Parallelism = s.o.Parallelism
	begin := s.o.Clock.Now()
	answer, err := s.o.Recommender.Recommend(ctx, request)
	took := s.o.Clock.Since(begin)
	if err != nil {
		if ctx.Err() != nil { // whatever it says, that is why
			err = ctx.Err()
		}
		return nil, took, err
	}
	if answer == nil {
		return nil, took, &restapi.Error{Status: http.StatusInternalServerError, Kind: restapi.KindFailed, Detail: "the recommender gave no recommendation and no error"}
	}
	s.metrics.seconds.WithLabelValues(answer.Strategy).Observe(took.Seconds())
	for _, up := range answer.ScaleUps {
		s.metrics.nodes.WithLabelValues("up").Add(float64(up.Count))
	}
	s.metrics.nodes.WithLabelValues("down").Add(float64(len(answer.ScaleDowns)))
	s.metrics.unplaced.Add(float64(len(answer.Unplaced)))
	klog.FromContext(ctx).V(2).Info("Recommended", "strategy", answer.Strategy, "scaleUps", len(answer.ScaleUps), "unplaced", len(answer.Unplaced), "took", took)
	return answer, took, nil
}

// compress packs answers for who accepts it and that are worth it.
func compress(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") { // metrics pack themselves
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Add("Vary", "Accept-Encoding")
		c := &compressed{ResponseWriter: w, code: http.StatusOK}
		next.ServeHTTP(c, r)
		c.finish()
	})
}

// minCompressed is the size from which packing an answer pays.
const minCompressed = 1 << 10

// compressed holds an answer back until it is known whether it is worth packing; answers are in memory anyway.
type compressed struct {
	http.ResponseWriter
	code int
	body bytes.Buffer
}

// Unwrap lets http.ResponseController reach the connection.
func (c *compressed) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (c *compressed) WriteHeader(code int) { c.code = code }

// Write implements http.ResponseWriter.
func (c *compressed) Write(b []byte) (int, error) { return c.body.Write(b) }

func (c *compressed) finish() {
	if c.body.Len() < minCompressed {
		c.ResponseWriter.WriteHeader(c.code)
		_, _ = c.ResponseWriter.Write(c.body.Bytes()) // who asked may have gone
		return
	}
	c.Header().Set("Content-Encoding", "gzip")
	c.ResponseWriter.WriteHeader(c.code)
	z := gzip.NewWriter(c.ResponseWriter)
	_, _ = z.Write(c.body.Bytes()) // who asked may have gone
	_ = z.Close()
}
