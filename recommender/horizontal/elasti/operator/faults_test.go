package operator

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
	"github.com/scalehist/scalehist/harness/kvcl/apitest"
	"github.com/scalehist/scalehist/internal/leader"
	"github.com/scalehist/scalehist/recommender/horizontal/elasti"
)

// TestFaults: what goes wrong about one target is in its status in words that help, scales nothing, and does not concern the others.
func TestFaults(t *testing.T) {
	f := newFixture(t, "faults")
	gone := newPrometheus(t) // it is closed below
	rows := []struct {
		name, value string
		change      func(*elastiv1alpha1.ElastiServiceSpec)
		// setUp is done once all are there.
		setUp func()
		// want is the condition; %s of it is the address of Prometheus.
		want string
	}{
		{name: "empty", want: `QueryEmpty: query empty has no series: add "or vector(0)" if that means none`},
		{name: "nan", value: "NaN", want: "QueryReturnsNaN: query nan is NaN: is something divided by zero?"},
		{name: "infinite", value: "+Inf", want: "QueryReturnsInfinity: query infinite is +Inf: is something divided by zero?"},
		{name: "several", value: "0 0 0", want: "QueryReturnsSeveralSeries: query several has 3 series: aggregate them, with sum() or max()"},
		{name: "down", change: func(s *elastiv1alpha1.ElastiServiceSpec) {
			s.Triggers[0].Metadata = json.RawMessage(`{"serverAddress": "` + gone.url + `", "query": "down", "threshold": "1"}`)
		}, want: "PrometheusUnreachable: Prometheus at " + strings.TrimPrefix(gone.url, "http://") + ": dial tcp " + strings.TrimPrefix(gone.url, "http://") + ": connect: connection refused"},
		{name: "deleted", value: "0", setUp: func() {
			if err := client.AppsV1().Deployments(f.namespace).Delete(t.Context(), "deleted", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, want: "TargetNotFound: Deployment/faults/deleted does not exist, or has no replicas that could be scaled"},
		{name: "undefined", value: "0", change: func(s *elastiv1alpha1.ElastiServiceSpec) {
			s.ScaleTargetRef.APIVersion, s.ScaleTargetRef.Kind = "argoproj.io/v1alpha1", "Rollout"
		}, want: "TargetKindUnknown: the cluster does not serve Rollout of argoproj.io/v1alpha1: is its definition applied?"},
		{name: "secret", value: "0", change: func(s *elastiv1alpha1.ElastiServiceSpec) {
			s.ScaleTargetRef.APIVersion, s.ScaleTargetRef.Kind = "v1", "Secret"
		}, want: "TargetNotScalable: Secret has no scale subresource: its replicas cannot be set"},
		{name: "version", value: "0", change: func(s *elastiv1alpha1.ElastiServiceSpec) { s.ScaleTargetRef.APIVersion = "a/b/c" },
			want: "InvalidSpec: scaleTargetRef: unexpected GroupVersion string: a/b/c"},
		{name: "keda", value: "0", change: func(s *elastiv1alpha1.ElastiServiceSpec) {
			s.Autoscaler = &elastiv1alpha1.AutoscalerSpec{Type: elastiv1alpha1.AutoscalerKEDA, Name: "none"}
		}, want: "AutoscalerNotFound: the ScaledObject faults/none that spec.autoscaler names does not exist"},
		{name: "hpa", value: "0", change: func(s *elastiv1alpha1.ElastiServiceSpec) {
			s.Autoscaler = &elastiv1alpha1.AutoscalerSpec{Type: elastiv1alpha1.AutoscalerHPA, Name: "none"}
		}, want: "AutoscalerNotFound: the HorizontalPodAutoscaler faults/none that spec.autoscaler names does not exist"},
		{name: "rival", value: "0", setUp: func() {
			second := f.elastiService("rival", nil)
			second.Name = "rival-2"
			f.createService(second)
		}, want: "SeveralElastiServices: rival, rival-2 scale the same target, Deployment/faults/rival: none of them is acted for; keep one"},
		{name: "triggers", value: "0", change: func(s *elastiv1alpha1.ElastiServiceSpec) {
			s.Triggers[0].Metadata = json.RawMessage(`{"query": "q", "threshold": "1"}`)
		}, want: "InvalidTriggers: triggers[0]: trigger prometheus: metadata: serverAddress is not set, and there is no default (PROMETHEUS_TRIGGER_SERVER_ADDRESS)"},
		{name: "no-triggers", value: "0", change: func(s *elastiv1alpha1.ElastiServiceSpec) { s.Triggers = nil }, want: "NoTriggers: there are no triggers"},
		{name: "period", value: "0", change: func(s *elastiv1alpha1.ElastiServiceSpec) {
			s.EnabledPeriod = &elastiv1alpha1.EnabledPeriod{Schedule: "0 0 31 2 *", Duration: "1h"}
		}, want: `InvalidEnabledPeriod: enabledPeriod: schedule "0 0 31 2 *": there is no such time`},
	}
	for _, row := range rows {
		f.create(row.name, 3, row.value, row.change)
	}
	for _, row := range rows {
		if row.setUp != nil {
			row.setUp()
		}
	}
	f.create("well", 3, "0", nil)
	gone.close()
	if r := f.poll(); r != (Round{Services: len(rows) + 2, Scaled: 1, Failed: len(rows) + 1}) || f.replicas("well") != 0 {
		t.Errorf("%+v: want the one that is well scaled, to 0 (%d)", r, f.replicas("well"))
	}
	for _, row := range rows {
		if got := f.ready(row.name); got != "False "+row.want {
			t.Errorf("%s:\n%s\nwant\n%s", row.name, got, "False "+row.want)
		}
		if row.name != "deleted" && f.replicas(row.name) != 3 {
			t.Errorf("%s was scaled to %d", row.name, f.replicas(row.name))
		}
	}
	version := f.service("nan").ResourceVersion
	f.poll()
	if got := f.service("nan").ResourceVersion; got != version {
		t.Error("a status that says the same is written again")
	}
	eventually(t, "an event", func() bool { return len(f.events("nan")) > 0 })
	if got := f.events("nan"); len(got) != 1 || got[0] != "Warning FailedToScale QueryReturnsNaN: query nan is NaN: is something divided by zero?" {
		t.Errorf("events: %q", got)
	}
}

// TestSlow: a Prometheus that does not answer in time.
func TestSlow(t *testing.T) {
	f := newFixture(t, "slow")
	f.create("web", 3, "0", nil)
	defer f.prom.hold("web")()
	f.handler = f.newHandler(cluster, &http.Client{Timeout: 50 * time.Millisecond})
	f.poll()
	if got := f.ready("web"); !strings.HasPrefix(got, "False PrometheusTimeout: Prometheus at "+strings.TrimPrefix(f.prom.url, "http://")+" did not answer within 5s") || f.replicas("web") != 3 {
		t.Errorf("%d replicas, %s", f.replicas("web"), got)
	}
}

// TestUnknownAtZero: what nobody knows about a target at zero wakes it only where that is asked for.
func TestUnknownAtZero(t *testing.T) {
	f := newFixture(t, "unknown")
	f.create("web", 0, "NaN", nil)
	if f.poll(); f.replicas("web") != 0 {
		t.Errorf("%d replicas, %s", f.replicas("web"), f.ready("web"))
	}
	f.handler = f.newHandler(cluster, elasti.NewClient(true), func(o *Options) { o.WakeOnUnknown = true })
	if f.poll(); f.replicas("web") != 2 || !strings.HasPrefix(f.ready("web"), "False QueryReturnsNaN") {
		t.Errorf("%d replicas, %s", f.replicas("web"), f.ready("web"))
	}
}

// TestUndefined: the API server does not serve ElastiServices.
func TestUndefined(t *testing.T) {
	want := `the cluster does not serve ElastiServices: apply the definition that "scalehist horizontal crd" prints`
	if undefined == nil || undefined.Error() != want {
		t.Errorf("%v, want %s", undefined, want)
	}
}

// TestLateKind: a kind that comes while the handler runs is found with a later round, without asking for it more than once a round.
func TestLateKind(t *testing.T) {
	f := newFixture(t, "late")
	rollouts := schema.GroupVersionResource{Group: "late.example.com", Version: "v1", Resource: "lates"}
	of := func(s *elastiv1alpha1.ElastiServiceSpec) {
		s.ScaleTargetRef.APIVersion, s.ScaleTargetRef.Kind = "late.example.com/v1", "Late"
	}
	f.create("a", 3, "0", of)
	f.create("b", 3, "0", of)
	var asked int
	var mu sync.Mutex
	config := rest.CopyConfig(cluster)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/apis" {
				mu.Lock()
				asked++
				mu.Unlock()
			}
			return next.RoundTrip(r)
		})
	})
	f.handler = f.newHandler(config, elasti.NewClient(true))
	f.poll()
	first := asked
	f.poll()
	if asked != first {
		t.Errorf("discovery was asked %d times within an interval, after %d times at first", asked-first, first)
	}
	if err := apitest.Define(t.Context(), cluster, apitest.Scalable("late.example.com", "v1", "Late", "lates")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "late.example.com/v1", "kind": "Late", "metadata": map[string]any{"name": name}, "spec": map[string]any{"replicas": int64(3)}}}
		if _, err := dyn.Resource(rollouts).Namespace(f.namespace).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the kind in discovery, and both scaled", func() bool {
		f.clock.Step(elasti.DefaultInterval)
		f.poll()
		return strings.HasPrefix(f.ready("a"), "True NotNeeded") && strings.HasPrefix(f.ready("b"), "True NotNeeded")
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// interfering is a connection on which something happens before each write of a subresource.
func interfering(subresource string, before func(name string)) *rest.Config {
	config := rest.CopyConfig(cluster)
	config.Wrap(transport.WrapperFunc(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if parts := strings.Split(r.URL.Path, "/"); r.Method != http.MethodGet && parts[len(parts)-1] == subresource {
				before(parts[len(parts)-2])
			}
			return next.RoundTrip(r)
		})
	}))
	return config
}

