package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Options are the settings of a Service. Config and Dir are needed.
type Options struct {
	// Config is the configuration: a file, or a directory with clusters.yaml.
	Config string
	// Dir holds the histories. It is made if it is not there, and belongs to one service at a time.
	Dir string
	// Source says in a new history who wrote it.
	Source string
	// Clock gives observed time and the waits between attempts; default the wall clock.
	Clock clock.Clock
	// ClusterChanged and ConfigChanged, if set, are called at each change of state. They are called from several
	// goroutines and must not block.
	ClusterChanged func(Status)
	ConfigChanged  func(ConfigStatus)
}

// Service records the clusters of a configuration. Make it with New, then Run it once.
type Service struct {
	o       Options
	lock    *flock.Flock
	prepare func(c *Cluster, path, source string, wall clock.Clock) (recording, string, error)

	applying sync.Mutex // one configuration at a time
	mu       sync.Mutex
	content  string // of the configuration in force or refused last
	initial  *Config
	config   ConfigStatus
	workers  map[string]*worker
	ending   map[string]<-chan struct{} // of workers that were asked to end
	tried    map[string]bool
	begun    bool // the first configuration was applied
	ready    bool // each cluster of it was tried
	running  sync.WaitGroup
	kick     chan struct{}
}

// InUseError: another service works in the directory.
type InUseError struct{ Dir string }

func (e *InUseError) Error() string {
	return fmt.Sprintf("directory %s is in use by another 'scalehist serve': stop it, or give another directory", e.Dir)
}

// New reads the configuration and takes the directory. Nothing is recorded yet. Close it if Run is not called.
func New(o Options) (*Service, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.ClusterChanged == nil {
		o.ClusterChanged = func(Status) {}
	}
	if o.ConfigChanged == nil {
		o.ConfigChanged = func(ConfigStatus) {}
	}
	if o.Dir == "" {
		return nil, errors.New("service: no directory to write to: set Dir")
	}
	s := &Service{o: o, prepare: prepare, workers: map[string]*worker{}, ending: map[string]<-chan struct{}{}, tried: map[string]bool{},
		kick: make(chan struct{}, 1)}
	content, cfg, err := s.read()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("service: %w", err)
	}
	s.lock = flock.New(filepath.Join(o.Dir, ".serve.lock"))
	switch ok, err := s.lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("service: lock %s: %w", o.Dir, err)
	case !ok:
		return nil, errors.Join(&InUseError{Dir: o.Dir}, s.lock.Close())
	}
	s.initial, s.content = cfg, content
	s.config = ConfigStatus{Path: configFile(o.Config), LoadedAt: o.Clock.Now(), Clusters: len(cfg.Clusters)}
	return s, nil
}

// read gives the configuration and its text.
func (s *Service) read() (string, *Config, error) {
	file := configFile(s.o.Config)
	data, err := os.ReadFile(file)
	if err != nil {
		return "", nil, fmt.Errorf("config: %w", err)
	}
	cfg, err := Parse(data, file)
	return string(data), cfg, err
}

// Close gives the directory back.
func (s *Service) Close() error { return s.lock.Close() }

// Run records until ctx ends; then it ends every recording, waits until all is written, and returns nil.
func (s *Service) Run(ctx context.Context) error {
	files := newFiles()
	defer files.close()
	s.apply(ctx, s.initial)
	s.watch(files)
	for {
		select {
		case <-ctx.Done():
			s.running.Wait()
			return nil
		case <-files.changed:
		case <-s.kick:
		}
		s.reload(ctx)
		s.watch(files)
	}
}

// Reload asks Run to read the configuration and the files it names again, as a change of them does.
func (s *Service) Reload() {
	select {
	case s.kick <- struct{}{}:
	default: // it was asked already
	}
}

