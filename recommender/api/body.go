package api

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scalehist/scalehist/internal/restapi"
)

// received is how many bytes of bodies are in memory, packed as they came. It bounds what all requests together hold
// before one of them has a slot; a request that sends nothing takes nothing of it.
type received struct {
	most int64
	now  atomic.Int64
}

func (r *received) take(n int64) bool {
	if r.now.Add(n) > r.most {
		r.now.Add(-n)
		return false
	}
	return true
}

func (r *received) give(n int64) { r.now.Add(-n) }

// drainGrace is how long a body that is being sent when the server has to end may still take.
const drainGrace = time.Second

// incoming are the connections whose bodies are being read. One that has stalled would else keep the server from ending for as long as
// reading may take.
type incoming struct {
	mu   sync.Mutex
	by   time.Time // when all have to be read; zero: each has its own time
	from map[*http.ResponseController]bool
}

// begin reads from a connection until then. It is to be finished before the handler returns.
func (i *incoming) begin(control *http.ResponseController, until time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.from == nil {
		i.from = map[*http.ResponseController]bool{}
	}
	i.from[control] = true
	if !i.by.IsZero() && i.by.Before(until) {
		until = i.by
	}
	_ = control.SetReadDeadline(until) // a test's recorder has no connection
}

// finish says that nothing is read from the connection any more.
func (i *incoming) finish(control *http.ResponseController) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.from, control)
}

// end bounds the reading of all bodies, those that begin from now on included.
func (i *incoming) end(by time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.by = by
	for control := range i.from {
		_ = control.SetReadDeadline(by) // who sent it may have gone
	}
}

// readChunk is how much of a body is asked for at once.
const readChunk = 32 << 10

// receive reads a request's body as it comes. taken is to be given back when the request ends. Who sends nothing for too
// long is refused: the deadline stays on the connection, which closes it.
func (s *Server) receive(w http.ResponseWriter, r *http.Request) (body []byte, taken int64, err error) {
	control := http.NewResponseController(w)
	s.incoming.begin(control, s.o.Clock.Now().Add(s.o.ReadTimeout))
	defer s.incoming.finish(control)
	if t := r.Header.Get("Content-Type"); t != "" && !strings.Contains(t, "json") && !strings.HasPrefix(t, "application/x-www-form-urlencoded") { // which is curl's default
		return nil, 0, &restapi.Error{Status: http.StatusUnsupportedMediaType, Kind: kindRequest, Detail: fmt.Sprintf("Content-Type %q", t), Advice: "send application/json"}
	}
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity", "gzip":
	default:
		return nil, 0, &restapi.Error{Status: http.StatusUnsupportedMediaType, Kind: kindRequest, Detail: fmt.Sprintf("Content-Encoding %q", encoding), Advice: "send plain JSON, or gzip"}
	}
	in := http.MaxBytesReader(w, r.Body, s.o.MaxBody)
	var data bytes.Buffer
	for {
		if !s.received.take(readChunk) {
			return nil, taken, &restapi.Error{Status: http.StatusTooManyRequests, Kind: kindTooMany, RetryAfter: "1",
				Detail: fmt.Sprintf("%d bytes of requests are being received, which is the most at once", s.received.most),
				Advice: "ask again in a second, or give the server a higher --max-concurrent"}
		}
		taken += readChunk
		_, err := io.CopyN(&data, in, readChunk)
		if err == nil {
			continue
		}
		var over *http.MaxBytesError
		switch {
		case errors.Is(err, io.EOF):
			_ = control.SetReadDeadline(time.Time{}) // what follows has its own
			return data.Bytes(), taken, nil
		case errors.As(err, &over):
			return nil, taken, s.tooLarge()
		case errors.Is(err, os.ErrDeadlineExceeded) && s.draining.Load():
			return nil, taken, draining()
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, taken, &restapi.Error{Status: http.StatusRequestTimeout, Kind: kindTimeout, Detail: fmt.Sprintf("the body had not come after %s", s.o.ReadTimeout),
				Advice: "send it at once, packed with gzip if the line is slow"}
		}
		return nil, taken, endedEarly(err)
	}
}

// unpack is a body as JSON.
func (s *Server) unpack(r *http.Request, body []byte) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return body, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, &restapi.Error{Status: http.StatusBadRequest, Kind: kindRequest, Detail: "the body is not gzip: " + err.Error(), Advice: "pack it, or leave Content-Encoding out"}
	}
	var data bytes.Buffer
	switch n, err := io.Copy(&data, io.LimitReader(z, s.o.MaxBody+1)); {
	case err != nil:
		return nil, endedEarly(err)
	case n > s.o.MaxBody:
		return nil, s.tooLarge()
	}
	return data.Bytes(), nil
}

func (s *Server) tooLarge() error {
	return &restapi.Error{Status: http.StatusRequestEntityTooLarge, Kind: kindTooLarge, Detail: fmt.Sprintf("the request is larger than %d bytes", s.o.MaxBody),
		Advice: "leave out objects that are no nodes, pods, storage, priorities or DaemonSets, or give the server a higher --max-body"}
}

func endedEarly(err error) error {
	return &restapi.Error{Status: http.StatusBadRequest, Kind: kindRequest, Detail: "the body ended early: " + err.Error(), Advice: "send it again"}
}
