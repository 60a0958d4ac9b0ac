package externalgrpc_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/scalehist/scalehist/virtualca/externalgrpc"
	"github.com/scalehist/scalehist/virtualca/externalgrpc/wire"
)

func TestMutualTLS(t *testing.T) {
	dir := t.TempDir()
	files, pool, clientPair := authority(t, dir)
	address := serve(t, newBare(), externalgrpc.ServerOptions{TLS: &files})
	call := func(c *tls.Config) error {
		conn := dial(t, address, grpc.WithTransportCredentials(credentials.NewTLS(c)))
		_, err := wire.NewCloudProviderClient(conn).NodeGroups(t.Context(), &wire.NodeGroupsRequest{})
		return err
	}
	if err := call(&tls.Config{RootCAs: pool, Certificates: []tls.Certificate{clientPair}, ServerName: "127.0.0.1"}); err != nil {
		t.Errorf("with a certificate: %v", err)
	}
	if err := call(&tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}); status.Code(err) != codes.Unavailable {
		t.Errorf("without a certificate: %v", err)
	}
	_, _, stranger := authority(t, t.TempDir())
	if err := call(&tls.Config{RootCAs: pool, Certificates: []tls.Certificate{stranger}, ServerName: "127.0.0.1"}); status.Code(err) != codes.Unavailable {
		t.Errorf("with another authority's certificate: %v", err)
	}
}

func TestTLSFilesThatAreNone(t *testing.T) {
	files, _, _ := authority(t, t.TempDir())
	for name, broken := range map[string]externalgrpc.TLSFiles{
		"no key":                 {Key: "absent", Cert: files.Cert, CACert: files.CACert},
		"no authority":           {Key: files.Key, Cert: files.Cert, CACert: "absent"},
		"a key for an authority": {Key: files.Key, Cert: files.Cert, CACert: files.Key},
	} {
		if _, err := externalgrpc.NewServer(newBare(), externalgrpc.ServerOptions{TLS: &broken}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// authority makes a certificate authority, a server certificate for 127.0.0.1 in files, and a client's.
func authority(t *testing.T, dir string) (externalgrpc.TLSFiles, *x509.CertPool, tls.Certificate) {
	t.Helper()
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	template := func(serial int64) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
	}
	sign := func(c, parent *x509.Certificate, public, private *ecdsa.PrivateKey) []byte {
		der, err := x509.CreateCertificate(rand.Reader, c, parent, &public.PublicKey, private)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	caKey, serverKey, clientKey := key(), key(), key()
	ca := template(1)
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	caDER := sign(ca, ca, caKey, caKey)
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	keyDER, err := x509.MarshalECPrivateKey(serverKey)
	if err != nil {
		t.Fatal(err)
	}
	files := externalgrpc.TLSFiles{
		Key: write("key.pem", "EC PRIVATE KEY", keyDER), Cert: write("cert.pem", "CERTIFICATE", sign(template(2), ca, serverKey, caKey)),
		CACert: write("ca.pem", "CERTIFICATE", caDER),
	}
	parsed, err := x509.ParseCertificate(caDER)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return files, pool, tls.Certificate{Certificate: [][]byte{sign(template(3), ca, clientKey, caKey)}, PrivateKey: clientKey}
}
