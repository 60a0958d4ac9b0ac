package operator

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	vpaclient "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/client/clientset/versioned"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/internal/vpatest"
	"github.com/scalehist/scalehist/recommender/vertical"
)

// cluster is a real API server, which all tests share: each works in a namespace of its own.
var (
	cluster *rest.Config
	client  kubernetes.Interface
	vpas    vpaclient.Interface
	// undefined is what a round says before the API server serves VPAs.
	undefined error
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	server, err := kvcl.StartAPIServer(context.Background(), kvcl.Options{})
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

func setUp(ctx context.Context) (err error) {
	if client, err = kubernetes.NewForConfig(cluster); err != nil {
		return err
	}
	if vpas, err = vpaclient.NewForConfig(cluster); err != nil {
		return err
	}
	spec, err := vertical.Parse("vpa")
	if err != nil {
		return err
	}
	o, err := New(Options{Config: cluster, Source: &source{}, Recommender: spec})
	if err != nil {
		return err
	}
	_, undefined = o.Round(ctx)
	return vpatest.Define(ctx, cluster)
}

// source gives what tests say, once.
type source struct {
	list []Usage
	err  error
}

func (s *source) Usage(context.Context, time.Time) (list []Usage, more bool, err error) {
	list, s.list = s.list, nil
	return list, false, s.err
}
