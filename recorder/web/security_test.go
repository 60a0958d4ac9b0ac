package web

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func bearer(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

func TestTokens(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	write := func(text string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(file+".new", []byte(text), 0o600), os.Rename(file+".new", file)); err != nil {
			t.Fatal(err)
		}
	}
	const first, second = "first-0123456789abcdef", "second-0123456789abcdef"
	write(first + "\n")
	tokens, err := ReadTokens(file)
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, func(o *Options) { o.Tokens = tokens })
	basic := func(password string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth("me", password) }
	}
	for _, tt := range []struct {
		name string
		set  func(*http.Request)
		code int
	}{
		{"none", func(*http.Request) {}, 401},
		{"bearer", bearer(first), 200},
		{"bearer in lower case", func(r *http.Request) { r.Header.Set("Authorization", "bearer "+first) }, 200},
		{"password", basic(first), 200},
		{"wrong", bearer(second), 401},
		{"prefix", bearer(first[:20]), 401},
		{"longer", bearer(first + "x"), 401},
		{"empty", bearer(""), 401},
		{"empty password", basic(""), 401},
		{"as user", func(r *http.Request) { r.SetBasicAuth(first, "") }, 401},
		{"another scheme", func(r *http.Request) { r.Header.Set("Authorization", "Digest "+first) }, 401},
	} {
		for _, path := range []string{"/", "/api/clusters", "/api/clusters/past/db", "/metrics", "/static/app.js", "/none"} {
			want := tt.code
			if path == "/none" && want == 200 {
				want = 404
			}
			if a := s.get(path, tt.set); a.StatusCode != want || want == 401 && !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Basic ") {
				t.Errorf("%s, %s: %d, want %d", tt.name, path, a.StatusCode, want)
			}
		}
		if a := s.ask(http.MethodPut, "/api/histories/new", reader(s.past()), tt.set); tt.code == 401 && a.StatusCode != 401 {
			t.Errorf("%s: upload %d, want 401", tt.name, a.StatusCode)
		}
	}
	if a := s.get("/healthz"); a.StatusCode != 200 {
		t.Errorf("healthz: %d", a.StatusCode)
	}
	if a := s.get("/readyz"); a.StatusCode != 200 || strings.Contains(string(a.body), "route") {
		t.Errorf("readyz tells a stranger: %d %s", a.StatusCode, a.body)
	}
	if a := s.get("/readyz", bearer(first)); !strings.Contains(string(a.body), "no route to host") {
		t.Errorf("readyz does not tell: %s", a.body)
	}
	s.rec.waiting = []string{"live"}
	if a := s.get("/readyz"); a.StatusCode != 503 || !strings.Contains(string(a.body), `"waiting": 1`) {
		t.Errorf("readyz while one waits: %d %s", a.StatusCode, a.body)
	}
	write(first + "\n" + second + "\n")
	for _, token := range []string{first, second} {
		if a := s.get("/", bearer(token)); a.StatusCode != 200 {
			t.Errorf("%s after a change: %d", token, a.StatusCode)
		}
	}
	write("short\n")
	if a := s.get("/", bearer(second)); a.StatusCode != 200 {
		t.Errorf("a wrong file took the tokens away: %d", a.StatusCode)
	}
	if a := s.get("/", bearer("short")); a.StatusCode != 401 {
		t.Errorf("a token of a wrong file: %d", a.StatusCode)
	}
	write("\n" + second + "\n\n")
	if a := s.get("/", bearer(first)); a.StatusCode != 401 {
		t.Errorf("a token that is gone: %d", a.StatusCode)
	}
	for _, text := range []string{"", "\n\n", "short"} {
		write(text)
		if _, err := ReadTokens(file); err == nil {
			t.Errorf("tokens %q are taken", text)
		}
	}
}

// TestHosts: a name that somebody lets resolve to this machine gets nothing.
func TestHosts(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Hosts = []string{"scalehist.example"} })
	for host, code := range map[string]int{"localhost": 200, "LOCALHOST:8080": 200, "127.0.0.1:1": 200, "127.8.8.8": 200, "[::1]:80": 200,
		"scalehist.example": 200, "evil.example": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example:8080": 421, "10.0.0.1": 421} {
		if a := s.get("/api/clusters", func(r *http.Request) { r.Host = host }); a.StatusCode != code {
			t.Errorf("%s: %d, want %d", host, a.StatusCode, code)
		}
	}
	a := s.get("/readyz", func(r *http.Request) { r.Host = "evil.example" })
	if a.StatusCode != 200 || strings.Contains(string(a.body), "details") {
		t.Errorf("readyz: %d %s", a.StatusCode, a.body)
	}
}

