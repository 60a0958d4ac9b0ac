package web

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

// pipes is a listener whose connections hold nothing: what one side does not read, the other has not written.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// stalledSite is a site over pipes; handled counts the requests that are being answered.
type stalledSite struct {
	*site
	pipes   *pipes
	handled sync.WaitGroup
}

func newStalledSite(t *testing.T, change ...func(*Options)) *stalledSite {
	t.Helper()
	s := &stalledSite{site: newSite(t, change...), pipes: &pipes{conns: make(chan net.Conn), done: make(chan struct{})}}
	server := s.app.HTTPServer()
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.handled.Done()
		s.app.ServeHTTP(w, r)
	})
	served := make(chan error, 1)
	go func() { served <- server.Serve(s.pipes) }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return s
}

// begin asks for a path and reads the head of the answer; nothing of its body, until the caller does.
func (s *stalledSite) begin(path string) (*http.Response, net.Conn) {
	s.t.Helper()
	ours, theirs := net.Pipe()
	s.handled.Add(1)
	s.pipes.conns <- theirs
	if _, err := fmt.Fprintf(ours, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
		s.t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReaderSize(ours, 16), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer, ours
}

// unlinked counts the copies that have no name any more and take room.
func (s *stalledSite) unlinked() int {
	s.t.Helper()
	fds, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(fds) == 0 {
		s.t.Skip("there is no /proc/self/fd here")
	}
	n := 0
	for _, fd := range fds {
		target, err := os.Readlink(fd)
		if err == nil && strings.HasPrefix(target, s.dir) && strings.Contains(target, ".download-") {
			n++
		}
	}
	return n
}

// TestStalledDownloads: however many ask and do not read, there are few copies; who asks for the same shares one, and who has to wait
// gets an answer that says so. When their connections end, the copies are removed.
func TestStalledDownloads(t *testing.T) {
	s := newStalledSite(t)
	var conns []net.Conn
	windows := func(i int) string {
		return fmt.Sprintf("/api/clusters/past/db?to=2026-01-01T00:0%d:00Z", 1+i%8)
	}
	for i := range 60 {
		answer, conn := s.begin(windows(i))
		conns = append(conns, conn)
		switch busy := i%8 >= maxCopies; {
		case busy && (answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") != "30"):
			t.Fatalf("download %d: %d, Retry-After %q; want 503 and 30", i, answer.StatusCode, answer.Header.Get("Retry-After"))
		case !busy && answer.StatusCode != http.StatusOK:
			t.Fatalf("download %d: %d", i, answer.StatusCode)
		}
		if n := s.unlinked(); n > maxCopies {
			t.Fatalf("%d copies after %d downloads, want at most %d", n, i+1, maxCopies)
		}
	}
	for _, c := range conns {
		_ = c.Close()
	}
	s.handled.Wait()
	if n := s.unlinked(); n != 0 || len(s.app.copies.alive) != 0 || s.app.copies.places != 0 {
		t.Errorf("%d copies, %d alive, %d places, want none", n, len(s.app.copies.alive), s.app.copies.places)
	}
	if a := s.get(windows(7)); a.StatusCode != http.StatusOK {
		t.Errorf("a download after them: %d %s", a.StatusCode, a.body)
	}
}

// TestSharedCopyIsWhole: those who share a copy each get all of it, and a history that changed is copied again.
func TestSharedCopyIsWhole(t *testing.T) {
	s := newStalledSite(t)
	first, one := s.begin("/api/clusters/past/db")
	second, two := s.begin("/api/clusters/past/db")
	if n := s.unlinked(); n != 1 {
		t.Errorf("%d copies, want one for both", n)
	}
	if err := os.Chtimes(filepath.Join(s.dir, "past.db"), time.Now(), start); err != nil {
		t.Fatal(err)
	}
	third, three := s.begin("/api/clusters/past/db")
	if n := s.unlinked(); n != 2 {
		t.Errorf("%d copies after the history changed, want 2", n)
	}
	for _, a := range []*http.Response{second, first, third} {
		b, err := io.ReadAll(a.Body)
		if err != nil || int64(len(b)) != a.ContentLength || !strings.HasPrefix(string(b), "SQLite format 3") {
			t.Errorf("%d bytes of %d: %v", len(b), a.ContentLength, err)
		}
	}
	for _, c := range []net.Conn{one, two, three} {
		_ = c.Close()
	}
	s.handled.Wait()
}

// TestStalledDownloadEnds: who reads nothing is left alone after a minute; here the minute is over when it begins.
func TestStalledDownloadEnds(t *testing.T) {
	s := newStalledSite(t, func(o *Options) { o.Clock = testclock.NewFakePassiveClock(time.Now().Add(-ioTimeout)) })
	ours, theirs := net.Pipe()
	defer ours.Close()
	s.handled.Add(1)
	s.pipes.conns <- theirs
	if _, err := fmt.Fprint(ours, "GET /api/clusters/past/db HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	s.handled.Wait() // although nobody reads
	if n := s.unlinked(); n != 0 {
		t.Errorf("%d copies are left", n)
	}
}

// deadlines is a connection that notes the deadlines it is given.
type deadlines struct {
	http.ResponseWriter
	read, write time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error  { d.read = t; return nil }
func (d *deadlines) SetWriteDeadline(t time.Time) error { d.write = t; return nil }
func (d *deadlines) Write(b []byte) (int, error)        { return len(b), nil }
func (d *deadlines) Read(b []byte) (int, error)         { return len(b), nil }

// TestDrippingTransferEnds: each piece has a minute, and all pieces have the time that a slow line takes, down and up.
func TestDrippingTransferEnds(t *testing.T) {
	clock := testclock.NewFakePassiveClock(start)
	conn := &deadlines{}
	w := &patientWriter{conn, http.NewResponseController(conn), newPace(clock)}
	r := &patientReader{conn, http.NewResponseController(conn), newPace(clock)}
	piece := make([]byte, 32<<10)
	for i, tt := range []struct{ at, want time.Duration }{
		{0, time.Minute},
		{time.Second, time.Minute + time.Second},
		{50 * time.Second, time.Minute + 4*time.Second}, // 64 KiB sent: 4 s of the slowest line
		{time.Minute, time.Minute + 6*time.Second},
	} {
		clock.SetTime(start.Add(tt.at))
		if _, err := w.Write(piece); err != nil || conn.write.Sub(start) != tt.want {
			t.Errorf("piece %d sent at %s: deadline %s, want %s (%v)", i, tt.at, conn.write.Sub(start), tt.want, err)
		}
		if _, err := r.Read(piece); err != nil || conn.read.Sub(start) != tt.want {
			t.Errorf("piece %d received at %s: deadline %s, want %s (%v)", i, tt.at, conn.read.Sub(start), tt.want, err)
		}
	}
}

// TestStalledUploads: there are places for a few files; who comes after them is asked to wait, and leaves nothing on the disk.
func TestStalledUploads(t *testing.T) {
	s := newStalledSite(t)
	var conns []net.Conn
	for i := range maxUploads + 1 {
		ours, theirs := net.Pipe()
		conns = append(conns, ours)
		s.handled.Add(1)
		s.pipes.conns <- theirs
		if _, err := fmt.Fprintf(ours, "PUT /api/histories/new-%d HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n", i); err != nil {
			t.Fatal(err)
		}
		if i < maxUploads {
			// Written means read, over a pipe: the file has its place once more than the server's buffer is taken.
			if _, err := ours.Write(make([]byte, 16<<10)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		answer, err := http.ReadResponse(bufio.NewReader(ours), nil)
		if err != nil || answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") != "30" {
			t.Fatalf("upload %d: %v %v; want 503 and when to ask again", i, answer, err)
		}
	}
	for _, c := range conns {
		_ = c.Close()
	}
	s.handled.Wait()
	if n := len(s.app.uploads); n != 0 {
		t.Errorf("%d places are taken", n)
	}
	for _, name := range s.files() {
		if strings.HasPrefix(name, ".upload") {
			t.Errorf("%s is left behind", name)
		}
	}
}

// TestCrossSiteDownload: another site's page cannot have a browser download, with the credentials that it keeps.
func TestCrossSiteDownload(t *testing.T) {
	s := newSite(t)
	for site, want := range map[string]int{"": http.StatusOK, "none": http.StatusOK, "same-origin": http.StatusOK, "same-site": http.StatusForbidden, "cross-site": http.StatusForbidden} {
		a := s.get("/api/clusters/past/db", func(r *http.Request) {
			if site != "" {
				r.Header.Set("Sec-Fetch-Site", site)
			}
		})
		if a.StatusCode != want {
			t.Errorf("Sec-Fetch-Site %q: %d %s, want %d", site, a.StatusCode, a.body, want)
		}
	}
}
