package deploy

import (
	"context"
	"os"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/apitest"
)

// cluster is a real API server with the rules and the admission of a real cluster: RBAC, and PodSecurity.
var cluster *rest.Config

var apiServer = func() map[string]string {
	flags := kvcl.RBACFlags()
	flags["enable-admission-plugins"] = "PodSecurity,NamespaceLifecycle"
	flags["disable-admission-plugins"] = "ServiceAccount,TaintNodesByCondition,Priority,DefaultStorageClass,DefaultIngressClass,RuntimeClass,ResourceQuota,LimitRanger,MutatingAdmissionPolicy,ValidatingAdmissionPolicy"
	return flags
}()

func TestMain(m *testing.M) {
	os.Exit(apitest.Run(m, apiServer, func(_ context.Context, server *kvcl.APIServer) error {
		cluster = server.RESTConfig()
		return nil
	}))
}
