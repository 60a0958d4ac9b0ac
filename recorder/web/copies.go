package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// maxCopies bounds the copies for downloads that are there at once, being made or being sent: each takes the room of a history on the disk
// that recorders write to.
const maxCopies = 4

// copyRetry is how long a client is asked to wait when there are as many.
const copyRetry = 30 * time.Second

// errCopies is the error when there are as many copies as there may be.
var errCopies = withStatus(http.StatusServiceUnavailable, "%d downloads are under way already, the most there may be: try again in %s", maxCopies, copyRetry)

// copies are those that are alive. All who ask for the same of a history that has not changed meanwhile share one.
type copies struct {
	mu sync.Mutex
	// alive are those that somebody uses; places counts them and those that are being taken away.
	alive  map[copyKey]*historyCopy
	places int
}

// copyKey is what a copy is of: a window of a history, and the history and its log as they were when it was asked for.
type copyKey struct {
	path     string
	from, to time.Time
	file     fileState
	log      fileState
}

// historyCopy is a file without a name, gone with the last who uses it.
type historyCopy struct {
	key     copyKey
	cancel  context.CancelFunc
	written chan struct{} // closed when file, size and err are known
	file    *os.File
	size    int64
	err     error
	users   int // under copies.mu
}

// reader reads the copy from its start; those of one copy do not disturb each other.
func (c *historyCopy) reader() io.Reader { return io.NewSectionReader(c.file, 0, c.size) }

// acquire gives a copy, to be released: one that is there, or a new one by write; errCopies when there are too many. A copy is still being
// written as long as one of those who wait for it does.
func (s *copies) acquire(ctx context.Context, key copyKey, write func(context.Context) (*os.File, error)) (*historyCopy, error) {
	s.mu.Lock()
	c, shared := s.alive[key]
	if !shared {
		if s.places >= maxCopies {
			s.mu.Unlock()
			return nil, errCopies
		}
		writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), copyTimeout)
		c = &historyCopy{key: key, cancel: cancel, written: make(chan struct{})}
		s.alive[key] = c
		s.places++
		go func() {
			defer close(c.written)
			c.file, c.size, c.err = opened(write(writing))
		}()
	}
	c.users++
	s.mu.Unlock()
	select {
	case <-c.written:
	case <-ctx.Done():
		s.release(c)
		return nil, ctx.Err()
	}
	if c.err != nil {
		s.release(c)
		return nil, c.err
	}
	return c, nil
}

// opened is a file with its size.
func opened(file *os.File, err error) (*os.File, int64, error) {
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// release ends the use of a copy. With the last user it is gone; its place is free when its room is.
func (s *copies) release(c *historyCopy) {
	s.mu.Lock()
	c.users--
	last := c.users == 0
	if last {
		delete(s.alive, c.key)
	}
	s.mu.Unlock()
	if !last {
		return
	}
	c.cancel()
	<-c.written
	if c.err == nil {
		_ = c.file.Close() // it was only read
	}
	s.mu.Lock()
	s.places--
	s.mu.Unlock()
}
