package emulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// childEnv makes this binary a worker of that server until its input ends.
const childEnv = "EMULATE_TEST_CHILD"

func TestMain(m *testing.M) {
	if text := os.Getenv(childEnv); text != "" {
		if err := child(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child works for "SERVER HOST", one with " stress-ng" after it by that.
func child(text string) error {
	parts := strings.Fields(text)
	server, name := parts[0], parts[1]
	var meter Meter = Process{}
	if len(parts) > 2 {
		meter = Tree{}
	}
	w, err := NewWorker(meter, 1024, 1000)
	if err == nil && len(parts) > 2 {
		err = w.UseStressNG()
	}
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(listener, w.Handler()) }()
	if err := w.Register(context.Background(), server, name, listener.Addr().(*net.TCPAddr).Port, func(error) {}); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, w.Close())
}

// worker notes what it is asked, as the original's: it answers nothing that says what it used.
type worker struct {
	mu    sync.Mutex
	asked []string
}

func (w *worker) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, r.URL.RequestURI())
}

func register(t *testing.T, s *Server, path string) (int, Amount) {
	t.Helper()
	rec := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.RemoteAddr = "127.0.0.1:1"
	s.Handler().ServeHTTP(rec, r)
	var a Amount
	if rec.Code == http.StatusOK {
		if err := json.Unmarshal(rec.Body.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
	}
	return rec.Code, a
}

// TestEveryValueInTurn: the first registration begins; each period has the next of three values, the first again after the last, which
// the original never plays again; at the end, nothing is asked for.
func TestEveryValueInTurn(t *testing.T) {
	w, reported := &worker{}, make(chan struct{})
	web := httptest.NewServer(w)
	defer web.Close()
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	var samples []string
	s, err := New(Options{Curves: []Curve{{Values: []Amount{{10, 100}, {20, 200}, {30, 300}}}}, Period: time.Minute, Periods: 5, Clock: clock,
		Report: func(s Sample) {
			samples = append(samples, fmt.Sprint(s.Host, s.From.Unix(), s.To.Unix(), s.Asked, s.Measured, s.Err))
			reported <- struct{}{}
		}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(t.Context()) }()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(web.URL, "http://"))
	if code, a := register(t, s, "/metrics/pod-a/?port="+port); code != http.StatusOK || a != (Amount{10, 100}) {
		t.Errorf("registered: %d, %+v", code, a)
	}
	for range 5 {
		for !clock.HasWaiters() { // the ticker is there once Run has seen the registration
			runtime.Gosched()
		}
		clock.Step(time.Minute)
		<-reported
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/?cpu=200&ram=20", "/?cpu=300&ram=30", "/?cpu=100&ram=10", "/?cpu=200&ram=20", "/?cpu=0&ram=0"}, w.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	want := []string{"pod-a0 60 {10 100} <nil> <nil>", "pod-a60 120 {20 200} <nil> <nil>", "pod-a120 180 {30 300} <nil> <nil>", "pod-a180 240 {10 100} <nil> <nil>", "pod-a240 300 {20 200} <nil> <nil>"}
	if diff := cmp.Diff(want, samples); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
	if code, _ := register(t, s, "/metrics/pod-b/"); code != http.StatusGone {
		t.Errorf("after the end: %d", code)
	}
}

// TestRegister: what is refused, and who gets which curve.
func TestRegister(t *testing.T) {
	s, err := New(Options{Curves: []Curve{{Name: "b", Values: []Amount{{1, 1}}}, {Name: "c", Values: []Amount{{2, 2}}}}, Period: time.Second, Clock: clocktesting.NewFakeClock(time.Unix(0, 0))})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/metrics/A_B/": 400, "/metrics/a%2fb/": 400, "/metrics/a/?port=0": 400, "/metrics/a/?port=x": 400, "/metrics/a": 404, "/": 404} {
		if code, _ := register(t, s, path); code != want && code != http.StatusMovedPermanently && code != http.StatusTemporaryRedirect {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
	for _, c := range []struct {
		host string
		want Amount
	}{{"x", Amount{1, 1}}, {"c", Amount{2, 2}}, {"y", Amount{1, 1}}, {"z", Amount{2, 2}}, {"x", Amount{1, 1}}, {"b", Amount{1, 1}}} {
		if code, got := register(t, s, "/metrics/"+c.host+"/"); code != http.StatusOK || got != c.want {
			t.Errorf("%s: %d %+v, want %+v", c.host, code, got, c.want)
		}
	}
	for _, o := range []Options{{}, {Curves: []Curve{{}}, Period: 1}, {Curves: []Curve{{Values: []Amount{{-1, 0}}}}, Period: 1}, {Curves: []Curve{{Values: []Amount{{}}}}},
		{Curves: []Curve{{Values: []Amount{{}}}}, Period: 1, Address: "http://fixed"}, {Curves: []Curve{{Values: []Amount{{}}}, {Values: []Amount{{}, {}}}}, Period: 1}} {
		if _, err := New(o); err == nil {
			t.Errorf("taken: %+v", o)
		}
	}
}

// TestSilent: a worker that does not answer, or refuses, is a gap with its reason, and holds nobody up.
func TestSilent(t *testing.T) {
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "too much", http.StatusUnprocessableEntity)
	}))
	defer refuses.Close()
	var got []Sample
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	s, err := New(Options{Curves: []Curve{{Values: []Amount{{1, 1}}}}, Period: time.Minute, Clock: clock, Report: func(s Sample) { got = append(got, s) }})
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(refuses.URL, "http://"))
	register(t, s, "/metrics/refuses/?port="+port)
	closed := httptest.NewServer(nil)
	_, port, _ = net.SplitHostPort(strings.TrimPrefix(closed.URL, "http://"))
	closed.Close()
	register(t, s, "/metrics/absent/?port="+port)
	s.next(t.Context(), false)
	if len(got) != 2 || got[0].Host != "absent" || got[0].Err == nil || got[1].Err == nil || !strings.Contains(got[1].Err.Error(), "too much") || got[0].Measured != nil {
		t.Errorf("%+v", got)
	}
}

