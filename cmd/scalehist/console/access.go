package console

import (
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/recorder/web"
)

// AccessFlags say where a command that serves listens, and who may come in.
type AccessFlags struct {
	Listen, cert, key, tokens, ClientCA string
	noAuth                              bool
	Hosts                               []string
}

// Add adds the flags; what is served at an address that is the default.
func (a *AccessFlags) Add(cmd *cobra.Command, address, what string) {
	flags := cmd.Flags()
	flags.StringVar(&a.Listen, "listen", address, "address of "+what+"; port 0 takes any that is free")
	flags.StringVar(&a.cert, "tls-cert", "", "PEM certificate of the server; read again when it changes")
	flags.StringVar(&a.key, "tls-key", "", "PEM key of the certificate")
	flags.StringVar(&a.tokens, "token-file", "", "file with tokens that let somebody in, one a line; read again when it changes")
	flags.StringVar(&a.ClientCA, "client-ca", "", "PEM certificates of the authority whose client certificates let somebody in")
	flags.BoolVar(&a.noAuth, "insecure-no-auth", false, "let everybody in who reaches --listen")
	flags.StringSliceVar(&a.Hosts, "allowed-host", nil, "name under which "+what+" may be reached, beside localhost: that of a proxy on this machine")
	for _, flag := range []string{"tls-cert", "tls-key", "token-file", "client-ca"} {
		if err := cmd.MarkFlagFilename(flag); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", flag, err)) // only a flag that does not exist fails
		}
	}
}

// Check refuses flags that contradict each other. Who listens to others must tell them apart. prefix begins the errors.
func (a *AccessFlags) Check(cmd *cobra.Command, prefix string, address *net.TCPAddr) error {
	switch {
	case (a.cert == "") != (a.key == ""):
		return UsageErrorf(cmd, "%s--tls-cert and --tls-key: give both", prefix)
	case a.ClientCA != "" && a.cert == "":
		return UsageErrorf(cmd, "%s--client-ca: client certificates need TLS: give --tls-cert and --tls-key", prefix)
	case a.noAuth && (a.tokens != "" || a.ClientCA != ""):
		return UsageErrorf(cmd, "%s--insecure-no-auth contradicts --token-file and --client-ca", prefix)
	case !address.IP.IsLoopback() && !a.noAuth && a.tokens == "" && a.ClientCA == "":
		return UsageErrorf(cmd, "%s--listen %s is reached by others: give --token-file or --client-ca, or --insecure-no-auth to let everybody in", prefix, a.Listen)
	}
	return nil
}

// Listen listens on what --listen has. An address that others reach is refused unless it is guarded; do says what to do.
func Listen(cmd *cobra.Command, address string, guarded bool, do string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() && !guarded {
		return nil, errors.Join(UsageErrorf(cmd, "--listen %s is reached by others%s", address, do), l.Close())
	}
	return l, nil
}

// LocalHosts: only names of this machine and --allowed-host are answered to.
func (a *AccessFlags) LocalHosts(address *net.TCPAddr) bool {
	return address.IP.IsLoopback() || len(a.Hosts) > 0
}

// Credentials reads what lets somebody in: tokens and TLS files, each nil where there are none.
func (a *AccessFlags) Credentials() (*web.Tokens, *web.TLSFiles, error) {
	var tokens *web.Tokens
	if a.tokens != "" {
		var err error
		if tokens, err = web.ReadTokens(a.tokens); err != nil {
			return nil, nil, err
		}
	}
	if a.cert == "" {
		return tokens, nil, nil
	}
	files := &web.TLSFiles{Cert: a.cert, Key: a.key, ClientCA: a.ClientCA}
	if _, err := files.Config(); err != nil {
		return nil, nil, err
	}
	return tokens, files, nil
}

// Files are the certificate, its key and the authority of clients, for a server that also calls others.
func (a *AccessFlags) Files() (cert, key, clientCA string) { return a.cert, a.key, a.ClientCA }
