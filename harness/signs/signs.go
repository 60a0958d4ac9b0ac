package signs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/scalehist/scalehist"
)

// Writer writes the status and the events of one autoscaler.
//
// The ConfigMap goes through the cluster as any object does, when it says something new: a real one is written
// every loop with new probe times, which would cost a write a loop and say nothing. Events have no place in a control
// plane (nothing decides by them), so they go to its API server; a plane without one has none.
type Writer struct {
	cluster cluster
	client  kubernetes.Interface // nil: no API server
	// said is what the ConfigMap says without the times of its probes; empty: it was never written.
	said string
	// events counts those written, for their names.
	events int
}

// cluster is where objects are written.
type cluster interface {
	Apply(context.Context, []scalehist.Change) error
}

// New is a writer into a cluster, and to its API server where client is not nil.
func New(client kubernetes.Interface, c cluster) *Writer { return &Writer{client: client, cluster: c} }

// Write writes what a loop of an autoscaler, or its work between two, has brought.
func (w *Writer) Write(ctx context.Context, engine scalehist.Autoscaler, d scalehist.Decision) error {
	if reporter, ok := engine.(scalehist.StatusReporter); ok {
		if err := w.writeStatus(ctx, d.At, reporter.Status()); err != nil {
			return err
		}
	}
	if w.client == nil {
		return nil
	}
	for _, e := range d.Events {
		if err := w.writeEvent(ctx, d.At, e); err != nil {
			return fmt.Errorf("write event %s of %s: %w", e.Reason, e.Object, err)
		}
	}
	return nil
}

func (w *Writer) writeStatus(ctx context.Context, at time.Time, status *corev1.ConfigMap) error {
	if status == nil {
		return nil
	}
	text := withoutProbes(status)
	if text == w.said {
		return nil
	}
	op := scalehist.OpUpdate
	if w.said == "" {
		op = scalehist.OpAdd
		status.UID = types.UID("configmap/" + status.Namespace + "/" + status.Name)
		status.CreationTimestamp = metav1.NewTime(at)
	}
	if err := w.cluster.Apply(ctx, []scalehist.Change{{At: at, Op: op, Object: status}}); err != nil {
		return fmt.Errorf("write the autoscaler's status: %w", err)
	}
	w.said = text
	return nil
}

// withoutProbes is what a status says, without when it was asked for.
func withoutProbes(status *corev1.ConfigMap) string {
	var b strings.Builder
	b.WriteString(status.Namespace + "/" + status.Name + "\n")
	for line := range strings.Lines(status.Data["status"]) {
		if key := strings.TrimLeft(line, " -"); !strings.HasPrefix(key, "lastProbeTime:") && !strings.HasPrefix(line, "time:") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// warnings are the reasons of events that upstream writes as warnings.
var warnings = []string{
	"ClusterUnhealthy", "DeleteUnregisteredFailed", "FailedToRevertScaleUp", "FailedToScaleUpGroup", "MaxNodesTotalReached",
	"ScaleDownFailed", "ScaleUpFailed", "ScaleUpTimedOut",
}

func (w *Writer) writeEvent(ctx context.Context, now time.Time, e scalehist.Event) error {
	ref := reference(e.Object)
	namespace := ref.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	w.events++
	at := metav1.NewTime(now)
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s.%06x", ref.Name, w.events)},
		InvolvedObject: ref, Reason: e.Reason, Message: e.Message, Type: corev1.EventTypeNormal,
		Source: corev1.EventSource{Component: "cluster-autoscaler"}, FirstTimestamp: at, LastTimestamp: at, Count: 1,
	}
	if slices.Contains(warnings, e.Reason) {
		event.Type = corev1.EventTypeWarning
	}
	_, err := w.client.CoreV1().Events(namespace).Create(ctx, event, metav1.CreateOptions{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	// The API server makes the namespaces of its own some time after its start.
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := w.client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	_, err = w.client.CoreV1().Events(namespace).Create(ctx, event, metav1.CreateOptions{})
	return err
}

// reference parses "Pod/default/web-1", "Node/std-1" or "ConfigMap/kube-system/cluster-autoscaler-status".
func reference(object string) corev1.ObjectReference {
	parts := strings.Split(object, "/")
	ref := corev1.ObjectReference{Kind: parts[0], APIVersion: "v1", Name: parts[len(parts)-1]}
	if len(parts) == 3 {
		ref.Namespace = parts[1]
	}
	return ref
}
