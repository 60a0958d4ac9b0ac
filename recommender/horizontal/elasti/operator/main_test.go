package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/recommender/horizontal/elasti"
)

// cluster is a real API server with RBAC, which all tests share: each works in a namespace of its own. client and dyn may do everything.
var (
	cluster *rest.Config
	client  kubernetes.Interface
	dyn     dynamic.Interface
	// undefined is what a round says before the API server serves ElastiServices.
	undefined error
)

// childEnv makes this binary a process that scales, as `scalehist horizontal serve` is one.
const childEnv = "OPERATOR_TEST_CHILD"

func TestMain(m *testing.M) {
	if text := os.Getenv(childEnv); text != "" {
		if err := child(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	server, err := kvcl.StartAPIServer(context.Background(), kvcl.Options{APIServerFlags: kvcl.RBACFlags()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cluster = server.RESTConfig()
	klog.SetLogger(logr.Discard())
	code := 1
	if err := setUp(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	if err := server.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// setUp has the API server serve the kinds that tests use.
func setUp(ctx context.Context) error {
	var err error
	if client, err = kubernetes.NewForConfig(cluster); err != nil {
		return err
	}
	if dyn, err = dynamic.NewForConfig(cluster); err != nil {
		return err
	}
	h, err := New(Options{Config: cluster, Registry: elasti.Registry{elasti.PrometheusType: nil}})
	if err != nil {
		return err
	}
	_, undefined = h.Poll(ctx)
	if err := h.Close(ctx); err != nil {
		return err
	}
	var definition unstructured.Unstructured
	if err := yaml.Unmarshal(elastiv1alpha1.Definition, &definition.Object); err != nil {
		return err
	}
	if err := define(ctx, &definition, elastiv1alpha1.GroupVersionResource); err != nil {
		return err
	}
	return define(ctx, definitionOf("keda.sh", "v1alpha1", "ScaledObject", "scaledobjects"), scaledObjects)
}

// definitionOf is the definition of a kind with any fields, and a scale subresource.
func definitionOf(group, version, kind, plural string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	text := fmt.Sprintf(`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "%[4]s.%[1]s"}, "spec": {
		"group": "%[1]s", "scope": "Namespaced", "names": {"kind": "%[3]s", "plural": "%[4]s"}, "versions": [{"name": "%[2]s", "served": true, "storage": true,
		"subresources": {"scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
		"schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}`, group, version, kind, plural)
	if err := o.UnmarshalJSON([]byte(text)); err != nil {
		panic(err)
	}
	return o
}

// define creates a definition and waits until its resource is served.
func define(ctx context.Context, definition *unstructured.Unstructured, resource schema.GroupVersionResource) error {
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	if _, err := dyn.Resource(crds).Create(ctx, definition, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
		return err
	}
	for {
		_, err := dyn.Resource(resource).List(ctx, metav1.ListOptions{})
		if !apierrors.IsNotFound(err) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// childOptions are what a child is started with.
type childOptions struct {
	Host, Token string
	CA          []byte
	Namespace   string
	Identity    string
}

// child scales until it is asked to end, or killed.
func child(text string) error {
	var o childOptions
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	h, err := New(Options{
		Config:    &rest.Config{Host: o.Host, BearerToken: o.Token, TLSClientConfig: rest.TLSClientConfig{CAData: o.CA}, QPS: -1},
		Namespace: o.Namespace, Interval: 100 * time.Millisecond,
		Registry: elasti.Registry{elasti.PrometheusType: elasti.Servers{Client: elasti.NewClient(true)}.Factory(clock.RealClock{})},
		Election: shortTerms(o.Namespace, o.Identity),
	})
	if err != nil {
		return err
	}
	return errors.Join(h.Run(ctx), h.Close(context.WithoutCancel(ctx)))
}

// shortTerms are those of a Lease that is missed soon.
func shortTerms(namespace, identity string) *Election {
	return &Election{Namespace: namespace, Name: Name, Identity: identity, Lease: 3 * time.Second, Renew: 2 * time.Second, Retry: 200 * time.Millisecond}
}
