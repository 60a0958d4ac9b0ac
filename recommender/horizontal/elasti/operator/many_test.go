package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
)

// process is one that scales, and can be killed.
type process struct {
	t        *testing.T
	identity string
	cmd      *exec.Cmd
	log      *bytes.Buffer
	ended    bool
}

func start(t *testing.T, namespace, identity string) *process {
	t.Helper()
	options, err := json.Marshal(childOptions{Host: cluster.Host, Token: cluster.BearerToken, CA: cluster.CAData, Namespace: namespace, Identity: identity})
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, identity: identity, cmd: exec.Command(os.Args[0]), log: &bytes.Buffer{}} //nolint:gosec // this binary
	p.cmd.Env = append(os.Environ(), childEnv+"="+string(options))
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !p.ended {
			p.end(syscall.SIGKILL)
		}
		if t.Failed() {
			t.Logf("%s:\n%s", identity, p.log)
		}
	})
	return p
}

// end sends a signal and waits until the process has ended, as it should on that signal.
func (p *process) end(by syscall.Signal) {
	p.t.Helper()
	p.ended = true
	if err := p.cmd.Process.Signal(by); err != nil {
		p.t.Errorf("%s: %v", p.identity, err)
	}
	if err := p.cmd.Wait(); (err == nil) != (by == syscall.SIGTERM) {
		p.t.Errorf("%s after %s: %v", p.identity, by, err)
	}
	if strings.Contains(p.log.String(), "DATA RACE") {
		p.t.Errorf("%s has a data race", p.identity)
	}
}

// holder is who holds the lease.
func holder(t *testing.T, namespace string) string {
	t.Helper()
	lease, err := client.CoordinationV1().Leases(namespace).Get(t.Context(), Name, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// counts says of how many Deployments how many replicas are wanted.
func counts(t *testing.T, namespace string) map[int32]int {
	t.Helper()
	out := map[int32]int{}
	for _, d := range deployments(t, namespace) {
		out[*d.Spec.Replicas]++
	}
	return out
}

func deployments(t *testing.T, namespace string) []appsv1.Deployment {
	t.Helper()
	list, err := client.AppsV1().Deployments(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// TestManyTargets: 200 targets while everybody writes to them: people label Deployments and annotate ElastiServices, and scale some; the leader
// is killed in the middle of a round, the next one ended in the middle of another, and a third one goes on. In the end each target has been
// scaled exactly as often as it should (its generation counts the changes of its specification), and nothing that anybody wrote is lost.
func TestManyTargets(t *testing.T) {
	const all, half = 200, 100
	f := newFixture(t, "many")
	name := func(i int) string { return fmt.Sprintf("t-%03d", i) }
	var making errgroup.Group
	making.SetLimit(8)
	for i := range all {
		making.Go(func() error {
			// Those of the first half are not needed. The others are, with more replicas than their minimum.
			replicas, value := int32(3), "0"
			if i >= half {
				value = "4"
			}
			f.create(name(i), replicas, value, func(s *elastiv1alpha1.ElastiServiceSpec) {
				none := int32(0)
				s.CooldownPeriod = &none
			})
			return nil
		})
	}
	if err := making.Wait(); err != nil {
		t.Fatal(err)
	}
	// Half of what is to be scaled waits for its answer, so that the round is in its middle when the leader ends.
	var late []string
	for i := half / 2; i < half; i++ {
		late = append(late, name(i))
	}
	release := f.prom.hold(late...)

	stop, writing := context.WithCancel(t.Context())
	defer writing()
	wrote := f.write(stop, all, name)

	first := start(t, f.namespace, "first")
	eventually(t, "the first to lead", func() bool { return holder(t, f.namespace) == "first" })
	second := start(t, f.namespace, "second")
	eventually(t, "half of the round", func() bool { return counts(t, f.namespace)[0] == half/2 })
	first.end(syscall.SIGKILL)
	release()
	eventually(t, "the second to end the round", func() bool { return counts(t, f.namespace)[0] == half })
	if l := holder(t, f.namespace); l != "second" {
		t.Errorf("%q leads, want the second", l)
	}

	// All are needed now.
	third := start(t, f.namespace, "third")
	release = f.prom.hold(late...)
	for i := range half {
		f.prom.set(name(i), "4")
	}
	eventually(t, "half of the round", func() bool { return counts(t, f.namespace)[2] == half/2 })
	second.end(syscall.SIGTERM)
	release()
	eventually(t, "the third to end the round", func() bool { return counts(t, f.namespace)[2] == half })
	if l := holder(t, f.namespace); l != "third" {
		t.Errorf("%q leads, want the third", l)
	}
	writing()
	labels := wrote()
	// People scale some, which are needed: they keep what they were given.
	for i := half; i < half+20; i++ {
		patch(t, f.namespace, name(i), `{"spec": {"replicas": 9}}`)
	}
	third.end(syscall.SIGTERM)

	for i, d := range deployments(t, f.namespace) {
		replicas, generation := int32(2), int64(3) // 3 -> 0 -> 2
		switch {
		case i >= half+20:
			replicas, generation = 3, 1
		case i >= half:
			replicas, generation = 9, 2
		}
		if *d.Spec.Replicas != replicas || d.Generation != generation {
			t.Errorf("%s: %d replicas, generation %d; want %d and %d", d.Name, *d.Spec.Replicas, d.Generation, replicas, generation)
		}
		if got := d.Labels["written"]; got != labels[d.Name] {
			t.Errorf("%s: label %q, want %q: an update is lost", d.Name, got, labels[d.Name])
		}
		s := f.service(d.Name)
		if got := s.Annotations["written"]; got != labels[d.Name] || s.Status.LastScaledUpTime == nil {
			t.Errorf("%s: annotation of the ElastiService %q, want %q; last needed at %v", d.Name, got, labels[d.Name], s.Status.LastScaledUpTime)
		}
	}
}

// write lets people write, each to targets of its own, until ctx ends: read, change, update, again when somebody else was first. The function
// that is returned waits for them, and gives what each has written last.
func (f *fixture) write(ctx context.Context, all int, name func(int) string) func() map[string]string {
	const people = 4
	var group errgroup.Group
	var mu sync.Mutex
	last := map[string]string{}
	for p := range people {
		group.Go(func() error {
			for n := 0; ctx.Err() == nil; n++ {
				for i := p; i < all && ctx.Err() == nil; i += people {
					text := fmt.Sprint(n)
					err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
						d, err := client.AppsV1().Deployments(f.namespace).Get(f.t.Context(), name(i), metav1.GetOptions{})
						if err != nil {
							return err
						}
						d.Labels = map[string]string{"written": text}
						_, err = client.AppsV1().Deployments(f.namespace).Update(f.t.Context(), d, metav1.UpdateOptions{})
						return err
					})
					if err == nil {
						_, err = dyn.Resource(elastiv1alpha1.GroupVersionResource).Namespace(f.namespace).Patch(f.t.Context(), name(i), types.MergePatchType,
							[]byte(`{"metadata": {"annotations": {"written": "`+text+`"}}}`), metav1.PatchOptions{})
					}
					if err != nil {
						return err
					}
					mu.Lock()
					last[name(i)] = text
					mu.Unlock()
				}
			}
			return nil
		})
	}
	return func() map[string]string {
		if err := group.Wait(); err != nil {
			f.t.Error(err)
		}
		return last
	}
}
