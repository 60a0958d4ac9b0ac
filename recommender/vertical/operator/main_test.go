package operator

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	vpaclient "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/client/clientset/versioned"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/apitest"
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

func TestMain(m *testing.M) { os.Exit(apitest.Run(m, nil, setUp)) }

func setUp(ctx context.Context, server *kvcl.APIServer) (err error) {
	klog.SetLogger(logr.Discard())
	cluster = server.RESTConfig()
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
	return apitest.DefineVPAs(ctx, cluster)
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
