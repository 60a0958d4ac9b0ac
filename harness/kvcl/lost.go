package kvcl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"syscall"
	"time"
)

// lost says more of an error of a request that nobody answered: which process has ended since the boot, how, and what it
// said last. Other errors, and all while both processes run, stay as they are.
func (p *processes) lost(err error) error {
	if err == nil || !unanswered(err) {
		return err
	}
	var died *diedError
	// The connection ends a moment before the process has.
	for deadline := time.Now().Add(fateTimeout); ; time.Sleep(readyPoll) {
		if errors.As(p.died(), &died) || time.Now().After(deadline) {
			break
		}
	}
	if died == nil {
		return err
	}
	how := "has ended"
	if died.fate != "" {
		how = died.fate
	}
	return fmt.Errorf("%w: %s %s%s", err, died.name, how, tailText(died.name, p.tails[died.name]))
}

// unanswered says whether a request failed because there was nobody at the other end, or no more.
func unanswered(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var transport *url.Error // whatever the client says of it: HTTP/2 has words of its own for a connection that ended
	if errors.As(err, &transport) {
		return true
	}
	for _, cause := range []error{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}
