package kvcl

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/scalehist/scalehist/harness/kvcl/assets"
)

// APIServer is a kube-apiserver and etcd and nothing else: no scheduler, no virtual time. It serves programs that run in real
// time against it. Unlike Start it leaves the process's feature gates as they are.
type APIServer struct{ procs *processes }

// StartAPIServer boots one. Of the options, LogDir, Assets and APIServerFlags count. ctx bounds the start only; if this process
// dies without Close, the kernel ends the children.
func StartAPIServer(ctx context.Context, o Options) (*APIServer, error) {
	if err := makeLogDir(o.LogDir); err != nil {
		return nil, err
	}
	paths, err := assets.Ensure(ctx, o.Assets)
	if err != nil {
		return nil, err
	}
	procs, err := launch(ctx, paths, o)
	if err != nil {
		return nil, err
	}
	return &APIServer{procs: procs}, nil
}

// RESTConfig is how to reach it, as an administrator. The caller may change it.
func (s *APIServer) RESTConfig() *rest.Config { return rest.CopyConfig(s.procs.config) }

// Kubeconfig is RESTConfig as a file for other programs.
func (s *APIServer) Kubeconfig() ([]byte, error) { return kubeconfig(s.procs.config) }

// Close ends both processes and removes their files.
func (s *APIServer) Close() error { return s.procs.stop() }

// kubeconfig writes how to reach an API server as a file for kubectl and other programs.
func kubeconfig(r *rest.Config) ([]byte, error) {
	const one = "kvcl"
	c := clientcmdapi.NewConfig()
	c.Clusters[one] = &clientcmdapi.Cluster{Server: r.Host, CertificateAuthorityData: r.CAData}
	c.AuthInfos[one] = &clientcmdapi.AuthInfo{Token: r.BearerToken}
	c.Contexts[one] = &clientcmdapi.Context{Cluster: one, AuthInfo: one}
	c.CurrentContext = one
	out, err := clientcmd.Write(*c)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of the virtual cluster: %w", err)
	}
	return out, nil
}
