package history_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
)

func sorted(entries []history.Entry) []history.Entry {
	slices.SortStableFunc(entries, func(a, b history.Entry) int { return a.ObservedAt.Compare(b.ObservedAt) })
	return entries
}

// autoscaler is the cluster-autoscaler's Deployment beside a sidecar whose arguments are nobody's business.
func autoscaler(flags ...string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-autoscaler", UID: uid(900)}}
	d.Spec.Replicas = new(int32(1))
	d.Spec.Template.Spec.Containers = []corev1.Container{
		{Name: "proxy", Image: "proxy", Args: []string{"--token=secret-sidecar"}},
		{Name: "ca", Image: "registry.k8s.io/autoscaling/cluster-autoscaler:v1.36.1", Command: append([]string{"./cluster-autoscaler"}, flags...),
			Env: []corev1.EnvVar{{Name: "X", Value: "secret-env"}}},
	}
	return d
}

func priorities(text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-autoscaler-priority-expander", UID: uid(901)},
		Data: map[string]string{"priorities": text}}
}

// The prototypes gave the newest settings whatever the instant, knew nine flags, and lost priorities that came before
// the Deployment.
func TestSettingsAreThoseOfTheInstant(t *testing.T) {
	db := write(t,
		change(0, scalehist.OpAdd, priorities("10: [.*]")),
		change(time.Second, scalehist.OpAdd, autoscaler("--expander=priority", "--some-new-flag=1")),
		change(time.Minute, scalehist.OpUpdate, priorities("20: [.*]")),
		change(2*time.Minute, scalehist.OpUpdate, autoscaler("--expander", "least-waste")),
		change(3*time.Minute, scalehist.OpUpdate, func() *appsv1.Deployment {
			d := autoscaler("--expander", "least-waste")
			d.Spec.Replicas = new(int32(0))
			return d
		}()),
	)
	first := scalehist.CASettings{Flags: []string{"--expander=priority", "--some-new-flag=***"}, Priorities: "10: [.*]"}
	second := scalehist.CASettings{Flags: first.Flags, Priorities: "20: [.*]"}
	third := scalehist.CASettings{Flags: []string{"--expander=least-waste"}, Priorities: "20: [.*]"}
	for _, c := range []struct {
		at   time.Duration
		want scalehist.CASettings
	}{{time.Second, first}, {time.Minute - 1, first}, {time.Minute, second}, {2 * time.Minute, third}, {time.Hour, third}} {
		if diff := cmp.Diff(c.want, snapshotAt(t, db, c.at).CASettings); diff != "" {
			t.Errorf("snapshot at %s (-want +got):\n%s", c.at, diff)
		}
	}
	got, err := db.SettingsChanges(t.Context(), at(time.Second), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	want := []scalehist.SettingsChange{{At: at(time.Minute), Settings: second}, {At: at(2 * time.Minute), Settings: third}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestSettingsForms(t *testing.T) {
	for _, c := range []struct {
		name      string
		container corev1.Container
		want      []string
	}{
		{"args", corev1.Container{Image: "x/cluster-autoscaler:v1", Command: []string{"./cluster-autoscaler"}, Args: []string{"--v=4", "--expander=random"}}, []string{"--v=4", "--expander=random"}},
		{"shell", corev1.Container{Image: "x/cluster-autoscaler:v1", Command: []string{"sh", "-c"}, Args: []string{"./cluster-autoscaler --v=4 --expander price"}}, []string{"--v=4", "--expander=price"}},
		{"bool", corev1.Container{Image: "x/cluster-autoscaler@sha256:1", Args: []string{"--scale-down-enabled", "--v", "2"}}, []string{"--scale-down-enabled", "--v=2"}},
		{"other name", corev1.Container{Image: "mirror/ca", Command: []string{"/bin/cluster-autoscaler", "-v=1"}}, []string{"-v=1"}},
		{"no autoscaler", corev1.Container{Image: "web", Command: []string{"web", "--v=1"}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := autoscaler()
			d.Name = "release-aws-ca"
			d.Spec.Template.Spec.Containers = []corev1.Container{c.container}
			got := snapshotAt(t, write(t, change(0, scalehist.OpAdd, d)), 0)
			if diff := cmp.Diff(c.want, got.CASettings.Flags); diff != "" {
				t.Errorf("flags (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlyTheAutoscalersConfigMapsAreKept(t *testing.T) {
	status := func(probe, status string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-autoscaler-status", UID: uid(902),
			Annotations: map[string]string{"cluster-autoscaler.kubernetes.io/last-updated": probe}},
			Data: map[string]string{"status": "time: " + probe + "\nautoscalerStatus: " + status + "\nclusterWide:\n  health:\n    lastProbeTime: " + probe + "\n"}}
	}
	path := t.TempDir() + "/h.db"
	w := create(t, path)
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "app", UID: uid(903)}, Data: map[string]string{"k": "secret-data"}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s", UID: uid(904)}, Data: map[string][]byte{"k": []byte("secret-data")}}
	if err := w.Write(t.Context(), []history.Entry{change(0, scalehist.OpAdd, other), change(0, scalehist.OpAdd, secret),
		change(0, scalehist.OpAdd, status("12:00", "Running")), change(10*time.Second, scalehist.OpUpdate, status("12:10", "Running")),
		change(20*time.Second, scalehist.OpUpdate, status("12:20", "Initializing"))}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int64{"ConfigMap": 1, "Secret": 1}, w.Counts().Left); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"0s add ConfigMap/cluster-autoscaler-status", "20s update ConfigMap/cluster-autoscaler-status"}
	if diff := cmp.Diff(want, changes(t, reopen(t, path), time.Time{}, time.Time{})); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}
