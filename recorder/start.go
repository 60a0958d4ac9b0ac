package recorder

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// The waits between two tries, at the start and of a history that cannot be written: doubled from the first to the most.
const (
	firstWait = 250 * time.Millisecond
	mostWait  = 30 * time.Second
)

// notAllowedError: a kind without which a recording says nothing may not be listed, or is not served.
type notAllowedError struct{ why, name string }

func (e *notAllowedError) Error() string {
	return fmt.Sprintf("recorder: %s: a recording needs it, use an account that may list and watch %s", e.why, e.name)
}

// reach asks the API server what it takes to begin. With Options.Wait it asks until it gets an answer; what the answer
// says is then the same as without.
func (r *Recorder) reach(ctx context.Context) (kinds []string, identity string, err error) {
	wait := firstWait
	for {
		kinds, identity, err = r.ask(ctx)
		var denied *notAllowedError
		if err == nil || !r.o.Wait || errors.As(err, &denied) || ctx.Err() != nil {
			r.trouble.set(ctx, partStart, "")
			return kinds, identity, worded(err)
		}
		r.trouble.set(ctx, partStart, fmt.Sprintf("waiting for the API server: %v", cause(err)))
		if apierrors.IsUnauthorized(err) {
			r.renew(ctx)
		}
		timer := r.o.Clock.NewTimer(wait)
		wait = min(2*wait, mostWait)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return nil, "", fmt.Errorf("recorder: stopped before the API server could be reached: %w", errors.Join(ctx.Err(), err))
		}
	}
}

func (r *Recorder) ask(ctx context.Context) (kinds []string, identity string, err error) {
	if r.o.Wait { // while it starts, an API server refuses what it will allow
		body, err := r.kube().Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err != nil && strings.Contains(string(body), "[-]poststarthook/rbac/bootstrap-roles") {
			return nil, "", errors.New("recorder: the API server does not know its roles yet")
		}
	}
	r.watches, r.refused, r.unwatch = nil, nil, nil
	if kinds, err = r.findTargets(ctx); err != nil {
		return nil, "", err
	}
	more, err := r.findOthers(ctx)
	if err != nil {
		return nil, "", err
	}
	kinds = append(kinds, more...)
	identity, err = r.identity(ctx, r.metadata())
	return kinds, identity, err
}
