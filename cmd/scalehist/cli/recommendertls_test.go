package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// certificateFiles are a certificate for 127.0.0.1 that signs itself, for servers and clients, and its key.
func certificateFiles(t *testing.T, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return written(t, name+".crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		written(t, name+".key", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw}))
}

// TestRecommenderAccess: over TLS, with a token and with a client certificate, `recommend --server` and a replay get the answers
// they get in process; without, the error says what is missing.
func TestRecommenderAccess(t *testing.T) {
	serverCert, serverKey := certificateFiles(t, "server")
	clientCert, clientKey := certificateFiles(t, "client")
	otherCert, otherKey := certificateFiles(t, "other")
	token, wrong := written(t, "token", []byte("0123456789abcdef0123\n")), written(t, "wrong", []byte("another-token-0123456\n"))
	from := []string{"--history", fixture("from-zero"), "--at", "+17s", "-o", "json"}
	want := recommended(t, from...)
	for _, c := range []struct {
		name           string
		serve, client  []string
		refused, error []string
	}{
		{"token", []string{"--tls-cert", serverCert, "--tls-key", serverKey, "--token-file", token},
			[]string{"--ca-file", serverCert, "--token-file", token}, []string{"--ca-file", serverCert, "--token-file", wrong}, []string{"401", "token"}},
		{"no token", []string{"--tls-cert", serverCert, "--tls-key", serverKey, "--token-file", token},
			[]string{"--ca-file", serverCert, "--token-file", token}, []string{"--ca-file", serverCert}, []string{"401", "token"}},
		{"client certificate", []string{"--tls-cert", serverCert, "--tls-key", serverKey, "--client-ca", clientCert},
			[]string{"--ca-file", serverCert, "--cert-file", clientCert, "--key-file", clientKey}, []string{"--ca-file", serverCert, "--cert-file", otherCert, "--key-file", otherKey}, nil},
		{"unknown authority", []string{"--tls-cert", serverCert, "--tls-key", serverKey},
			[]string{"--ca-file", serverCert}, []string{"--ca-file", otherCert}, []string{"certificate"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := startRecommender(t, c.serve...)
			if !strings.HasPrefix(server.url, "https://") {
				t.Fatalf("it serves %s", server.url)
			}
			if diff := cmp.Diff(want, recommended(t, append(append([]string{"--server", server.url}, c.client...), from...)...)); diff != "" {
				t.Errorf("-in process +over TLS:\n%s", diff)
			}
			code, stdout, stderr := run(t, t.Context(), append(append([]string{"recommend", "--server", server.url}, c.refused...), from...)...)
			if code != console.ExitFailed || stdout != "" {
				t.Errorf("exit %d: %s", code, stdout)
			}
			for _, part := range c.error {
				if !strings.Contains(stderr, part) {
					t.Errorf("error %q, want %q in it", stderr, part)
				}
			}
			engine := []string{"replay", fixture("from-zero"), "--control-plane", "memory", "--autoscaler", server.url}
			for i := 0; i < len(c.client); i += 2 {
				engine = append(engine, "--autoscaler-flag=--remote-"+strings.TrimPrefix(c.client[i], "--")+"="+c.client[i+1])
			}
			if code, stdout, stderr := run(t, t.Context(), engine...); code != console.ExitOK || !strings.Contains(stdout, "batch") {
				t.Errorf("replay: exit %d: %s", code, stderr)
			}
			if code, _, stderr := server.stop(); code != console.ExitOK {
				t.Errorf("stopped with %d: %s", code, stderr)
			}
		})
	}
}

func TestRecommenderServeFlags(t *testing.T) {
	short := written(t, "short", []byte("short\n"))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--listen", "0.0.0.0:0"}, "give --token-file or --client-ca, or --insecure-no-auth"},
		{[]string{"--token-file", short}, "at least 16"},
		{[]string{"--tls-cert", "x"}, "give both"},
		{[]string{"--client-ca", "x"}, "need TLS"},
		{[]string{"--tls-cert", "no/such.crt", "--tls-key", "no/such.key"}, "no/such.crt"},
		{[]string{"--max-concurrent", "0"}, "must be more than 0"},
	} {
		code, _, stderr := run(t, t.Context(), append([]string{"recommender", "serve", "--listen", "127.0.0.1:0"}, c.args...)...)
		if code != console.ExitFailed || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit %d, %q, want %q", c.args, code, stderr, c.want)
		}
	}
}
