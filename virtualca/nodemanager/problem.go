package nodemanager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/klog/v2"

	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
)

// problemTypes is where docs/capacity.md describes problems; the anchor is the kind.
const problemTypes = "https://github.com/scalehist/scalehist/blob/main/docs/capacity.md#"

// problems are the errors of backends, as kinds and statuses of problems: the client makes the same errors of them.
var problems = []struct {
	err    error
	kind   string
	status int
}{
	{externalgrpc.ErrUnimplemented, "unimplemented", http.StatusNotImplemented},
	{externalgrpc.ErrInvalid, "invalid", http.StatusBadRequest},
	{externalgrpc.ErrNotFound, "not-found", http.StatusNotFound},
	{externalgrpc.ErrExhausted, "exhausted", http.StatusConflict},
	{externalgrpc.ErrPrecondition, "precondition", http.StatusConflict},
	{externalgrpc.ErrUnavailable, "unavailable", http.StatusServiceUnavailable},
	{context.DeadlineExceeded, "timeout", http.StatusGatewayTimeout},
}

// toProblem is what an error of a handler is on the wire.
func toProblem(err error) *restapi.Error {
	var known *restapi.Error
	if errors.As(err, &known) {
		return known
	}
	for _, p := range problems {
		if errors.Is(err, p.err) {
			return &restapi.Error{Status: p.status, Kind: p.kind, Detail: err.Error()}
		}
	}
	return &restapi.Error{Status: http.StatusInternalServerError, Kind: restapi.KindFailed, Detail: err.Error(), Advice: "see the node manager's log"}
}

// fromProblem is the error that a backend gave.
func fromProblem(err error) error {
	var p *restapi.ProblemError
	if !errors.As(err, &p) {
		return err
	}
	_, kind, _ := strings.Cut(p.Problem.Type, "#")
	for _, known := range problems {
		if known.kind == kind {
			return fmt.Errorf("%w: %w", known.err, err)
		}
	}
	if p.Problem.Status == http.StatusBadRequest {
		return fmt.Errorf("%w: %w", externalgrpc.ErrInvalid, err)
	}
	return err
}

func fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return // nobody listens
	}
	p := toProblem(err)
	if p.Status == http.StatusInternalServerError {
		klog.FromContext(r.Context()).Error(err, "A request could not be answered", "path", r.URL.Path, "requestId", restapi.RequestID(r))
	}
	restapi.WriteProblem(w, r, problemTypes, p)
}
