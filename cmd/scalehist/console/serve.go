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
	return ServeUntil(ctx, fmt.Sprintf("serve %s", l.Addr()), func() {}, server, l, servePatience)
}

// ServeUntil serves, over TLS where the server has a configuration of it, until ctx ends; then it calls drain, and lets what is under way be
// answered for as long as patience. The error of a server that ends by itself begins with what.
func ServeUntil(ctx context.Context, what string, drain func(), server *http.Server, l net.Listener, patience time.Duration) error {
	served := make(chan error, 1)
	go func() {
		if server.TLSConfig != nil {
			served <- server.ServeTLS(l, "", "")
		} else {
			served <- server.Serve(l)
		}
	}()
	select {
	case err := <-served:
		return fmt.Errorf("%s: %w", what, err)
	case <-ctx.Done():
	}
	drain()
	patient, done := context.WithTimeout(context.WithoutCancel(ctx), patience)
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
