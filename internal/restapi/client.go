package restapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/scalehist/scalehist/internal/decode"
)

// maxAnswer bounds an answer that Do reads, in bytes, where the client does not.
const maxAnswer = 64 << 20

// Client calls an API. HTTP and Base are needed.
type Client struct {
	HTTP *http.Client
	// Base is the address of the server, without a path.
	Base string
	// Token is sent as bearer token; empty: none.
	Token string
	// MaxAnswer bounds an answer, in bytes; 0: 64 MiB.
	MaxAnswer int64
}

// ProblemError is an answer that is a Problem.
type ProblemError struct{ Problem Problem }

func (e *ProblemError) Error() string {
	text := e.Problem.Detail
	if e.Problem.Path != "" {
		text = e.Problem.Path + ": " + text
	}
	if e.Problem.Advice != "" {
		text += ": " + e.Problem.Advice
	}
	return text
}

// Request makes a request; body is sent as JSON unless nil.
func (c *Client) Request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var in io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		in = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.Base+path, in)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	return r, nil
}

// Do sends a request and reads the answer into what into points to, unless it is nil. An answer that is no success is a *ProblemError.
func (c *Client) Do(r *http.Request, into any) error {
	response, err := c.HTTP.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	most := cmp.Or(c.MaxAnswer, maxAnswer)
	data, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if err != nil {
		return fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err)
	}
	if int64(len(data)) > most {
		return fmt.Errorf("%s %s: the answer is larger than %d bytes", r.Method, r.URL.Path, most)
	}
	if response.StatusCode/100 != 2 {
		return problemOf(response.StatusCode, data)
	}
	if into == nil {
		return nil
	}
	if err := decode.JSON(data, into); err != nil {
		return fmt.Errorf("%s %s: the answer cannot be read: %w", r.Method, r.URL.Path, err)
	}
	return nil
}

// problemOf is the error of an answer that is no success, with its beginning where it is no Problem.
func problemOf(code int, data []byte) error {
	e := &ProblemError{}
	if json.Unmarshal(data, &e.Problem) != nil || e.Problem.Detail == "" {
		e.Problem.Detail = fmt.Sprintf("%s: %.200q", http.StatusText(code), data)
	}
	e.Problem.Status = code
	return e
}
