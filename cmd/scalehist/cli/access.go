package cli

import (
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/recorder/web"
)

// accessFlags say where a command that serves listens, and who may come in.
type accessFlags struct {
	listen, cert, key, tokens, clientCA string
	noAuth                              bool
	hosts                               []string
}

// add adds the flags; what is served at an address that is the default.
func (a *accessFlags) add(cmd *cobra.Command, address, what string) {
	flags := cmd.Flags()
	flags.StringVar(&a.listen, "listen", address, "address of "+what+"; port 0 takes any that is free")
	flags.StringVar(&a.cert, "tls-cert", "", "PEM certificate of the server; read again when it changes")
	flags.StringVar(&a.key, "tls-key", "", "PEM key of the certificate")
	flags.StringVar(&a.tokens, "token-file", "", "file with tokens that let somebody in, one a line; read again when it changes")
	flags.StringVar(&a.clientCA, "client-ca", "", "PEM certificates of the authority whose client certificates let somebody in")
	flags.BoolVar(&a.noAuth, "insecure-no-auth", false, "let everybody in who reaches --listen")
	flags.StringSliceVar(&a.hosts, "allowed-host", nil, "name under which "+what+" may be reached, beside localhost: that of a proxy on this machine")
	for _, flag := range []string{"tls-cert", "tls-key", "token-file", "client-ca"} {
		if err := cmd.MarkFlagFilename(flag); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", flag, err)) // only a flag that does not exist fails
		}
	}
}

// check refuses flags that contradict each other. Who listens to others must tell them apart. prefix begins the errors.
func (a *accessFlags) check(cmd *cobra.Command, prefix string, address *net.TCPAddr) error {
	switch {
	case (a.cert == "") != (a.key == ""):
		return UsageErrorf(cmd, "%s--tls-cert and --tls-key: give both", prefix)
	case a.clientCA != "" && a.cert == "":
		return UsageErrorf(cmd, "%s--client-ca: client certificates need TLS: give --tls-cert and --tls-key", prefix)
	case a.noAuth && (a.tokens != "" || a.clientCA != ""):
		return UsageErrorf(cmd, "%s--insecure-no-auth contradicts --token-file and --client-ca", prefix)
	case !address.IP.IsLoopback() && !a.noAuth && a.tokens == "" && a.clientCA == "":
		return UsageErrorf(cmd, "%s--listen %s is reached by others: give --token-file or --client-ca, or --insecure-no-auth to let everybody in", prefix, a.listen)
	}
	return nil
}

// localHosts: only names of this machine and --allowed-host are answered to.
func (a *accessFlags) localHosts(address *net.TCPAddr) bool {
	return address.IP.IsLoopback() || len(a.hosts) > 0
}

// credentials reads what lets somebody in: tokens and TLS files, each nil where there are none.
func (a *accessFlags) credentials() (*web.Tokens, *web.TLSFiles, error) {
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
	files := &web.TLSFiles{Cert: a.cert, Key: a.key, ClientCA: a.clientCA}
	if _, err := files.Config(); err != nil {
		return nil, nil, err
	}
	return tokens, files, nil
}
