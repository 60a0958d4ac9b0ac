package emulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Worker holds memory and burns CPU as it is asked. What the process takes for itself counts: of memory it holds what is missing, so that it
// cannot use less than it takes to run.
type Worker struct {
	// meter measures this process.
	meter Meter
	// maxRAM and maxCPU bound what is held and burnt, in MiB and millicores.
	maxRAM, maxCPU int64

	mu    sync.Mutex
	held  [][]byte
	last  reading
	stop  context.CancelFunc
	burns sync.WaitGroup
	// stress does the work where it is not nil.
	stress *stressNG
}

// reading is what was measured at an instant.
type reading struct {
	at     time.Time
	cpu    time.Duration
	memory int64
}

// Meter measures what a process, or the container it is in, has used.
type Meter interface {
	// Read is CPU time since the start, and bytes in memory now.
	Read() (cpu time.Duration, memory int64, err error)
}

// NewWorker returns a worker that is asked for at most so much. The error says that it cannot measure.
func NewWorker(m Meter, maxRAM, maxCPU int64) (*Worker, error) {
	w := &Worker{meter: m, maxRAM: maxRAM, maxCPU: maxCPU, stop: func() {}}
	var err error
	w.last, err = w.read()
	return w, err
}

func (w *Worker) read() (reading, error) {
	cpu, memory, err := w.meter.Read()
	return reading{time.Now(), cpu, memory}, err
}

// Set has it use another amount, and returns what it used since the last.
func (w *Worker) Set(a Amount) (*Measured, error) {
	if a.RAM < 0 || a.RAM > w.maxRAM || a.CPU < 0 || a.CPU > w.maxCPU {
		return nil, fmt.Errorf("ram=%d, cpu=%d: want 0 to %d MiB and 0 to %d millicores", a.RAM, a.CPU, w.maxRAM, w.maxCPU)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now, err := w.read()
	if err != nil {
		return nil, err
	}
	m := &Measured{MemoryBytes: now.memory, Seconds: now.at.Sub(w.last.at).Seconds()}
	if m.Seconds > 0 {
		m.CPUMilli = int64(float64(now.cpu-w.last.cpu) / float64(now.at.Sub(w.last.at)) * 1000)
	}
	w.last = now
	if w.stress != nil {
		return m, w.stress.use(a, w.meter)
	}
	spent := processTime()
	w.stop()
	w.burns.Wait()
	if err := w.hold(a.RAM); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	if a.CPU > 0 {
		b := &burner{began: now.at, spent: spent, cores: float64(a.CPU) / 1000, n: int((a.CPU + 999) / 1000)}
		for range b.n {
			w.burns.Go(func() { b.burn(ctx) })
		}
	}
	return m, nil
}

const mib = 1 << 20

// hold has the process use so much memory, by chunks of a MiB of which each page is touched.
func (w *Worker) hold(ram int64) error {
	_, memory, err := w.meter.Read()
	if err != nil {
		return err
	}
	own := memory - int64(len(w.held))*mib // that of the process itself
	want := max(0, (ram*mib-own)/mib)
	if want < int64(len(w.held)) {
		clear(w.held[want:])
		w.held = w.held[:want]
		debug.FreeOSMemory()
	}
	page := os.Getpagesize()
	for int64(len(w.held)) < want {
		chunk := make([]byte, mib)
		for i := 0; i < len(chunk); i += page {
			chunk[i] = byte(i>>12) | 1
		}
		w.held = append(w.held, chunk)
	}
	return nil
}

// Close lets go of everything.
func (w *Worker) Close() error {
	_, err := w.Set(Amount{})
	return err
}

// slice is for how long a burner computes before it looks at what was burnt, most the longest time between two looks.
const (
	slice = 5 * time.Millisecond
	most  = 100 * time.Millisecond
)

// burner burns cores from began on, with others that share the work.
type burner struct {
	began time.Time
	// spent is the CPU time of the process at began: what it takes for itself, to touch memory too, is part of what is asked for.
	spent time.Duration
	cores float64
	n     int
}

// burn has one of the burners compute while the process has used less than it should have by now, until ctx ends. What could not be used because
// others had the CPU is made up for.
func (b *burner) burn(ctx context.Context) {
	for ctx.Err() == nil {
		due := time.Duration(b.cores*float64(time.Since(b.began))) - (processTime() - b.spent)
		share := due / time.Duration(b.n)
		if share >= slice/2 {
			spin(min(share, slice))
			continue
		}
		pause(ctx, max(slice/2, min(most, time.Duration(float64(slice-due)/b.cores))))
	}
}

// spin computes for so long.
func spin(d time.Duration) {
	x := uint64(1)
	for end := time.Now().Add(d); time.Now().Before(end); {
		for range 1000 {
			x = x*6364136223846793005 + 1442695040888963407
		}
	}
	runtime.KeepAlive(x)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Handler answers what a Server asks.
func (w *Worker) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(rw http.ResponseWriter, r *http.Request) {
		a, err := amountOf(r.URL.Query())
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		m, err := w.Set(a)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(m)
	})
	return mux
}

func amountOf(q url.Values) (a Amount, err error) {
	for key, to := range map[string]*int64{"ram": &a.RAM, "cpu": &a.CPU} {
		if *to, err = strconv.ParseInt(q.Get(key), 10, 64); err != nil {
			return a, fmt.Errorf("%s=%q: want a whole number", key, q.Get(key))
		}
	}
	return a, nil
}

// retry is how long a worker waits before it registers again.
const retry = time.Second

// Register asks a server until it answers, and begins with what that says. Port, unless it is 0, is where this worker is asked.
func (w *Worker) Register(ctx context.Context, server, host string, port int, waits func(error)) error {
	address := strings.TrimSuffix(server, "/") + "/metrics/" + url.PathEscape(host) + "/"
	if port != 0 {
		address += "?port=" + strconv.Itoa(port)
	}
	client := &http.Client{Timeout: Timeout}
	for {
		a, again, err := ask(ctx, client, address)
		if err == nil {
			_, err = w.Set(a)
			return err
		}
		if ctx.Err() != nil || !again {
			return err
		}
		waits(err)
		pause(ctx, retry)
	}
}

// ask registers once; again says that another try may do better.
func ask(ctx context.Context, client *http.Client, address string) (a Amount, again bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return a, false, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return a, true, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return a, true, err
	}
	if answer.StatusCode != http.StatusOK {
		return a, answer.StatusCode >= http.StatusInternalServerError, fmt.Errorf("%s: %s", answer.Status, strings.TrimSpace(string(body)))
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return a, false, errors.New("the answer is not that of a server of 'scalehist emulate serve'")
	}
	return a, false, nil
}
