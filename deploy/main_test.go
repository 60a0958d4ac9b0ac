package deploy

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/scalehist/scalehist/harness/kvcl"
)

// cluster is a real API server with the rules and the admission of a real cluster: RBAC, and PodSecurity.
var cluster *rest.Config

var apiServer = func() map[string]string {
	flags := kvcl.RBACFlags()
	flags["enable-admission-plugins"] = "PodSecurity,NamespaceLifecycle"
	flags["disable-admission-plugins"] = "ServiceAccount,TaintNodesByCondition,Priority,DefaultStorageClass,DefaultIngressClass,RuntimeClass,ResourceQuota,LimitRanger,MutatingAdmissionPolicy,ValidatingAdmissionPolicy"
	return flags
}()

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	plane, err := kvcl.Start(context.Background(), kvcl.Options{Now: time.Now(), APIServerFlags: apiServer})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cluster = plane.RESTConfig()
	code := m.Run()
	if err := plane.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
