package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
)

// BenchmarkPodLifetimes writes pods that come, are bound, run and go, with what kubelets say of their containers, in transactions of 100 changes as a recorder would.
// It reports changes a second and bytes a pod; see DESIGN.md, budgets.
func BenchmarkPodLifetimes(b *testing.B) {
	defer history.SetMinKeyframe(history.SetMinKeyframe(2000))
	path := filepath.Join(b.TempDir(), "h.db")
	w := create(b, path)
	if _, err := w.Begin(b.Context(), start, nil); err != nil {
		b.Fatal(err)
	}
	var batch []history.Entry
	changes := 0
	flush := func() {
		if err := w.Write(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
		changes += len(batch)
		batch = batch[:0]
	}
	i := 0
	for b.Loop() {
		name, id := fmt.Sprintf("web-%06d-%05x", i/100, i), uid(i)
		onto := bound(fmt.Sprintf("ip-10-0-0-%d.eu-west-1.compute.internal", i%200))
		d := time.Duration(i) * time.Second
		batch = append(batch,
			change(d, scalehist.OpAdd, pod(name, id)),
			change(d+time.Millisecond, scalehist.OpUpdate, pod(name, id, onto)),
			change(d+2*time.Millisecond, scalehist.OpUpdate, pod(name, id, onto, running, status(up(0, i)))),
			change(d+3*time.Millisecond, scalehist.OpDelete, pod(name, id, onto, running, status(up(0, i+1)), terminating)))
		if i++; len(batch) >= 100 {
			flush()
		}
	}
	flush()
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/float64(i), "bytes/pod")
	b.ReportMetric(float64(changes)/b.Elapsed().Seconds(), "changes/s")
}

// BenchmarkDay writes a day of a cluster of 200 nodes and reports what it takes in the file. Each node's kubelet reports
// every 5 minutes (a heartbeat changes nothing that is kept) and changes a condition once; 20,000 pods come, are bound,
// start, become ready, terminate and go, one in ten of them first
// unschedulable with an event. See DESIGN.md, budgets.
func BenchmarkDay(b *testing.B) {
	defer history.SetMinKeyframe(history.SetMinKeyframe(2000))
	const nodes, pods = 200, 20000
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "h.db")
		w := create(b, path)
		if _, err := w.Begin(b.Context(), start, nil); err != nil {
			b.Fatal(err)
		}
		var all []history.Entry
		for i := range nodes {
			for beat := time.Duration(0); beat < 24*time.Hour; beat += 5 * time.Minute {
				n := node(fmt.Sprint("node-", i), uid(i), func(n *corev1.Node) {
					if beat > time.Duration(i)*5*time.Minute {
						n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeDiskPressure, LastTransitionTime: metav1.NewTime(start)})
					}
					n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(at(beat))
				})
				all = append(all, change(beat+time.Duration(i)*time.Millisecond, scalehist.OpUpdate, n))
			}
		}
		for i := range pods {
			d := time.Duration(i) * 24 * time.Hour / pods
			made := func(mutate ...func(*corev1.Pod)) *corev1.Pod {
				p := pod(fmt.Sprintf("web-%d-6d4b75cb6d-%05x", i%2000, i), uid(1000+i), mutate...)
				p.CreationTimestamp = metav1.NewTime(at(d))
				p.Labels["app"], p.OwnerReferences[0].Name = fmt.Sprint("web-", i%200), fmt.Sprintf("web-%d-6d4b75cb6d", i%2000)
				return p
			}
			ready := func(after time.Duration) func(*corev1.Pod) {
				return func(p *corev1.Pod) {
					running(p)
					for c := range p.Status.Conditions {
						p.Status.Conditions[c].LastTransitionTime = metav1.NewTime(at(d + after))
					}
				}
			}
			onto := bound(fmt.Sprint("node-", i%nodes))
			life := []history.Entry{change(d, scalehist.OpAdd, made())}
			if i%10 == 0 {
				life = append(life, change(d+100*time.Millisecond, scalehist.OpUpdate, made(unschedulable)),
					change(d+200*time.Millisecond, scalehist.OpAdd, coreEvent(i, "FailedScheduling", "0/200 nodes are available: 200 Insufficient cpu.", 1, d)))
			}
			stay := time.Duration(1+i%7) * 20 * time.Minute
			life = append(life, change(d+time.Second, scalehist.OpUpdate, made(onto)), change(d+3*time.Second, scalehist.OpUpdate, made(onto, ready(2*time.Second))),
				change(d+9*time.Second, scalehist.OpUpdate, made(onto, ready(8*time.Second))),
				change(d+stay, scalehist.OpUpdate, made(onto, ready(8*time.Second), terminating)),
				change(d+stay+20*time.Second, scalehist.OpUpdate, made(onto, ready(stay+20*time.Second), terminating)),
				change(d+stay+21*time.Second, scalehist.OpDelete, made(onto, ready(stay+20*time.Second), terminating)))
			all = append(all, life...)
		}
		slices.SortStableFunc(all, func(x, y history.Entry) int { return x.ObservedAt.Compare(y.ObservedAt) })
		for part := range slices.Chunk(all, 100) {
			if err := w.Write(b.Context(), part); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(info.Size()), "bytes/day")
	}
}

func unschedulable(p *corev1.Pod) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
		Message: "0/200 nodes are available: 200 Insufficient cpu.", LastTransitionTime: metav1.NewTime(start)})
}

// BenchmarkSnapshotOfLongHistory reads states of a history with a million versions, of which 300 objects live at any
// instant: early, late and in the middle cost the same.
func BenchmarkSnapshotOfLongHistory(b *testing.B) {
	defer history.SetMinKeyframe(history.SetMinKeyframe(2000))
	path := filepath.Join(b.TempDir(), "h.db")
	w := create(b, path)
	const lives, together = 250_000, 300
	var batch []history.Entry
	for i := range lives {
		name, id, d := fmt.Sprintf("web-%06d", i), uid(i), time.Duration(i)*time.Second
		batch = append(batch, change(d, scalehist.OpAdd, pod(name, id)), change(d+1, scalehist.OpUpdate, pod(name, id, bound("n"))),
			change(d+2, scalehist.OpUpdate, pod(name, id, bound("n"), running)))
		if old := i - together; old >= 0 {
			batch = append(batch, change(d+3, scalehist.OpDelete, pod(fmt.Sprintf("web-%06d", old), uid(old), bound("n"), running)))
		}
		if len(batch) > 4000 {
			if err := w.Write(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	if err := w.Write(b.Context(), batch); err != nil {
		b.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	db := reopen(b, path)
	for name, share := range map[string]int{"early": 10, "middle": 2, "late": 1} {
		b.Run(name, func(b *testing.B) {
			when := at(time.Duration(lives/share-1)*time.Second + 5)
			for b.Loop() {
				s, err := db.SnapshotAt(b.Context(), when)
				if err != nil || len(s.Objects.Pods) != together {
					b.Fatalf("%d pods, %v", len(s.Objects.Pods), err)
				}
			}
		})
	}
}
