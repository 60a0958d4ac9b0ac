package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// call sends a request until it is answered, or may not be sent again.
func (c *Client) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	for try := 1; ; try++ {
		data, wait, err := c.once(ctx, method, path, body)
		if err == nil {
			return data, nil
		}
		if wait == 0 || try >= c.o.Tries || ctx.Err() != nil {
			if try > 1 {
				err = fmt.Errorf("%w (tried %d times)", err, try)
			}
			return nil, err
		}
		timer := c.o.Clock.NewTimer(min(wait<<(try-1), maxRetryWait))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C():
		}
	}
}

const (
	// retryWait is the time before the second try; it doubles.
	retryWait = 200 * time.Millisecond
	// maxRetryWait bounds what a server may ask for.
	maxRetryWait = 30 * time.Second
)

// once sends a request. wait says after how long it may be sent again; 0: it may not.
func (c *Client) once(ctx context.Context, method, path string, body []byte) (data []byte, wait time.Duration, err error) {
	where := c.base.Redacted()
	try, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	response, err := c.send(try, method, path, body)
	if err != nil {
		switch {
		case ctx.Err() != nil:
			return nil, 0, ctx.Err()
		case try.Err() != nil:
			return nil, 0, fmt.Errorf("recommender at %s: no answer within %s: give it more time, or less to do", where, c.o.Timeout)
		case errors.Is(err, syscall.ECONNREFUSED):
			return nil, retryWait, fmt.Errorf("recommender at %s: connection refused: is it started, and is this its address?", where)
		}
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return nil, 0, fmt.Errorf("recommender at %s: %w", where, err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	data, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case ctx.Err() != nil:
		return nil, 0, ctx.Err()
	case err != nil:
		return nil, 0, fmt.Errorf("recommender at %s: the answer ended early: %w", where, err)
	case len(data) > maxAnswer:
		return nil, 0, fmt.Errorf("recommender at %s: the answer is larger than %d bytes", where, maxAnswer)
	case response.StatusCode == http.StatusOK:
		return data, 0, nil
	case response.StatusCode == http.StatusTooManyRequests, response.StatusCode == http.StatusServiceUnavailable:
		wait = retryWait
		if n, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && n > 0 {
			wait = min(time.Duration(min(n, 60))*time.Second, maxRetryWait)
		}
	}
	return nil, wait, fmt.Errorf("recommender at %s: %w", where, answered(response, data))
}

// maxStale bounds how many kept connections in a row may turn out to be closed.
const maxStale = 3

// send sends a request until there is an answer to it. Servers close connections that they said they would keep; a request
// that meets such a one is sent over a new one: nothing was answered, and a recommendation changes nothing.
func (c *Client) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	for stale := 0; ; stale++ {
		var reused, answered atomic.Bool
		r, err := c.request(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GotConn:              func(i httptrace.GotConnInfo) { reused.Store(i.Reused) },
			GotFirstResponseByte: func() { answered.Store(true) },
		}), method, path, body)
		if err != nil {
			return nil, err
		}
		response, err := c.http.Do(r)
		if err == nil || !reused.Load() || answered.Load() || stale == maxStale || ctx.Err() != nil {
			return response, err
		}
		c.http.CloseIdleConnections()
	}
}

func (c *Client) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	u := *c.base
	u.Path += path
	r, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.o.TokenFile != "" {
		token, err := readToken(c.o.TokenFile)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r, nil
}

// AnswerError is an answer that is no recommendation.
type AnswerError struct {
	Status int
	// Problem is what the server says of it; nil when that is not in the API's form, and Body is what it sent.
	Problem *Problem
	Body    string
}

// Error implements error: it quotes the server.
func (e *AnswerError) Error() string {
	if p := e.Problem; p != nil {
		out := fmt.Sprintf("%d %s: ", e.Status, p.Title) + (&RequestError{p.Path, p.Detail, p.Advice}).Error()
		if p.RequestID != "" {
			out += " (request " + p.RequestID + ")"
		}
		return out
	}
	out := fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))
	if e.Body != "" {
		out += ": " + strconv.Quote(e.Body)
	}
	return out
}

// maxQuoted bounds what is quoted of an answer that is no problem.
const maxQuoted = 300

func answered(r *http.Response, data []byte) error {
	e := &AnswerError{Status: r.StatusCode}
	p := &Problem{}
	if json.Unmarshal(data, p) == nil && p.Detail != "" {
		e.Problem = p
		return e
	}
	text := strings.ToValidUTF8(strings.TrimSpace(string(data)), "?")
	if len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "..."
	}
	e.Body = text
	return e
}

func readToken(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("recommender token: %w", err)
	}
	token, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	if token = strings.TrimSpace(token); token == "" {
		return "", fmt.Errorf("recommender token file %s holds no token: write one in its first line", path)
	}
	return token, nil
}
