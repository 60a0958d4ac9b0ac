package recorder

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	etcd "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/scalehist/scalehist/recorder/history"
)

// The load: status patches of this many pods, by so many clients, at most so many a second (0: as fast as it goes).
const (
	loadPods    = 2000
	loadClients = 48
)

// loadFor is SCALEHIST_LOAD, or the default for a smoke run.
func loadFor(b *testing.B) time.Duration {
	b.Helper()
	text := os.Getenv("SCALEHIST_LOAD")
	if text == "" {
		return 3 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		b.Fatalf("SCALEHIST_LOAD: %v", err)
	}
	return d
}

// BenchmarkRecorderLoad measures a recorder, in a process of its own, against a real API server for SCALEHIST_LOAD (3s).
// One operation is the whole run. Each change is a pod's phase and a condition. "requests" sends each change to the API
// server, as fast as it takes them; "watch" puts what the API server would store into its etcd, 5,000 times a second, so
// that the API server's watches, and all after them, are the real ones. loss counts pods whose last change is not in the
// history, and changes that were made and that the recorder did not see.
func BenchmarkRecorderLoad(b *testing.B) {
	d := loadFor(b)
	for _, l := range []loadBy{{name: "requests", change: byRequest}, {name: "watch", perSecond: 5000, change: byStore}} {
		b.Run(l.name, func(b *testing.B) {
			for range b.N {
				l.run(b, d)
			}
		})
	}
}

// loadBy is a way to change the i-th pod; k says who does it.
type loadBy struct {
	name      string
	perSecond float64 // 0: as fast as it goes
	change    func(b *testing.B, clients []kubernetes.Interface, ns string) func(ctx context.Context, k, i int, phase corev1.PodPhase) error
}

func loadPod(i int) string { return fmt.Sprintf("web-%d", i) }

func byRequest(_ *testing.B, clients []kubernetes.Interface, ns string) func(context.Context, int, int, corev1.PodPhase) error {
	return func(ctx context.Context, k, i int, phase corev1.PodPhase) error {
		p := pod(ns, loadPod(i))
		setPhase(p, phase)
		_, err := clients[k%len(clients)].CoreV1().Pods(ns).UpdateStatus(ctx, p, metav1.UpdateOptions{})
		return err
	}
}

func setPhase(p *corev1.Pod, phase corev1.PodPhase) {
	ready := corev1.ConditionFalse
	if phase == corev1.PodRunning {
		ready = corev1.ConditionTrue
	}
	p.Status.Phase = phase
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
}

// byStore encodes both states of each pod once, as the API server stores them.
func byStore(b *testing.B, _ []kubernetes.Interface, ns string) func(context.Context, int, int, corev1.PodPhase) error {
	b.Helper()
	stores := make([]*etcd.Client, 8)
	for i := range stores {
		stores[i] = newStore(b)
	}
	all, err := stores[0].Get(b.Context(), podKey(ns, ""), etcd.WithPrefix())
	if err != nil {
		b.Fatal(err)
	}
	if len(all.Kvs) != loadPods {
		b.Fatalf("%d pods in etcd, want %d", len(all.Kvs), loadPods)
	}
	states := map[string]string{}
	for _, kv := range all.Kvs {
		for _, phase := range []corev1.PodPhase{corev1.PodRunning, corev1.PodPending} {
			name := strings.TrimPrefix(string(kv.Key), podKey(ns, ""))
			states[string(phase)+" "+name] = changedPod(b, kv.Value, func(p *corev1.Pod) { setPhase(p, phase) })
		}
	}
	return func(ctx context.Context, k, i int, phase corev1.PodPhase) error {
		_, err := stores[k%len(stores)].Put(ctx, podKey(ns, loadPod(i)), states[string(phase)+" "+loadPod(i)])
		return err
	}
}

