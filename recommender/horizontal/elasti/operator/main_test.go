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
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/apitest"
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
	os.Exit(apitest.Run(m, kvcl.RBACFlags(), setUp))
}

// setUp has the API server serve the kinds that tests use.
func setUp(ctx context.Context, server *kvcl.APIServer) (err error) {
	klog.SetLogger(logr.Discard())
	cluster = server.RESTConfig()
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
	definitions, err := apitest.Definitions(elastiv1alpha1.Definition)
	if err != nil {
		return err
	}
	return apitest.Define(ctx, cluster, append(definitions, apitest.Scalable("keda.sh", "v1alpha1", "ScaledObject", "scaledobjects"))...)
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