// authority signs certificates.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.cert, a.key, a.pem, _ = a.sign(template)
	return a
}

// sign makes a key and its certificate; the authority's own without an authority yet.
func (a *authority) sign(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey, []byte, []byte) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw})
}

func (a *authority) leaf(serial int64) (cert, key []byte) {
	_, _, cert, key = a.sign(&x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "leaf"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
	return cert, key
}

// TestTLS serves with certificates that are replaced, and lets in who has one of the clients' authority.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path+".new", data, 0o600), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	servers, clients, strangers := newAuthority(t), newAuthority(t), newAuthority(t)
	cert, key := servers.leaf(7)
	files := &TLSFiles{Cert: write("tls.crt", cert), Key: write("tls.key", key), ClientCA: write("ca.crt", clients.pem)}
	config, err := files.Config()
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, func(o *Options) { o.ClientCertificates = true })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := s.app.HTTPServer()
	server.TLSConfig = config
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(listener, "", "") }()
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	roots := x509.NewCertPool()
	roots.AddCert(servers.cert)
	url := "https://" + listener.Addr().String()
	as := func(a *authority) *http.Client {
		c := &tls.Config{RootCAs: roots}
		if a != nil {
			cert, key := a.leaf(1)
			pair, err := tls.X509KeyPair(cert, key)
			if err != nil {
				t.Fatal(err)
			}
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		}
		return &http.Client{Transport: &http.Transport{TLSClientConfig: c, DisableKeepAlives: true}}
	}
	a := send(t, as(clients), http.MethodGet, url+"/api/clusters", nil)
	if a.StatusCode != 200 || a.Header.Get("Strict-Transport-Security") == "" || a.TLS.PeerCertificates[0].SerialNumber.Int64() != 7 {
		t.Errorf("with a certificate: %d", a.StatusCode)
	}
	if a := send(t, as(nil), http.MethodGet, url+"/api/clusters", nil); a.StatusCode != 403 || !strings.Contains(string(a.body), "client certificate") {
		t.Errorf("without a certificate: %d %s", a.StatusCode, a.body)
	}
	if a := send(t, as(nil), http.MethodGet, url+"/healthz", nil); a.StatusCode != 200 {
		t.Errorf("a kubelet: %d", a.StatusCode)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := as(strangers).Do(r); err == nil {
		_, _ = io.Copy(io.Discard, got.Body)
		got.Body.Close()
		t.Errorf("a stranger's certificate: %d, want no connection", got.StatusCode)
	}
	old := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}}}
	if got, err := old.Get(url + "/healthz"); err == nil {
		got.Body.Close()
		t.Error("TLS 1.1 is spoken")
	}
	// A certificate without its key is not taken; with it, it is.
	cert, key = servers.leaf(8)
	write("tls.crt", cert)
	if a := send(t, as(clients), http.MethodGet, url+"/healthz", nil); a.TLS.PeerCertificates[0].SerialNumber.Int64() != 7 {
		t.Errorf("serial %d, want the old one", a.TLS.PeerCertificates[0].SerialNumber)
	}
	write("tls.key", key)
	if a := send(t, as(clients), http.MethodGet, url+"/healthz", nil); a.TLS.PeerCertificates[0].SerialNumber.Int64() != 8 {
		t.Errorf("serial %d, want the new one", a.TLS.PeerCertificates[0].SerialNumber)
	}
	write("ca.crt", strangers.pem)
	if a := send(t, as(strangers), http.MethodGet, url+"/api/clusters", nil); a.StatusCode != 200 {
		t.Errorf("the new authority's: %d", a.StatusCode)
	}
	for name, wrong := range map[string]*TLSFiles{"no key": {Cert: files.Cert, Key: "none"}, "no CA": {Cert: files.Cert, Key: files.Key, ClientCA: files.Key}} {
		if _, err := wrong.Config(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
