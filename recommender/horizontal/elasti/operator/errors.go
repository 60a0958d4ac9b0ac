package operator

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/scalehist/scalehist/recommender/horizontal/elasti"
)

// Reasons of the condition Ready, beside those of package elasti.
const (
	ReasonInvalidSpec       = "InvalidSpec"
	ReasonRivals            = "SeveralElastiServices"
	ReasonUnknownKind       = "TargetKindUnknown"
	ReasonNotFound          = "TargetNotFound"
	ReasonNotScalable       = "TargetNotScalable"
	ReasonForbidden         = "Forbidden"
	ReasonConflict          = "Conflict"
	ReasonAutoscalerMissing = "AutoscalerNotFound"
	ReasonFailed            = "Failed"
)

// reasonError is an error with the reason that a condition gives.
type reasonError struct {
	reason string
	error
}

// Unwrap gives the error without its reason.
func (e *reasonError) Unwrap() error { return e.error }

func reasoned(reason string, err error) error { return &reasonError{reason, err} }

// reasonOf is the reason of an error.
func reasonOf(err error) string {
	var known *reasonError
	switch {
	case errors.As(err, &known):
		return known.reason
	case errors.Is(err, errChanged), apierrors.IsConflict(err):
		return ReasonConflict
	}
	return elasti.ReasonOf(err, ReasonFailed)
}

// targetError says what is wrong with a target in the words of its owner.
func targetError(s *service, err error) error {
	switch {
	case meta.IsNoMatchError(err):
		return reasoned(ReasonUnknownKind, fmt.Errorf("the cluster does not serve %s of %s: is its definition applied?", s.Spec.ScaleTargetRef.Kind, s.Spec.ScaleTargetRef.APIVersion))
	case apierrors.IsNotFound(err):
		return reasoned(ReasonNotFound, fmt.Errorf("%s does not exist, or has no replicas that could be scaled", s.targetName()))
	case apierrors.IsForbidden(err):
		return reasoned(ReasonForbidden, fmt.Errorf("the account of %s may not scale %s: %w", Name, s.targetName(), err))
	case err != nil:
		return fmt.Errorf("%s: %w", s.targetName(), err)
	}
	return nil
}
