// Package httphost says whether a request asks for this machine by a name of its own. It knows nothing of what is served.
//
// A page elsewhere could otherwise let its own name resolve to this machine, and read what the browser's user may read
// (DNS rebinding).
package httphost

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Names are what a server answers to.
type Names struct {
	// LocalOnly admits requests to this machine's own names ("localhost", loopback addresses), and to Others. Where it is
	// not set every name is admitted.
	LocalOnly bool
	Others    []string
}

// Check is nil where the name that a request asks for is the server's, else an error that says what to do.
func (n Names) Check(r *http.Request) error {
	host := of(r.Host)
	if !n.LocalOnly || isLocal(host) || slices.ContainsFunc(n.Others, func(h string) bool { return strings.EqualFold(h, host) }) {
		return nil
	}
	host = host[:min(len(host), 253)]
	return fmt.Errorf("host %q is not served here: use localhost, or start with --allowed-host %s", host, host)
}

// of is the Host header without its port.
func of(h string) string {
	if host, _, err := net.SplitHostPort(h); err == nil {
		h = host
	}
	return strings.TrimSuffix(strings.Trim(h, "[]"), ".")
}

func isLocal(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
