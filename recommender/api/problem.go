package api

import (
	"context"
	"errors"
	"net/http"

	"k8s.io/klog/v2"

	"github.com/scalehist/scalehist/internal/restapi"
)

// problemTypes is where docs/recommender.md describes them; the anchor is the kind.
const problemTypes = "https://github.com/scalehist/scalehist/blob/main/docs/recommender.md#"

// The kinds of problems, beside those of every API. They are anchors of the page.
const (
	kindRequest  = "bad-request"
	kindRefused  = "refused-by-the-recommender"
	kindTooLarge = "too-large"
	kindTooMany  = "too-many-requests"
	kindTimeout  = "timeout"
	kindDraining = "shutting-down"
)

// problemOf is what a handler's error is on the wire; timeout is named where it ran out.
func problemOf(err error, timeout string) *restapi.Error {
	var known *restapi.Error
	var large *tooLargeError
	var request *RequestError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &large):
		return &restapi.Error{Status: http.StatusRequestEntityTooLarge, Kind: kindTooLarge, Detail: large.Problem, Path: large.Path, Advice: large.Advice}
	case errors.As(err, &request):
		return &restapi.Error{Status: http.StatusBadRequest, Kind: kindRequest, Detail: request.Problem, Path: request.Path, Advice: request.Advice}
	case errors.Is(err, context.DeadlineExceeded):
		return &restapi.Error{Status: http.StatusGatewayTimeout, Kind: kindTimeout, Detail: "the recommendation was not ready after " + timeout,
			Advice: "ask with strategy greedy, with fewer node groups or pods, or give the server a longer --timeout"}
	}
	return &restapi.Error{Status: http.StatusUnprocessableEntity, Kind: kindRefused, Detail: err.Error()}
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return // nobody listens
	}
	p := problemOf(err, s.o.Timeout.String())
	p.Detail, p.Path, p.Advice = excerpt(p.Detail), excerpt(p.Path), excerpt(p.Advice)
	if p.Status >= http.StatusInternalServerError && p.Kind != kindDraining {
		klog.FromContext(r.Context()).Error(err, "A request could not be answered", "path", r.URL.Path, "requestId", restapi.RequestID(r))
	}
	s.metrics.problems.WithLabelValues(p.Kind).Inc()
	restapi.WriteProblem(w, r, problemTypes, p)
}
