package cloudprovider

import (
	"errors"
	"fmt"
)

// What errors.Is finds in the errors of calls that change something.
var (
	// ErrNoGroup: there is no group of that name.
	ErrNoGroup = errors.New("no such node group")
	// ErrInvalid: the call makes no sense at any time.
	ErrInvalid = errors.New("invalid request")
	// ErrBounds: the group may not grow that far.
	ErrBounds = errors.New("above the maximum size")
	// ErrRefused: the group does not grow now (FaultRefuse).
	ErrRefused = errors.New("growth refused")
	// ErrState: group or node are not in a state in which that can be done.
	ErrState = errors.New("not in that state")
	// ErrDown: the provider does not answer (FaultDown).
	ErrDown = errors.New("the cloud provider does not answer")
)

// refusal is an error of a kind, in words of its own.
type refusal struct {
	kind error
	text string
}

func refuse(kind error, format string, args ...any) error {
	return &refusal{kind, fmt.Sprintf(format, args...)}
}

func (r *refusal) Error() string { return r.text }

// Unwrap implements errors.Unwrap.
func (r *refusal) Unwrap() error { return r.kind }
