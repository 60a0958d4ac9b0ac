package kvcl

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// access is how to reach and trust one API server. It is made before the server starts, so that we can ask for pods
// while envtest still waits for /healthz, which turns good about a second later.
type access struct {
	ca    []byte
	token string
}

// newAccess writes the certificate and the service-account key that envtest would make into dir. The service-account
// key file must be in EC form, the API server reads no other.
func newAccess(dir string) (*access, error) {
	now := time.Now()
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kvcl-ca"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serving := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "kvcl"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, serving, ca, &key.PublicKey, caKey)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	token := make([]byte, 16)
	if _, err := rand.Read(token); err != nil {
		return nil, err
	}
	a := &access{ca: block("CERTIFICATE", caDER), token: hex.EncodeToString(token)}
	for file, data := range map[string][]byte{
		"apiserver.crt": block("CERTIFICATE", der),
		"apiserver.key": block("EC PRIVATE KEY", keyDER),
		"sa-signer.crt": block("CERTIFICATE", der),
		"sa-signer.key": block("EC PRIVATE KEY", keyDER),
		"tokens.csv":    []byte(a.token + `,admin,admin,"system:masters"` + "\n"),
		// envtest asks whether the server is healthy without a token. Nobody else may do anything without one.
		"authentication.json": []byte(`{"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration",
			"anonymous": {"enabled": true, "conditions": [{"path": "/healthz"}]}}`),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			return nil, fmt.Errorf("credentials of the API server: %w", err)
		}
	}
	return a, nil
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// Configure implements envtest's Authn: a bearer token.
func (a *access) Configure(dir string, args *envtest.Arguments) error {
	args.Set("authentication-config", filepath.Join(dir, "authentication.json"))
	args.Set("token-auth-file", filepath.Join(dir, "tokens.csv"))
	return nil
}

// Start implements Authn.
func (a *access) Start() error { return nil }

// Stop implements Authn.
func (a *access) Stop() error { return nil }

// AddUser implements Authn. There is one user, whatever the name.
func (a *access) AddUser(_ envtest.User, base *rest.Config) (*rest.Config, error) {
	cfg := rest.CopyConfig(base)
	cfg.BearerToken = a.token
	return cfg, nil
}
