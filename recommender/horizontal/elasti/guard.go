package elasti

import (
	"fmt"
	"net/netip"
	"syscall"
)

// guard refuses connections to addresses at which no Prometheus of a cluster is, after names have been resolved. Private ones are let through:
// a Service has one.
func guard(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", address, err)
	}
	ip := at.Addr().Unmap()
	if ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast() {
		return fmt.Errorf("%s is an address of this machine or this link, to which triggers may not lead; list it in %s if it is meant", ip, EnvAllowed)
	}
	return nil
}
