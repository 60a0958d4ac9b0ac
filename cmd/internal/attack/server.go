package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// delivery is how a body is sent.
type delivery string

const (
	plain   delivery = "plain"
	gzipped delivery = "gzip"
	bomb    delivery = "gzip of the body and a gigabyte of spaces"
	chunked delivery = "chunked"
	cut     delivery = "cut in the middle"
	stalled delivery = "stalled in the middle"
	four    delivery = "four at once"
	// download asks for what there may be.
	download delivery = "download"
)

var deliveries = []delivery{plain, plain, gzipped, bomb, chunked, cut, stalled, four}

// stopLimit is how long a server may take to end after SIGTERM: by its own promise 10 s for requests that are under way, more on a busy machine.
const stopLimit = time.Minute

// answerLimit is how long a refusal may be, in bytes.
const answerLimit = 64 << 10

var listening = regexp.MustCompile(`serving http://([0-9.:]+)`)

// serve sends the input to the server p, looks whether it is well, and stops it.
func (r runner) serve(ctx context.Context, t target, p *process, input []byte, how delivery) []string {
	address, err := p.address()
	if err != nil {
		return []string{err.Error()}
	}
	client := &http.Client{Timeout: r.within.deadline, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	method, path, _ := strings.Cut(t.serves, " ")
	var wrong []string
	switch how {
	case cut, stalled:
		conn, err := half(ctx, address, method, path, input)
		if err != nil {
			return []string{err.Error()}
		}
		if how == cut {
			conn.Close()
		} else {
			defer conn.Close()
		}
	case four:
		answers := make(chan []string, 4)
		for range cap(answers) {
			go func() { answers <- deliver(ctx, client, method, address, path, input, plain) }()
		}
		for range cap(answers) {
			wrong = append(wrong, <-answers...)
		}
	default:
		wrong = deliver(ctx, client, method, address, path, input, how)
	}
	if name, ok := strings.CutPrefix(path, "/api/histories/"); ok {
		// What was taken is downloaded: whole if it was, else there is none.
		wrong = append(wrong, deliver(ctx, client, http.MethodGet, address, "/api/clusters/"+name+"/db", nil, download)...)
	}
	for _, page := range []string{"/healthz", "/metrics"} {
		wrong = append(wrong, deliver(ctx, client, http.MethodGet, address, page, nil, "")...)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return append(wrong, fmt.Sprintf("is gone: %v", err))
	}
	select {
	case <-p.done:
	case <-time.After(stopLimit):
		wrong = append(wrong, fmt.Sprintf("does not end within %s of SIGTERM", stopLimit))
		p.cmd.Process.Kill() //nolint:errcheck // it may have ended by itself
	}
	return wrong
}

// address is where a server listens, once it says so.
func (p *process) address() (string, error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if found := listening.FindStringSubmatch(p.stdout.String() + p.stderr.String()); found != nil {
			return found[1], nil
		}
		select {
		case <-p.done:
			return "", errors.New("ended before it served")
		case <-tick.C:
		}
	}
}

// deliver sends one request and says what is wrong with its answer. A server that cannot be reached any more is wrong.
func deliver(ctx context.Context, client *http.Client, method, address, path string, input []byte, how delivery) []string {
	body, encoding := io.Reader(bytes.NewReader(input)), ""
	switch how {
	case gzipped:
		body, encoding = compressed(input, 0), "gzip"
	case bomb:
		body, encoding = compressed(input, 1<<30), "gzip"
	case chunked:
		body = io.MultiReader(body) // its length is not known
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+address+path, body)
	if err != nil {
		return []string{err.Error()}
	}
	request.Header.Set("Content-Type", "application/json")
	if encoding != "" {
		request.Header.Set("Content-Encoding", encoding)
	}
	answer, err := client.Do(request)
	if err != nil {
		// A server may close the connection while a body that it refuses is still being sent.
		if len(input) > 0 && (errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)) {
			return nil
		}
		return []string{fmt.Sprintf("%s %s: %v", method, path, err)}
	}
	defer answer.Body.Close()
	size, err := io.Copy(io.Discard, answer.Body)
	switch code := answer.StatusCode; {
	case err != nil:
		return []string{fmt.Sprintf("%s %s: the answer ends early: %v", method, path, err)}
	case code >= 500 && code != http.StatusServiceUnavailable, code < 200, method == http.MethodGet && how != download && code != http.StatusOK:
		return []string{fmt.Sprintf("%s %s: status %d", method, path, code)}
	case code >= 400 && size > answerLimit:
		return []string{fmt.Sprintf("%s %s: a refusal of %d bytes", method, path, size)}
	}
	return nil
}

// compressed is input and as many spaces behind it. A gzip file may have several parts (RFC 1952, 2.2): a mebibyte of spaces is packed once.
func compressed(input []byte, spaces int64) io.Reader {
	const blank = 1 << 20
	parts := []io.Reader{bytes.NewReader(packed(input))}
	if spaces > 0 {
		part := packed(bytes.Repeat([]byte(" "), blank))
		for ; spaces > 0; spaces -= blank {
			parts = append(parts, bytes.NewReader(part))
		}
	}
	return io.MultiReader(parts...)
}

// packed is one part of a gzip file.
func packed(data []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(data)
	if err = errors.Join(err, z.Close()); err != nil {
		panic(err) // a buffer takes everything
	}
	return out.Bytes()
}

// half sends a request and half of its body, and gives the connection.
func half(ctx context.Context, address, method, path string, input []byte) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	// A server that refuses before it has read everything resets the connection, as it may.
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, path, address, len(input)+1, input[:len(input)/2])
	return conn, nil
}
