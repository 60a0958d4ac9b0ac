package externalgrpc

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// TLSFiles are PEM files for mutual TLS, as the autoscaler's cloud config names them: key, cert and cacert.
type TLSFiles struct {
	Key, Cert string
	// CACert is the authority that the other side's certificate must come from.
	CACert string
}

// ServerConfig asks every client for a certificate of the authority.
func (f *TLSFiles) ServerConfig() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("certificate %s with key %s: %w", f.Cert, f.Key, err)
	}
	pem, err := os.ReadFile(f.CACert)
	if err != nil {
		return nil, fmt.Errorf("certificate authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("certificate authority %s has no PEM certificate", f.CACert)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}, nil
}

// ClientConfig shows our certificate to a server, whose own must be of the authority.
func (f *TLSFiles) ClientConfig() (*tls.Config, error) {
	c, err := f.ServerConfig()
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: c.Certificates, RootCAs: c.ClientCAs, MinVersion: tls.VersionTLS12}, nil
}
