package console

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/scalehist/scalehist/internal/durable"
)

// KeptWriter is standard output that remembers its first error: a table that did not arrive on a full disk is an error
// also of the commands that print line by line.
type KeptWriter struct {
	W io.Writer

	mu  sync.Mutex
	err error
}

// Unwrap is the writer underneath.
func (k *KeptWriter) Unwrap() io.Writer { return k.W }

// Write implements io.Writer.
func (k *KeptWriter) Write(p []byte) (int, error) {
	n, err := k.W.Write(p)
	if err != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.err == nil {
			k.err = err
		}
	}
	return n, err
}

// Check gives the error of a command, or that of its output where the command knows of none. An exit code alone says
// nothing about the output, so the output's error wins over it.
func (k *KeptWriter) Check(err error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var exit *ExitError
	silent := err == nil || errors.As(err, &exit) && exit.Err == nil
	if k.err == nil || !silent {
		return err
	}
	return fmt.Errorf("standard output: %w", durable.WithoutPaths(k.err))
}
