package console

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// servePatience is how long requests that are under way may take when a server is to end.
const servePatience = 5 * time.Second

// ServeHTTP serves until ctx ends; what is under way is answered.
func ServeHTTP(ctx context.Context, l net.Listener, server *http.Server) error {
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	patient, done := context.WithTimeout(context.WithoutCancel(ctx), servePatience)
	defer done()
	err := server.Shutdown(patient)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}
