package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The ways in which a server answers a command that asks it, beside plain, gzipped, bomb and chunked.
const (
	cutAnswer  delivery = "an answer cut in the middle"
	endless    delivery = "an answer without end"
	endlessly  delivery = "an answer of values without end"
	slow       delivery = "an answer byte by byte"
	silent     delivery = "no answer"
	redirected delivery = "a redirect to itself"
	broken     delivery = "status 500"
	busy       delivery = "status 503"
	noContent  delivery = "status 204"
	noHTTP     delivery = "no HTTP"
)

var answerDeliveries = []delivery{plain, plain, plain, plain, gzipped, bomb, chunked, cutAnswer, endless, endlessly, slow, silent, redirected, broken, busy, noContent, noHTTP}

// askedStrategies is what the server says that it is, askedAnswer that nothing is to be done, where that is not what is attacked.
const (
	askedStrategies = `{"apiVersion":"recommender.scalehist.io/v1","name":"attack","strategies":["any"]}`
	askedAnswer     = `{"apiVersion":"recommender.scalehist.io/v1","recommendation":{"strategy":"any","scoring":"any","scoringRule":"any","optimality":{}}}`
)

// answerer answers with an input, in one way.
type answerer struct {
	// of is the method whose requests get the input; others get a good answer.
	of    string
	input []byte
	how   delivery
}

// listen serves until ctx ends, and gives the address.
func (a answerer) listen(ctx context.Context) (address string, err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s := &http.Server{Handler: a, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	go func() { _ = s.Serve(l) }() // it ends with ctx
	return l.Addr().String(), nil
}

// ServeHTTP implements http.Handler.
func (a answerer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // a client that is gone is no concern of the server
	w.Header().Set("Content-Type", "application/json")
	if good := map[string]string{http.MethodGet: askedStrategies, http.MethodPost: askedAnswer}; r.Method != a.of {
		_, _ = io.WriteString(w, good[r.Method])
		return
	}
	send := func(b io.Reader) { _, _ = io.Copy(w, b) }
	input := func() io.Reader { return strings.NewReader(string(a.input)) }
	switch a.how {
	case gzipped, bomb:
		w.Header().Set("Content-Encoding", "gzip")
		spaces := int64(0)
		if a.how == bomb {
			spaces = 1 << 30
		}
		send(compressed(a.input, spaces))
	case cutAnswer:
		w.Header().Set("Content-Length", strconv.Itoa(len(a.input)+1))
		send(input())
		panic(http.ErrAbortHandler)
	case endless:
		send(io.MultiReader(input(), repeated(strings.Repeat(" ", 64<<10))))
	case endlessly:
		send(io.MultiReader(strings.NewReader(`{"apiVersion":"recommender.scalehist.io/v1","strategies":[""`),
			strings.NewReader(`],"recommendation":{"scaleUps":[{}`), repeated(strings.Repeat(",{}", 16<<10))))
	case slow:
		a.drip(w, r)
	case silent:
		<-r.Context().Done()
	case redirected:
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	case broken:
		w.WriteHeader(http.StatusInternalServerError)
		send(input())
	case busy:
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusServiceUnavailable)
		send(input())
	case noContent:
		w.WriteHeader(http.StatusNoContent)
	case noHTTP:
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, err = conn.Write(a.input)
			_ = errors.Join(err, conn.Close()) // a client that is gone is no concern of the server
		}
	default:
		send(input())
	}
}

// drip sends a byte every 50 ms until the client is gone.
func (a answerer) drip(w http.ResponseWriter, r *http.Request) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		b := byte(' ')
		if i < len(a.input) {
			b = a.input[i]
		}
		_, err := fmt.Fprintf(w, "%c", b)
		if err = errors.Join(err, http.NewResponseController(w).Flush()); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

// repeated is a text without end.
type repeated string

// Read implements io.Reader.
func (t repeated) Read(p []byte) (int, error) { return copy(p, t), nil }
