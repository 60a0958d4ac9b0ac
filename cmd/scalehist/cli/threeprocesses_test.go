package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/internal/realprogram"
	"github.com/scalehist/scalehist/internal/realprogram/realtest"
	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/virtualca/discovery"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
	"github.com/scalehist/scalehist/virtualca/nodemanager"
)

// authority signs certificates for 127.0.0.1, for servers and clients.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.cert, a.key = a.sign(t, "ca", nil)
	return a
}

// sign writes NAME.crt and NAME.key; without a parent it is the authority itself.
func (a *authority) sign(t *testing.T, name string, parent *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: parent == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	signer := a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for ext, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "EC PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(a.path(name+ext), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// files are a new certificate of somebody.
func (a *authority) files(t *testing.T, name string) *externalgrpc.TLSFiles {
	t.Helper()
	a.sign(t, name, a.cert)
	return &externalgrpc.TLSFiles{Cert: a.path(name + ".crt"), Key: a.path(name + ".key"), CACert: a.path("ca.crt")}
}

// client calls a service as somebody.
func (a *authority) client(t *testing.T, name, base string) restapi.Client {
	t.Helper()
	config, err := a.files(t, name).ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	return restapi.Client{HTTP: &http.Client{Transport: &http.Transport{TLSClientConfig: config}}, Base: base}
}

var servedOn = regexp.MustCompile(`serving .*(?:https?://| on )([0-9.:]+)`)

// command runs scalehist as a process that serves, and says where.
func command(t *testing.T, dir, name string, args ...string) (p *realprogram.Process, address string) {
	t.Helper()
	log := filepath.Join(dir, fmt.Sprintf("%s-%d.log", name, time.Now().UnixNano()))
	p, err := realprogram.Start(os.Args[0], args, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			text, _ := os.ReadFile(log)
			t.Logf("%s:\n%s", name, text)
		}
	})
	realtest.Eventually(t, name+" does not serve", func() bool {
		text, err := os.ReadFile(log)
		if m := servedOn.FindSubmatch(text); err == nil && m != nil {
			address = string(m[1])
		}
		return address != ""
	})
	return p, address
}