func patch(t *testing.T, namespace, name, text string) {
	t.Helper()
	if _, err := client.AppsV1().Deployments(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(text), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
}

// TestConflict: what somebody changes between the reading and the writing of a scale is not lost: other replicas stay, and the decision is left;
// of something else the scale is written again.
func TestConflict(t *testing.T) {
	f := newFixture(t, "conflict")
	for _, name := range []string{"label", "replicas", "always"} {
		f.create(name, 3, "0", nil)
	}
	once := map[string]*sync.Once{"label": {}, "replicas": {}}
	f.handler = f.newHandler(interfering("scale", func(name string) {
		switch name {
		case "label":
			once[name].Do(func() { patch(t, f.namespace, name, `{"metadata": {"labels": {"by": "person"}}}`) })
		case "replicas":
			once[name].Do(func() { patch(t, f.namespace, name, `{"spec": {"replicas": 7}}`) })
		case "always":
			patch(t, f.namespace, name, `{"metadata": {"labels": {"at": "`+time.Now().Format("150405.000000000")+`"}}}`)
		}
	}), elasti.NewClient(true))
	f.poll()
	d, err := client.AppsV1().Deployments(f.namespace).Get(t.Context(), "label", metav1.GetOptions{})
	if err != nil || *d.Spec.Replicas != 0 || d.Labels["by"] != "person" {
		t.Errorf("a label meanwhile: %d replicas, labels %v", *d.Spec.Replicas, d.Labels)
	}
	for name, want := range map[string]struct {
		replicas int32
		ready    string
	}{
		"replicas": {7, "False Conflict: Deployment/conflict/replicas: somebody set 7 replicas meanwhile: it was changed meanwhile"},
		"always":   {3, "False Conflict: Deployment/conflict/always changes faster than it can be scaled: tried again with the next round"},
	} {
		if f.replicas(name) != want.replicas || f.ready(name) != want.ready {
			t.Errorf("%s: %d replicas, %s\nwant %d, %s", name, f.replicas(name), f.ready(name), want.replicas, want.ready)
		}
	}
	if f.poll(); f.replicas("replicas") != 0 {
		t.Error("the next round does not decide again")
	}
}

// TestNeverBack: when somebody else has found the target to be needed later, that stays, no matter who writes last.
func TestNeverBack(t *testing.T) {
	f := newFixture(t, "never-back")
	f.create("web", 2, "5", nil)
	later := f.clock.Now().Add(time.Minute).UTC()
	var once sync.Once
	f.handler = f.newHandler(interfering("status", func(name string) {
		once.Do(func() {
			if _, err := dyn.Resource(elastiv1alpha1.GroupVersionResource).Namespace(f.namespace).Patch(t.Context(), name, types.MergePatchType,
				[]byte(`{"status": {"lastScaledUpTime": "`+later.Format(time.RFC3339)+`"}}`), metav1.PatchOptions{}, "status"); err != nil {
				t.Error(err)
			}
		})
	}), elasti.NewClient(true))
	f.poll()
	if got := f.service("web").Status.LastScaledUpTime; got == nil || !got.Time.Equal(later) || !strings.HasPrefix(f.ready("web"), "True Needed") {
		t.Errorf("last needed at %v, want %s; %s", got, later, f.ready("web"))
	}
	for at, want := range map[time.Duration]time.Duration{0: 0, 1: time.Second, time.Second - 1: time.Second, time.Second: time.Second} {
		if got := statusTime(later.Add(at)); !got.Time.Equal(later.Add(want)) {
			t.Errorf("%s after a second is written as %s, want %s after it", at, got.Sub(later), want)
		}
	}
}

// allow lets an account do what rules say, in the whole cluster, and gives a connection as that account.
func allow(t *testing.T, account string, rules ...rbacv1.PolicyRule) *rest.Config {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: account}, Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: account}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: account},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: account}}}
	if _, err := client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(cluster)
	config.Impersonate = rest.ImpersonationConfig{UserName: account, Groups: []string{"system:authenticated"}}
	return config
}

