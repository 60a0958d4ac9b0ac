package realca

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/truth"
	"github.com/scalehist/scalehist/internal/realprogram"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
)

const (
	// firstLoopWithin bounds the start of the autoscaler.
	firstLoopWithin   = 2 * time.Minute
	priorityConfigMap = "cluster-autoscaler-priority-expander"
	systemNamespace   = "kube-system"
	image             = "registry.k8s.io/autoscaling/cluster-autoscaler:v"
)

// apiFlags make a plain API server: all stable APIs, zone labels copied to bound pods, no admission that needs controllers.
func apiFlags() map[string]string {
	off := []string{
		"NamespaceLifecycle", "LimitRanger", "ServiceAccount", "TaintNodesByCondition", "PodSecurity", "Priority", "DefaultTolerationSeconds",
		"DefaultStorageClass", "StorageObjectInUseProtection", "PersistentVolumeClaimResize", "RuntimeClass", "CertificateApproval", "CertificateSigning",
		"ClusterTrustBundleAttest", "CertificateSubjectRestriction", "DefaultIngressClass", "NodeDeclaredFeatureValidator", "PodResizeValidator",
		"MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook", "ResourceQuota",
	}
	return map[string]string{"runtime-config": "api/ga=true", "disable-admission-plugins": strings.Join(off, ",")}
}

// inForce are the flags of a run that a recording would show.
func inForce(s *Scenario, o Options) []string {
	out := append([]string{"--cloud-provider=externalgrpc", "--leader-elect=false"}, s.Flags...)
	for _, f := range o.Flags {
		name, _, _ := strings.Cut(f, "=")
		out = slices.DeleteFunc(out, func(e string) bool { return e == name || strings.HasPrefix(e, name+"=") })
		out = append(out, f)
	}
	return out
}

// runOnce plays the scenario once. It leaves an object log and cluster-autoscaler.log in the run's directory.
func runOnce(ctx context.Context, s *Scenario, o Options, dir string) (_ *truth.Run, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	server, err := kvcl.StartAPIServer(ctx, kvcl.Options{APIServerFlags: apiFlags(), Assets: o.Assets})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	client, err := clientOf(server.RESTConfig())
	if err != nil {
		return nil, err
	}
	inner, stop := context.WithCancel(ctx)
	w := newWorld(inner, client, fail)
	defer func() {
		stop()
		w.tasks.Wait()
	}()
	if err := w.start(); err != nil {
		return nil, err
	}
	if err := startScheduler(inner, server.RESTConfig()); err != nil {
		return nil, err
	}
	if err := furnish(w, s, o); err != nil {
		return nil, err
	}
	book := &logbook{}
	if err := book.start(inner, client); err != nil {
		return nil, err
	}
	for _, g := range s.Groups {
		book.nodeGroup(scalehist.OpAdd, g, g.TargetSize)
	}
	begun := time.Now()
	start := begun.UTC().Truncate(time.Millisecond)
	book.begin(start)
	c := newCloud(s.Groups, func() time.Duration { return time.Since(begun) })
	c.join, c.leave = w.join, w.leave
	c.resized = func(g Group, size int) { book.nodeGroup(scalehist.OpUpdate, g, size) }
	defer c.stop()
	for _, obj := range s.Initial {
		if n, ok := obj.(*corev1.Node); ok {
			c.adopt(n.Annotations[v1alpha1.NodeGroupAnnotation], n.Name)
		}
	}
	ca, stopServing, err := startAutoscaler(server, c, s, o, dir)
	if err != nil {
		return nil, err
	}
	defer stopServing()
	defer ca.Stop()
	if err := play(ctx, s, c, w, ca); err != nil {
		return nil, err
	}
	run, err := result(c, client, start, time.Since(begun))
	if err != nil {
		return nil, err
	}
	c.stop()
	ca.Stop()
	stop()
	f, err := os.Create(filepath.Join(dir, logName))
	if err != nil {
		return nil, err
	}
	return run, errors.Join(book.write(f), f.Close())
}

func clientOf(cfg *rest.Config) (kubernetes.Interface, error) {
	cfg.ContentType = "application/vnd.kubernetes.protobuf"
	cfg.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return kubernetes.NewForConfig(cfg)
}