func kill(t *testing.T, p *realprogram.Process) {
	t.Helper()
	one, err := os.FindProcess(p.PID())
	if err == nil {
		err = one.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
}

// eventually is realtest.Eventually for what takes the real autoscaler some loops.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(50 * time.Second); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

const borrowedGroups = `
groups:
- {name: std, maxSize: 3, policy: cheapest, select: {hasGPU: "false"}, labels: {pool: std}, resources: {min: {cpu: "2", memory: 2Gi}, max: {cpu: "3", memory: 4Gi}}}
`

// TestThreeProcesses: the unmodified autoscaler, provider, node manager and discovery, with mutual TLS on every leg. The node manager is killed while nodes are on
// their way, and again before they go: nothing is lost.
func TestThreeProcesses(t *testing.T) {
	binary := realtest.ClusterAutoscaler(t, filepath.Join("..", "..", ".."))
	server, err := kvcl.StartAPIServer(t.Context(), kvcl.Options{APIServerFlags: map[string]string{"runtime-config": "api/ga=true"}}) // the autoscaler waits for all it watches
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	kubeconfig, err := server.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(server.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(mainVariable, "1")
	dir, ca := t.TempDir(), newAuthority(t)
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	config := file("kubeconfig", string(kubeconfig))
	serving := func(name string) []string {
		f := ca.files(t, name)
		return []string{"--tls-cert", f.Cert, "--tls-key", f.Key, "--client-ca", f.CACert}
	}
	_, registry := command(t, dir, "discovery", append([]string{"discovery", "serve"}, append(serving("discovery"), "--listen", "127.0.0.1:0", "--db", filepath.Join(dir, "discovery.db"),
		"--key", file("key", strings.Repeat("5a", 32)), "--reader", "node-manager")...)...)
	member := &discovery.Client{API: ca.client(t, "turin", "https://"+registry)}
	for name, price := range map[string]float64{"turin": 1, "rome": 2} {
		if _, err := member.Put(t.Context(), discovery.Registration{Kubeconfig: string(kubeconfig), Cluster: discovery.Cluster{Name: name, Labels: map[string]string{"hasGPU": "false"},
			Resources: corev1.ResourceList{"cpu": resource.MustParse("3"), "memory": resource.MustParse("8Gi")}, Prices: &prices.PodPrices{CPU: price}}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := member.Kubeconfig(t.Context(), "rome"); err == nil {
		t.Error("a cluster reads the kubeconfig of another")
	}
	managing := append([]string{"nodemanager", "serve"}, append(serving("node-manager"), "--db", filepath.Join(dir, "nodes.db"), "--backend", "multicluster", "--borrow", file("borrow.yaml", borrowedGroups),
		"--discovery", "https://"+registry, "--kubeconfig", config, "--provision-delay", "3s")...)
	manager, address := command(t, dir, "node-manager", append(managing[:len(managing):len(managing)], "--listen", "127.0.0.1:0")...)
	restart := func() {
		t.Helper()
		kill(t, manager)
		manager, _ = command(t, dir, "node-manager", append(managing[:len(managing):len(managing)], "--listen", address)...)
	}
	f := ca.files(t, "provider")
	_, provider := command(t, dir, "provider", "provider", "serve", "--node-manager", "https://"+address, "--listen", "127.0.0.1:0", "--tls-cert", f.Cert, "--tls-key", f.Key, "--ca", f.CACert)
	f = ca.files(t, "autoscaler")
	log := filepath.Join(dir, "autoscaler.log")
	autoscaler, err := realprogram.Start(binary, []string{"--cloud-provider=externalgrpc", "--kubeconfig=" + config, "--leader-elect=false", "--address=127.0.0.1:0", "--v=2",
		"--cloud-config=" + file("cloud.yaml", fmt.Sprintf("address: %s\ncert: %s\nkey: %s\ncacert: %s\ngrpc_timeout: 30s\n", provider, f.Cert, f.Key, f.CACert)),
		"--scan-interval=1s", "--scale-down-unneeded-time=3s", "--scale-down-delay-after-add=1s", "--expander=price"}, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		autoscaler.Stop()
		if t.Failed() {
			text, _ := os.ReadFile(log)
			t.Logf("the autoscaler's log ends:\n%s", text[max(0, len(text)-8000):])
		}
	})
	nodes := &nodemanager.Client{API: ca.client(t, "test", "https://"+address), Clock: clock.RealClock{}}
	size := func() int {
		n, err := nodes.TargetSize(t.Context(), "std")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	for _, name := range []string{"one", "two"} {
		pending(t, client, name)
	}
	eventually(t, "no nodes are asked for", func() bool { return size() == 2 })
	restart() // both nodes are on their way
	var list *corev1.NodeList
	eventually(t, "the nodes do not join", func() bool {
		list, err = client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 2
	})
	if n := size(); n != 2 {
		t.Errorf("target size %d after a restart, want 2", n)
	}
	for i, name := range []string{"one", "two"} {
		n := list.Items[i]
		if n.Labels["pool"] != "std" || n.Status.Allocatable.Cpu().Value() != 3 || !strings.HasPrefix(n.Spec.ProviderID, "share://std-") {
			t.Errorf("node %+v", n)
		}
		if err := pods.Bind(t.Context(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: name}, Target: corev1.ObjectReference{Kind: "Node", Name: n.Name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	now := int64(0)
	for _, name := range []string{"one", "two"} {
		if err := pods.Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			t.Fatal(err)
		}
	}
	restart()
	eventually(t, "the nodes are not deleted", func() bool {
		list, err = client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 0 && size() == 0
	})
	if left, err := nodes.Instances(t.Context(), "std"); err != nil || len(left) != 0 {
		t.Errorf("instances %v, %v: nothing is borrowed any more", left, err)
	}
}

// pending makes a pod that the scheduler found no node for.
func pending(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}, Spec: corev1.PodSpec{NodeSelector: map[string]string{"pool": "std"},
		Containers: []corev1.Container{{Name: "c", Image: "registry.k8s.io/pause:3.10", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1500m")}}}}}}
	p, err := client.CoreV1().Pods(p.Namespace).Create(t.Context(), p, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	if _, err := client.CoreV1().Pods(p.Namespace).UpdateStatus(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