// TestForbidden: what the account of the handler may not do.
func TestForbidden(t *testing.T) {
	f := newFixture(t, "forbidden")
	f.create("web", 3, "0", nil)
	nobody := f.newHandler(allow(t, "nobody"), elasti.NewClient(true))
	if _, err := nobody.Poll(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "list ElastiServices: elastiservices.elasti.truefoundry.com is forbidden: User \"nobody\" cannot list resource") {
		t.Errorf("nothing is allowed: %v", err)
	}
	f.handler = f.newHandler(allow(t, "half",
		rbacv1.PolicyRule{APIGroups: []string{elastiv1alpha1.Group}, Resources: []string{"*"}, Verbs: []string{"*"}},
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments/scale"}, Verbs: []string{"get"}},
	), elasti.NewClient(true))
	want := `False Forbidden: the account of scalehist-horizontal may not scale Deployment/forbidden/web: deployments.apps "web" is forbidden: User "half" cannot update resource "deployments/scale" in API group "apps" in the namespace "forbidden"`
	eventually(t, "the rules to hold", func() bool {
		_, err := f.handler.Poll(t.Context())
		return err == nil && f.ready("web") != "none" && !strings.Contains(f.ready("web"), "cannot get")
	})
	if got := f.ready("web"); got != want || f.replicas("web") != 3 {
		t.Errorf("%d replicas, %s\nwant %s", f.replicas("web"), got, want)
	}
}