// What is measured may be so much more than what is asked for in a period. How much less is a matter of who else has the processors: a third of
// what is asked for comes through on a machine that is busy, and nothing from a process that does not burn.
type bounds struct {
	cpu    int64   // millicores more, and a quarter
	memory float64 // the least share
}

const memoryError = 24 << 20

// TestTwoWorkers: two processes hold and burn what each is asked for, and measure it. Docs/emulate.md has how exact it is where processors are free.
func TestTwoWorkers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("workers measure by /proc")
	}
	work(t, "", bounds{cpu: 60, memory: 1}, map[string][]Amount{"small": {{96, 150}, {64, 300}}, "large": {{192, 300}, {320, 100}}})
}

// TestStressNG: the same by stress-ng.
func TestStressNG(t *testing.T) {
	if _, err := exec.LookPath("stress-ng"); err != nil {
		t.Skip("stress-ng is not installed: workers that use it are not tested (Debian: apt-get install stress-ng)")
	}
	// It starts each period, which takes CPU of its own, and on a machine that is busy a while until it has touched what it holds.
	work(t, " stress-ng", bounds{cpu: 300, memory: 0.5}, map[string][]Amount{"small": {{96, 150}, {128, 300}}, "large": {{128, 300}, {160, 100}}})
}

// work has processes hold and burn what is asked for, and compares what they measure.
func work(t *testing.T, with string, b bounds, asked map[string][]Amount) {
	t.Helper()
	var curves []Curve
	for name, values := range asked {
		curves = append(curves, Curve{name, values})
	}
	var got []Sample
	s, err := New(Options{Curves: curves, Period: 2 * time.Second, Periods: 4, Clock: clock.RealClock{}, Report: func(s Sample) { got = append(got, s) }})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	for name := range asked {
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env = append(os.Environ(), childEnv+"="+server.URL+" "+name+with)
		c.Stderr = os.Stderr
		stdin, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = stdin.Close()
			if err := c.Wait(); err != nil {
				t.Error(err)
			}
		}()
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	burnt, wanted, samples := map[string]int64{}, map[string]int64{}, map[string]int{}
	for _, s := range got {
		if s.Err != nil || s.Measured == nil {
			t.Logf("%s: %v", s.Host, s.Err) // it had no processor for longer than the server waits
			continue
		}
		m := s.Measured
		burnt[s.Host] += m.CPUMilli
		wanted[s.Host] += s.Asked.CPU
		samples[s.Host]++
		if m.CPUMilli > s.Asked.CPU+b.cpu+s.Asked.CPU/4 {
			t.Errorf("%s: CPU %d millicores over %.1f s, asked for %d", s.Host, m.CPUMilli, m.Seconds, s.Asked.CPU)
		}
		if d := m.MemoryBytes - s.Asked.RAM*mib; !raced && (d > memoryError || m.MemoryBytes+memoryError < int64(b.memory*float64(s.Asked.RAM*mib))) {
			t.Errorf("%s: memory %d MiB, asked for %d", s.Host, m.MemoryBytes/mib, s.Asked.RAM)
		}
	}
	for name := range asked {
		if samples[name] < 2 || burnt[name] < wanted[name]/3 {
			t.Errorf("%s: %d samples, CPU %d of %d millicores", name, samples[name], burnt[name], wanted[name])
		}
	}
}

