package service

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/scalehist/scalehist/internal/decode"
)

// ErrNoKubeconfig: none is given, and where kubectl would look there is none.
var ErrNoKubeconfig = errors.New("none found")

// Kubeconfig reads how to reach a cluster from a kubeconfig file; without a path from those that kubectl would read. context "" is the
// file's current one.
func Kubeconfig(path, context string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err) && path == "":
		return nil, ErrNoKubeconfig
	case clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("%s has no clusters in it", path)
	}
	return cfg, decode.Scrubbed(err)
}
