package web

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
)

// TLSFiles are the files of a TLS server. Those that are replaced are read again with the next connection; while the
// new ones are wrong, the ones before them stay.
type TLSFiles struct {
	// Cert and Key are PEM files. ClientCA, if any, verifies certificates of clients; who has none is still connected,
	// so that a kubelet can probe, and let in or not by the app.
	Cert, Key, ClientCA string

	mu      sync.Mutex
	current *tls.Config
	read    [3]fileState
}

// Config reads the files.
func (f *TLSFiles) Config() (*tls.Config, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.load(); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return f.fresh(), nil },
		// Only asked for when GetConfigForClient gave nothing, which it does not; http.ServeTLS wants one of them set.
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return &f.fresh().Certificates[0], nil
		}}, nil
}

// fresh is the configuration of the files as they are, if they are right.
func (f *TLSFiles) fresh() *tls.Config {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.states() != f.read {
		_ = f.load() // the old ones stay
	}
	return f.current
}

func (f *TLSFiles) states() (out [3]fileState) {
	for i, path := range []string{f.Cert, f.Key, f.ClientCA} {
		if path == "" {
			continue
		}
		if s, err := stateOf(path); err == nil {
			out[i] = s
		}
	}
	return out
}

func (f *TLSFiles) load() error {
	state := f.states()
	cert, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return fmt.Errorf("TLS certificate: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{cert}}
	if f.ClientCA != "" {
		data, err := os.ReadFile(f.ClientCA)
		if err != nil {
			return fmt.Errorf("client CA: %w", err)
		}
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(data) {
			return errors.New("client CA " + f.ClientCA + ": no certificate in it: give a PEM file")
		}
		config.ClientAuth = tls.VerifyClientCertIfGiven
	}
	f.current, f.read = config, state
	return nil
}