func (l loadBy) run(b *testing.B, d time.Duration) {
	b.Helper()
	ctx := b.Context()
	cfg := rest.CopyConfig(cluster)
	cfg.ContentType = "application/vnd.kubernetes.protobuf"
	clients := make([]kubernetes.Interface, 8) // a connection each
	for i := range clients {
		own := rest.CopyConfig(cfg)
		own.Dial = dialer(i)
		c, err := kubernetes.NewForConfig(own)
		if err != nil {
			b.Fatal(err)
		}
		clients[i] = c
	}
	ns := fmt.Sprintf("load-%d", namespaces.Add(1))
	if _, err := clients[0].CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	each := func(f func(ctx context.Context, c kubernetes.Interface, i int) error) {
		b.Helper()
		g, ctx := errgroup.WithContext(ctx)
		for k := range loadClients {
			g.Go(func() error {
				for i := k; i < loadPods; i += loadClients {
					if err := f(ctx, clients[k%len(clients)], i); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	each(func(ctx context.Context, c kubernetes.Interface, i int) error {
		_, err := c.CoreV1().Pods(ns).Create(ctx, pod(ns, loadPod(i)), metav1.CreateOptions{})
		return err
	})
	path := filepath.Join(b.TempDir(), "h.db")
	rec, err := launch(b, cluster, path, 0)
	if err != nil {
		b.Fatal(err)
	}
	rec.flush()
	before := rec.ask("stats")
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	empty := info.Size()

	var made atomic.Int64
	last := make([]string, loadPods)
	loading, stop := context.WithTimeout(ctx, d)
	defer stop()
	change := l.change(b, clients, ns)
	began := time.Now()
	var g errgroup.Group
	for k := range loadClients {
		g.Go(func() error {
			for round := 0; ; round++ {
				for i := k; i < loadPods; i += loadClients {
					select {
					case <-loading.Done():
						return nil
					default:
					}
					if l.perSecond > 0 { // in step: all that is due by now
						for ahead := made.Load() - int64(time.Since(began).Seconds()*l.perSecond); ahead > 0 && loading.Err() == nil; ahead = made.Load() - int64(time.Since(began).Seconds()*l.perSecond) {
							time.Sleep(time.Millisecond)
						}
					}
					phase := []corev1.PodPhase{corev1.PodRunning, corev1.PodPending}[round%2]
					if err := change(ctx, k, i, phase); err != nil {
						return err
					}
					last[i] = string(phase)
					made.Add(1)
				}
			}
		})
	}
	early, late := 0.0, 0.0
	queued := int64(0)
	sample := time.NewTicker(min(d/6, 10*time.Second))
	defer sample.Stop()
	for loading.Err() == nil {
		select {
		case <-loading.Done():
		case <-sample.C:
			a := rec.ask("stats")
			if early == 0 {
				early = a.HeapMB
			}
			late = a.HeapMB
			queued = max(queued, a.Stats.Queued)
		}
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	took := time.Since(began)
	stopped := time.Now()
	rec.flush()
	behind := time.Since(stopped)
	after := rec.ask("stats")
	at := rec.flush()
	rec.end()

	db, err := history.Open(ctx, path)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if err := db.Check(ctx); err != nil {
		b.Fatal(err)
	}
	s, err := db.SnapshotAt(ctx, at)
	if err != nil {
		b.Fatal(err)
	}
	phases := map[string]string{}
	for _, p := range s.Objects.Pods {
		if p.Namespace == ns {
			phases[p.Name] = string(p.Status.Phase)
		}
	}
	loss := made.Load() - (after.Stats.Changes - before.Stats.Changes)
	for i, want := range last {
		if want != "" && phases[loadPod(i)] != want {
			loss++
		}
	}
	gaps, err := db.Gaps(ctx, time.Time{}, time.Time{})
	if err != nil {
		b.Fatal(err)
	}
	if loss > 0 || len(gaps) > 0 {
		b.Errorf("loss %d, gaps %+v: want none", loss, gaps)
	}
	if info, err = os.Stat(path); err != nil {
		b.Fatal(err)
	}
	changes := float64(made.Load())
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(changes/took.Seconds(), "changes/s")
	b.ReportMetric(float64(loss), "loss")
	b.ReportMetric(early, "early-heap-MB")
	b.ReportMetric(late, "late-heap-MB")
	b.ReportMetric(float64(queued), "queued-max")
	b.ReportMetric(behind.Seconds()*1000, "behind-ms")
	b.ReportMetric(float64(info.Size()-empty)/changes, "file-B/change")
	b.ReportMetric((after.CPU-before.CPU).Seconds()/took.Seconds(), "recorder-cores")
	each(func(ctx context.Context, c kubernetes.Interface, i int) error {
		return c.CoreV1().Pods(ns).Delete(ctx, loadPod(i), atOnce)
	})
}

// dialer differs for each i, so that clients do not share a connection.
func dialer(i int) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		_ = i
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
}