// TestMeters: what files of the kernel say.
func TestMeters(t *testing.T) {
	cpu, memory, err := parseProcess("42 (a name) with) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0", "9000 512 3 4", 4096)
	if err != nil || cpu != 3*time.Second || memory != 2<<20 {
		t.Errorf("%v, %d, %v", cpu, memory, err)
	}
	for _, broken := range [][2]string{{"", ""}, {"1 (a) S 1", "1 2"}, {"42 (a) S 1 2 3 4 5 6 7 8 9 10 x 50", "1 2"}} {
		if _, _, err := parseProcess(broken[0], broken[1], 4096); err == nil {
			t.Errorf("taken: %q", broken)
		}
	}
	parent, cpu, err := parseFamily("42 (a name) with) S 7 2 3 4 5 6 7 8 9 10 250 50 30 20 0")
	if err != nil || parent != 7 || cpu != 3500*time.Millisecond {
		t.Errorf("%d, %v, %v", parent, cpu, err)
	}
	for _, broken := range []string{"", "42 (a) S 1 2", "42 (a) S x 2 3 4 5 6 7 8 9 10 250 50 30 20"} {
		if _, _, err := parseFamily(broken); err == nil {
			t.Errorf("taken: %q", broken)
		}
	}
	dir := t.TempDir()
	for file, text := range map[string]string{"cpu.stat": "usage_usec 1500000\nuser_usec 1\n", "memory.stat": "anon 1\ninactive_file 1000\n", "memory.current": "5000\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if cpu, memory, err := (Cgroup{dir}).Read(); err != nil || cpu != 1500*time.Millisecond || memory != 4000 {
		t.Errorf("%v, %d, %v", cpu, memory, err)
	}
	if _, _, err := (Cgroup{t.TempDir()}).Read(); err == nil {
		t.Error("a directory without files is taken")
	}
}

// TestWorkerRefuses: a worker uses no more than it was allowed to.
func TestWorkerRefuses(t *testing.T) {
	w, err := NewWorker(Process{}, 100, 1000)
	if err != nil {
		t.Skip(err)
	}
	for _, query := range []string{"", "ram=1", "ram=1&cpu=x", "ram=101&cpu=1", "ram=1&cpu=1001", "ram=-1&cpu=0", "ram=1&cpu=9223372036854775808"} {
		rec := httptest.NewRecorder()
		w.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/?"+query, nil))
		if rec.Code < 400 {
			t.Errorf("%s: %d", query, rec.Code)
		}
	}
}
