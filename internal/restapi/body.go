package restapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/scalehist/scalehist/internal/decode"
)

// MaxBody bounds a request of ReadJSON, in bytes.
const MaxBody = 1 << 20

// KindRequest is the kind of a request that cannot be read.
const KindRequest = "bad-request"

// ReadJSON reads the body of a request strictly; an error is an *Error.
func ReadJSON(w http.ResponseWriter, r *http.Request, into any) error {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &Error{Status: http.StatusRequestEntityTooLarge, Kind: KindRequest, Detail: fmt.Sprintf("the request is larger than %d bytes", MaxBody)}
	case err != nil:
		return &Error{Status: http.StatusBadRequest, Kind: KindRequest, Detail: "the body ended early: " + err.Error(), Advice: "send it again"}
	}
	if err := decode.StrictJSON(data, into); err != nil {
		return &Error{Status: http.StatusBadRequest, Kind: KindRequest, Detail: err.Error(), Advice: "see /openapi.json"}
	}
	return nil
}
