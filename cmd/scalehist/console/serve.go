package console

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/scalehist/scalehist/recorder/web"
)

// ListenFor prepares a server of what a command serves at an address: over TLS with files, nil for none, with the log of ctx, which requests without another
// context have, too. url is where it is reached.
func ListenFor(ctx context.Context, what string, server *http.Server, address *net.TCPAddr, files *web.TLSFiles) (l net.Listener, url string, err error) {
	logger := klog.FromContext(ctx)
	server.ErrorLog = slog.NewLogLogger(logr.ToSlogHandler(logger), slog.LevelInfo)
	if server.BaseContext == nil {
		server.BaseContext = func(net.Listener) context.Context { return klog.NewContext(context.Background(), logger) }
	}
	scheme := "http"
	if files != nil {
		scheme = "https"
		if server.TLSConfig, err = files.Config(); err != nil {
			return nil, "", fmt.Errorf("%s: %w", what, err)
		}
	}
	if l, err = net.ListenTCP("tcp", address); err != nil {
		return nil, "", fmt.Errorf("%s: %w: choose another --listen", what, err)
	}
	return l, fmt.Sprintf("%s://%s", scheme, l.Addr()), nil
}

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