// furnish brings about what is there before the autoscaler starts, and waits until its pods run.
func furnish(w *world, s *Scenario, o Options) error {
	first := []scalehist.Object{}
	for _, name := range []string{systemNamespace, metav1.NamespaceDefault, metav1.NamespacePublic, corev1.NamespaceNodeLease} {
		ns := &corev1.Namespace{}
		ns.Name = name
		first = append(first, ns)
	}
	first = append(first, deployment(inForce(s, o), o.version))
	if s.Priorities != "" {
		m := &corev1.ConfigMap{Data: map[string]string{"priorities": s.Priorities}}
		m.Namespace, m.Name = systemNamespace, priorityConfigMap
		first = append(first, m)
	}
	for _, obj := range append(first, s.Initial...) {
		if n, ok := obj.(*corev1.Node); ok {
			n = n.DeepCopy()
			n.Spec.ProviderID = providerID(n.Name)
			n.Status.Conditions = ready(corev1.ConditionTrue, "KubeletReady", time.Now().Add(-time.Hour))
			obj = n
		}
		if err := w.apply(scalehist.OpAdd, obj); err != nil {
			return err
		}
	}
	for {
		pods, err := w.client.CoreV1().Pods("").List(w.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		classes, err := w.client.SchedulingV1().PriorityClasses().List(w.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		// The API server makes its own priority classes a second or two after it began to serve; they are not the load's.
		own := slices.IndexFunc(classes.Items, func(c schedulingv1.PriorityClass) bool { return c.Name == "system-node-critical" }) >= 0 &&
			slices.IndexFunc(classes.Items, func(c schedulingv1.PriorityClass) bool { return c.Name == "system-cluster-critical" }) >= 0
		if own && !slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodPending }) {
			return nil
		}
		if err := pause(w.ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// deployment is what a recording shows of the autoscaler.
func deployment(flags []string, version string) *appsv1.Deployment {
	one := int32(1)
	label := map[string]string{"app": "cluster-autoscaler"}
	d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: label}}}
	d.Namespace, d.Name = systemNamespace, "cluster-autoscaler"
	d.Spec.Template.Labels = label
	d.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "cluster-autoscaler", Image: image + version, Command: append([]string{"./cluster-autoscaler"}, flags...),
	}}
	return d
}

// startAutoscaler serves the cloud and starts the binary.
func startAutoscaler(server *kvcl.APIServer, c *cloud, s *Scenario, o Options, dir string) (*realprogram.Process, func(), error) {
	provider, err := externalgrpc.NewServer(c, externalgrpc.ServerOptions{})
	if err != nil {
		return nil, nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = provider.Serve(l) }) // an autoscaler that is not served never loops, which is an error
	credentials, cloudConfig := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "cloud.yaml")
	stop := func() {
		provider.Stop()
		serving.Wait()
		_, _ = os.Remove(credentials), os.Remove(cloudConfig) // they are of servers that are gone
	}
	kubeconfig, err := server.Kubeconfig()
	if err != nil {
		stop()
		return nil, nil, err
	}
	files := map[string][]byte{credentials: kubeconfig, cloudConfig: []byte("address: " + l.Addr().String() + "\ngrpc_timeout: 10s\n")}
	for path, data := range files {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			stop()
			return nil, nil, err
		}
	}
	args := append(inForce(s, o),
		"--cloud-config="+cloudConfig, "--kubeconfig="+credentials,
		"--address=127.0.0.1:0", "--namespace="+systemNamespace, fmt.Sprintf("--v=%d", o.Verbosity))
	logFile := filepath.Join(dir, "cluster-autoscaler.log")
	if err := os.WriteFile(logFile, nil, 0o644); err != nil { // of this run alone
		stop()
		return nil, nil, err
	}
	p, err := realprogram.Start(o.Binary, args, logFile)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return p, stop, nil
}

// play waits for the first loop, then feeds the workload in, then waits for the end.
func play(ctx context.Context, s *Scenario, c *cloud, w *world, ca *realprogram.Process) error {
	late := time.NewTimer(firstLoopWithin)
	defer late.Stop()
	select {
	case <-c.looped:
	case <-ca.Done():
		return fmt.Errorf("the autoscaler ended before its first loop (%w): read its log", ca.Err())
	case <-late.C:
		return fmt.Errorf("the autoscaler began no loop within %s: read its log", firstLoopWithin)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := pause(ctx, s.Idle); err != nil {
		return err
	}
	begun := time.Now()
	c.begin()
	for _, ch := range s.Changes {
		if err := pause(ctx, ch.After-time.Since(begun)); err != nil {
			return err
		}
		if err := w.apply(ch.Op, ch.Object); err != nil {
			return err
		}
	}
	if err := pause(ctx, s.Duration-time.Since(begun)); err != nil {
		return err
	}
	select {
	case <-ca.Done():
		return fmt.Errorf("the autoscaler ended within the run (%w): read its log", ca.Err())
	default:
		return nil
	}
}

// pause waits, unless the run ends before, which is an error that says why.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(max(0, d))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