// TestStatusForbidden: a target that is needed gets its minimum also where the status cannot be written, and its cooldown.
func TestStatusForbidden(t *testing.T) {
	f := newFixture(t, "status-forbidden")
	f.create("web", 0, "5", nil)
	f.handler = f.newHandler(allow(t, "reader",
		rbacv1.PolicyRule{APIGroups: []string{elastiv1alpha1.Group}, Resources: []string{"elastiservices"}, Verbs: []string{"get", "list"}},
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments/scale"}, Verbs: []string{"get", "update"}},
	), elasti.NewClient(true))
	eventually(t, "the rules to hold, and the target to be scaled", func() bool {
		_, err := f.handler.Poll(t.Context())
		return err == nil && f.replicas("web") == 2
	})
	f.prom.set("web", "0")
	f.clock.Step(14 * time.Minute)
	if f.poll(); f.replicas("web") != 2 || f.ready("web") != "none" {
		t.Errorf("%d replicas within the cooldown, %s", f.replicas("web"), f.ready("web"))
	}
	f.clock.Step(2 * time.Minute)
	if f.poll(); f.replicas("web") != 0 {
		t.Errorf("%d replicas after the cooldown", f.replicas("web"))
	}
}

// TestChangedMeanwhile: what is not any more as it was when triggers were asked is not acted on.
func TestChangedMeanwhile(t *testing.T) {
	f := newFixture(t, "meanwhile")
	f.create("scaled", 3, "0", nil)
	f.create("other", 3, "0", nil)
	release := f.prom.hold("scaled", "other")
	polled := make(chan struct{})
	go func() {
		defer close(polled)
		f.poll()
	}()
	eventually(t, "the triggers to be asked", func() bool { return f.prom.waiting.Load() == 2 })
	// The answer will be that nobody needs it, which at zero replicas would be another question's yes.
	patch(t, f.namespace, "scaled", `{"spec": {"replicas": 0}}`)
	if _, err := dyn.Resource(elastiv1alpha1.GroupVersionResource).Namespace(f.namespace).Patch(t.Context(), "other", types.MergePatchType,
		[]byte(`{"spec": {"cooldownPeriod": 604800}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	release()
	<-polled
	for name, want := range map[string]int32{"scaled": 0, "other": 3} {
		if got := f.replicas(name); got != want {
			t.Errorf("%s: %d replicas, want %d: %s", name, got, want, f.ready(name))
		}
	}
}

// TestDeposed: who may not write any more writes nothing.
func TestDeposed(t *testing.T) {
	f := newFixture(t, "deposed")
	f.scaledObject("web", nil)
	f.create("web", 3, "0", func(s *elastiv1alpha1.ElastiServiceSpec) {
		s.Autoscaler = &elastiv1alpha1.AutoscalerSpec{Type: elastiv1alpha1.AutoscalerKEDA, Name: "web"}
	})
	f.create("plain", 3, "0", nil)
	f.handler.fence.Set(func() error { return leader.ErrDeposed })
	f.poll()
	if f.replicas("web") != 3 || f.replicas("plain") != 3 || f.annotations("web") != nil || f.ready("web") != "none" {
		t.Errorf("it writes: %d, %d replicas, annotations %v, %s", f.replicas("web"), f.replicas("plain"), f.annotations("web"), f.ready("web"))
	}
	if err := f.handler.Wake(t.Context(), types.NamespacedName{Namespace: f.namespace, Name: "web"}); err == nil || !strings.Contains(err.Error(), leader.ErrDeposed.Error()) {
		t.Errorf("it wakes: %v", err)
	}
}