// reload takes up what changed.
func (s *Service) reload(ctx context.Context) {
	content, cfg, err := s.read()
	s.mu.Lock()
	same := content == s.content && (err == nil) == (s.config.Problem == "")
	s.content = content
	now, news := s.o.Clock.Now(), false
	switch {
	case err != nil:
		if problem := err.Error(); problem != s.config.Problem {
			s.config.Problem, s.config.FailedAt = problem, now
			s.config.Refused++
			news = true
			klog.FromContext(ctx).Error(err, "The configuration is not in force, the one before it stays")
		}
	case !same:
		s.config.Problem, s.config.FailedAt, s.config.LoadedAt, s.config.Clusters = "", time.Time{}, now, len(cfg.Clusters)
		s.config.Reloads++
		news = true
		klog.FromContext(ctx).Info("The configuration was read again", "clusters", len(cfg.Clusters))
	}
	status := s.config
	s.mu.Unlock()
	if news {
		s.o.ConfigChanged(status)
	}
	if err == nil && !same {
		s.apply(ctx, cfg)
	}
	s.mu.Lock()
	workers := s.list()
	s.mu.Unlock()
	for _, w := range workers {
		w.filesChanged()
	}
}

// apply ends what is not in the configuration any more and starts what is new in it. It does not wait for an end: the
// next worker of a history does.
func (s *Service) apply(ctx context.Context, cfg *Config) {
	s.applying.Lock()
	defer s.applying.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
	wanted := map[string]Cluster{}
	for _, c := range cfg.Clusters {
		wanted[c.Name] = c
	}
	for _, w := range s.list() {
		if c, ok := wanted[w.cluster.Name]; ok && reflect.DeepEqual(c, w.cluster) {
			delete(wanted, c.Name)
			continue
		}
		w.stop()
		s.ending[w.cluster.Name] = w.done
		delete(s.workers, w.cluster.Name)
		delete(s.tried, w.cluster.Name)
	}
	for _, c := range cfg.Clusters {
		if c, ok := wanted[c.Name]; ok {
			s.start(ctx, c)
		}
	}
}

// start runs a worker. Call it with s.mu held.
func (s *Service) start(ctx context.Context, c Cluster) {
	ctx, stop := context.WithCancel(ctx)
	w := &worker{cluster: c, path: s.HistoryPath(c.Name), source: s.o.Source, clock: s.o.Clock, prepare: s.prepare, changed: s.o.ClusterChanged,
		stop: stop, done: make(chan struct{}), again: make(chan struct{}, 1)}
	w.status = Status{Name: c.Name, State: StateConnecting, Path: w.path, Since: s.o.Clock.Now()}
	w.tried = sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.workers[c.Name] == w {
			s.tried[c.Name] = true
		}
	})
	before := s.ending[c.Name]
	delete(s.ending, c.Name)
	s.workers[c.Name] = w
	s.running.Go(func() {
		defer stop()
		w.run(ctx, before)
	})
}

// watch looks at the files that matter now.
func (s *Service) watch(f *files) {
	s.mu.Lock()
	paths := []string{s.o.Config, configFile(s.o.Config)}
	for _, w := range s.list() {
		paths = append(paths, w.cluster.files()...)
	}
	s.mu.Unlock()
	err := f.set(paths)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config.Unwatched = ""
	if err != nil {
		s.config.Unwatched = err.Error()
	}
}

// list are the workers in the order of their names. Call it with s.mu held.
func (s *Service) list() []*worker {
	out := make([]*worker, 0, len(s.workers))
	for _, w := range s.workers {
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b *worker) int { return strings.Compare(a.cluster.Name, b.cluster.Name) })
	return out
}

// Clusters are those of the configuration in force, by name.
func (s *Service) Clusters() []Status {
	s.mu.Lock()
	workers := s.list()
	tried := make([]bool, len(workers))
	for i, w := range workers {
		tried[i] = s.tried[w.cluster.Name]
	}
	s.mu.Unlock()
	out := make([]Status, len(workers))
	for i, w := range workers {
		out[i] = w.Status()
		out[i].Tried = tried[i]
	}
	return out
}

// Ready says whether each cluster of the first configuration has been tried once, and which ones not yet. Clusters that
// a later configuration brings do not take it back.
func (s *Service) Ready() (ready bool, waiting []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready {
		return true, nil
	}
	for _, c := range s.initial.Clusters {
		if _, still := s.workers[c.Name]; !s.tried[c.Name] && (still || !s.begun) {
			waiting = append(waiting, c.Name)
		}
	}
	s.ready = s.begun && len(waiting) == 0
	return s.ready, waiting
}

// Config says what became of the configuration.
func (s *Service) Config() ConfigStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config
}

// Dir holds the histories.
func (s *Service) Dir() string { return s.o.Dir }

// HistoryPath is where the history of that name is.
func (s *Service) HistoryPath(name string) string { return filepath.Join(s.o.Dir, name+".db") }
