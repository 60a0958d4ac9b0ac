package recorder

import (
	"errors"
	"fmt"
	"net/url"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestCauseSaysSomething: an answer without words of its own is called by its reason and its code, in whatever it is wrapped.
func TestCauseSaysSomething(t *testing.T) {
	silent := func(code int32, reason metav1.StatusReason) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason}}
	}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{silent(429, metav1.StatusReasonTooManyRequests), "TooManyRequests (429)"},
		{silent(429, ""), "Too Many Requests (429)"},
		{silent(0, ""), "refused without a reason"},
		{fmt.Errorf("recorder: list Pod: %w", silent(503, "")), "recorder: list Pod: Service Unavailable (503)"},
		{&url.Error{Op: "Get", URL: "https://u:secret@x", Err: silent(429, "")}, "Too Many Requests (429)"},
		{&url.Error{Op: "Get", URL: "https://u:secret@x", Err: errors.New("no route")}, "no route"},
		{apierrors.NewForbidden(metav1.Unversioned.WithResource("pods").GroupResource(), "a", nil), `pods "a" is forbidden: <nil>`},
	} {
		got := cause(tt.err)
		if got.Error() != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
		if apierrors.ReasonForError(got) != apierrors.ReasonForError(tt.err) {
			t.Errorf("%v is another reason than %v", got, tt.err)
		}
	}
}
