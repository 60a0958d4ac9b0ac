package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/scalehist/scalehist/internal/httphost"
)

// secureHeaders limits in browsers what a page may do: nothing that is not of this server. There are no inline scripts or
// styles, so the policy needs no exception for them.
func secureHeaders(next http.Handler) http.Handler {
	const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Cache-Control", "no-store")
		if r.TLS != nil {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}

// checkHost refuses names that are not ours.
func (s *Server) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.names().Check(r); err != nil {
			s.refuse(w, r, http.StatusMisdirectedRequest, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) names() httphost.Names {
	return httphost.Names{LocalOnly: s.o.LocalHosts, Others: s.o.Hosts}
}

// authenticate lets those in who are allowed.
func (s *Server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.allowed(r) {
			next.ServeHTTP(w, r)
			return
		}
		if s.o.Tokens == nil {
			s.refuse(w, r, http.StatusForbidden, errors.New("a client certificate is needed, signed by the authority given with --client-ca"))
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="scalehist", charset="UTF-8"`)
		s.refuse(w, r, http.StatusUnauthorized,
			errors.New("a token is needed: as 'Authorization: Bearer TOKEN', or as the password of any user"))
	})
}

func (s *Server) allowed(r *http.Request) bool {
	if s.o.Tokens == nil && !s.o.ClientCertificates {
		return true
	}
	if s.o.ClientCertificates && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return true
	}
	if s.o.Tokens == nil {
		return false
	}
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return s.o.Tokens.Match(strings.TrimSpace(token))
	}
	_, password, ok := r.BasicAuth()
	return ok && s.o.Tokens.Match(password)
}

// Tokens are the lines of a file that let somebody in. A file that is replaced is read again.
type Tokens struct {
	path string

	mu     sync.Mutex
	hashes [][sha256.Size]byte
	read   fileState
}

// fileState shows whether a file is the one that was read.
type fileState struct {
	modified time.Time
	size     int64
}

func stateOf(path string) (fileState, error) {
	info, err := os.Stat(path)
	if err != nil {
		return fileState{}, err
	}
	return fileState{modified: info.ModTime(), size: info.Size()}, nil
}

// minToken is the least length of a token: what is shorter can be tried out.
const minToken = 16

// ReadTokens reads a token file: one token a line, of 16 characters or more, so that an old and a new one can hold at
// the same time.
func ReadTokens(path string) (*Tokens, error) {
	t := &Tokens{path: path}
	if err := t.load(); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Tokens) load() error {
	state, err := stateOf(t.path)
	if err != nil {
		return fmt.Errorf("token file: %w", err)
	}
	data, err := os.ReadFile(t.path)
	if err != nil {
		return fmt.Errorf("token file: %w", err)
	}
	var hashes [][sha256.Size]byte
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case len(line) < minToken:
			return fmt.Errorf("token file %s: a token has %d characters: give at least %d, such as from 'openssl rand -hex 32'", t.path, len(line), minToken)
		default:
			hashes = append(hashes, sha256.Sum256([]byte(line)))
		}
	}
	if len(hashes) == 0 {
		return fmt.Errorf("token file %s holds no token: write one a line", t.path)
	}
	t.hashes, t.read = hashes, state
	return nil
}

// Match says whether the file has the token. It takes the same time for all wrong tokens. While a new file is wrong
// the tokens of the one before it hold.
func (t *Tokens) Match(token string) bool {
	t.mu.Lock()
	if state, err := stateOf(t.path); err == nil && state != t.read {
		if t.load() != nil {
			t.read = state // wrong: not read again until it changes
		}
	}
	hashes := t.hashes
	t.mu.Unlock()
	sum := sha256.Sum256([]byte(token))
	found := 0
	for _, h := range hashes {
		found |= subtle.ConstantTimeCompare(sum[:], h[:])
	}
	return found == 1
}
