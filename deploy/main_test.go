package deploy

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/scalehist/scalehist/harness/kvcl"
)

// cluster is a real API server with the rules and the admission of a real cluster: RBAC, and PodSecurity.
var cluster *rest.Config

var apiServer = map[string]string{
	"authorization-mode":        "RBAC",
	"enable-admission-plugins":  "PodSecurity,NamespaceLifecycle",
	"disable-admission-plugins": "ServiceAccount,TaintNodesByCondition,Priority,DefaultStorageClass,DefaultIngressClass,RuntimeClass,ResourceQuota,LimitRanger,MutatingAdmissionPolicy,ValidatingAdmissionPolicy",
	"runtime-config": strings.Join([]string{
		"api/all=false", "api/v1=true", "apiregistration.k8s.io/v1=true", "apps/v1=true", "batch/v1=true", "policy/v1=true",
		"scheduling.k8s.io/v1=true", "storage.k8s.io/v1=true", "events.k8s.io/v1=true", "coordination.k8s.io/v1=true",
		"node.k8s.io/v1=true", "networking.k8s.io/v1=true", "apiextensions.k8s.io/v1=true", "rbac.authorization.k8s.io/v1=true",
		"authorization.k8s.io/v1=true", "admissionregistration.k8s.io/v1=true",
	}, ","),
}

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
