package deploy

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/scalehist/scalehist/recorder"
)

const account = "system:serviceaccount:" + namespace + ":" + name

// groups are those of every service account of the namespace.
var groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}

func role(t *testing.T) rbacv1.ClusterRole {
	t.Helper()
	var r rbacv1.ClusterRole
	find(t, build(t, "access"), "ClusterRole", name, &r)
	return r
}

// TestRoleIsWhatTheRecorderWatches: no rule is missing and none is too much.
func TestRoleIsWhatTheRecorderWatches(t *testing.T) {
	var want, got []recorder.Resource
	want = append(want, recorder.Resources()...)
	for _, rule := range role(t).Rules {
		verbs := []string{"get", "list", "watch"}
		if slices.Contains(rule.APIGroups, "metrics.k8s.io") {
			verbs = []string{"get", "list"}
			want = append(want, recorder.Resource{Group: "metrics.k8s.io", Resource: "pods"}) // Options.Usage
		}
		if d := gocmp.Diff(verbs, rule.Verbs); d != "" {
			t.Errorf("verbs of %v (-want +got):\n%s", rule.Resources, d)
		}
		for _, g := range rule.APIGroups {
			for _, r := range rule.Resources {
				names := rule.ResourceNames
				if len(names) == 0 {
					names = []string{""}
				}
				for _, n := range names {
					got = append(got, recorder.Resource{Group: g, Resource: r, Name: n})
				}
			}
		}
	}
	order := func(a, b recorder.Resource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Name, b.Name))
	}
	slices.SortFunc(want, order)
	slices.SortFunc(got, order)
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("the role is not what the recorder watches (-recorder +role):\n%s", d)
	}
}

// granted applies the account's rules to the API server and waits until they hold.
func granted(t *testing.T) kubernetes.Interface {
	t.Helper()
	for _, o := range build(t, filepath.Join("overlays", "recorded-cluster")) {
		there(t, o)
	}
	c, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recorder.Resources() {
		poll(t, "the rules to hold", func() bool { return may(t, c, "watch", r.Group, r.Resource, "", r.Name) })
	}
	return c
}

// may asks the API server whether the account may do something in every namespace.
func may(t *testing.T, c kubernetes.Interface, verb, group, resource, sub, name string) bool {
	t.Helper()
	review, err := c.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: account, Groups: groups, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: group, Resource: resource, Subresource: sub, Name: name}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

// TestAccess: the account may list and watch what the recorder does, write nothing, and see no Secret.
func TestAccess(t *testing.T) {
	c := granted(t)
	for _, r := range recorder.Resources() {
		for _, verb := range []string{"list", "watch"} {
			if !may(t, c, verb, r.Group, r.Resource, "", r.Name) {
				t.Errorf("the account may not %s %s.%s %s", verb, r.Resource, r.Group, r.Name)
			}
		}
		for _, verb := range []string{"create", "update", "patch", "delete", "deletecollection"} {
			if may(t, c, verb, r.Group, r.Resource, "", r.Name) {
				t.Errorf("the account may %s %s.%s", verb, r.Resource, r.Group)
			}
		}
	}
	for _, d := range []struct{ verb, group, resource, sub, name string }{
		{"get", "", "secrets", "", ""}, {"list", "", "secrets", "", ""}, {"watch", "", "secrets", "", ""},
		{"list", "", "configmaps", "", ""}, {"get", "", "configmaps", "", "another"},
		{"create", "", "pods", "exec", ""}, {"get", "", "pods", "log", ""}, {"create", "", "pods", "eviction", ""},
		{"get", "", "nodes", "proxy", ""}, {"update", "", "nodes", "status", ""}, {"create", "", "serviceaccounts", "token", ""},
		{"impersonate", "", "users", "", ""}, {"bind", "rbac.authorization.k8s.io", "clusterroles", "", ""},
		{"escalate", "rbac.authorization.k8s.io", "clusterroles", "", ""}, {"list", "", "serviceaccounts", "", ""},
		{"*", "*", "*", "", ""}, {"list", "*", "*", "", ""},
	} {
		if may(t, c, d.verb, d.group, d.resource, d.sub, d.name) {
			t.Errorf("the account may %s %s/%s %s", d.verb, d.resource, d.sub, d.name)
		}
	}
}

// as is a connection with the account's rights.
func as() *rest.Config {
	cfg := rest.CopyConfig(cluster)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: account, Groups: groups}
	return cfg
}

// TestNothingElse: all rules that apply to the account, wherever granted, read only what is meant; besides, it may ask
// what it may do.
func TestNothingElse(t *testing.T) {
	granted(t)
	c, err := kubernetes.NewForConfig(as())
	if err != nil {
		t.Fatal(err)
	}
	var review *authorizationv1.SelfSubjectRulesReview
	poll(t, "the roles that every cluster has", func() bool {
		review, err = c.AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), &authorizationv1.SelfSubjectRulesReview{
			Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsForbidden(err) {
			t.Fatal(err)
		}
		return err == nil
	})
	if len(review.Status.ResourceRules) < len(role(t).Rules) {
		t.Errorf("only %d rules", len(review.Status.ResourceRules))
	}
	for _, r := range review.Status.ResourceRules {
		reads := !slices.ContainsFunc(r.Verbs, func(v string) bool { return !slices.Contains([]string{"get", "list", "watch"}, v) })
		about := !slices.ContainsFunc(r.Resources, func(s string) bool { return !strings.HasPrefix(s, "selfsubject") })
		if !reads && !about {
			t.Errorf("the account may %v %v of %v", r.Verbs, r.Resources, r.APIGroups)
		}
		if slices.Contains(r.Resources, "secrets") || slices.Contains(r.Resources, "*") {
			t.Errorf("the account may %v %v", r.Verbs, r.Resources)
		}
	}
}

// TestRecorderIsContent: a recorder with the account's rights is refused nothing.
func TestRecorderIsContent(t *testing.T) {
	granted(t)
	r, err := recorder.New(as(), recorder.Options{Path: filepath.Join(t.TempDir(), "cluster.db")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	if err := r.WaitForStart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, refused := range r.Refused() {
		if refused.Forbidden {
			t.Errorf("the recorder may not list %s of %q", refused.Resource, refused.Group)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
