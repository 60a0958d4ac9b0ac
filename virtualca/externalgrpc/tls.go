package externalgrpc

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// TLSFiles are PEM files for mutual TLS, as the autoscaler's cloud config names them: key, cert and cacert.
type TLSFiles struct {
	Key, Cert string
	// CACert is the authority that the other side's certificate must come from.
	CACert string
}

// Serve has a server ask every client for a certificate of the authority; nil serves plain text.
func (f *TLSFiles) Serve() (grpc.ServerOption, error) {
	if f == nil {
		return grpc.EmptyServerOption{}, nil
	}
	c, err := f.serverConfig()
	return grpc.Creds(credentials.NewTLS(c)), err
}

// Dial prepares a connection to the provider at an address (host:port); nil speaks plain text. Close it.
func (f *TLSFiles) Dial(address string) (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if f != nil {
		c, err := f.ClientConfig()
		if err != nil {
			return nil, err
		}
		creds = credentials.NewTLS(c)
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(creds))
	if err != nil {
		return nil, fmt.Errorf("provider at %s: %w", address, err)
	}
	return conn, nil
}

// serverConfig asks every client for a certificate of the authority.
func (f *TLSFiles) serverConfig() (*tls.Config, error) {
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
	c, err := f.serverConfig()
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: c.Certificates, RootCAs: c.ClientCAs, MinVersion: tls.VersionTLS12}, nil
}
