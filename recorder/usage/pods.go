package usage

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"k8s.io/metrics/pkg/client/clientset/versioned"

	"github.com/scalehist/scalehist/recorder/history"
)

// Pods reads the metrics API (metrics.k8s.io/v1beta1, which metrics-server and others serve).
type Pods struct {
	client versioned.Interface
	// Namespace is the one that is asked for; all where it is empty.
	Namespace string
}

// NewPods prepares to read it. It talks to nobody yet.
func NewPods(cfg *rest.Config) (*Pods, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.ContentType, cfg.AcceptContentTypes = "application/json", "application/json"
	client, err := versioned.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("metrics API: %w", err)
	}
	return &Pods{client: client}, nil
}

// pageSize is how many pods are asked for at once, by servers that keep to it; metrics-server gives all.
const pageSize = 500

// List gives what every container uses, at the instant the server measured it: asking twice before it measures again
// gives the same. now stands for an instant that the server does not say.
func (p *Pods) List(ctx context.Context, now time.Time) ([]history.Usage, error) {
	var out []history.Usage
	o := metav1.ListOptions{Limit: pageSize}
	for {
		list, err := p.client.MetricsV1beta1().PodMetricses(p.Namespace).List(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("metrics API: list pods: %w", err)
		}
		for i := range list.Items {
			out = append(out, containers(&list.Items[i], now)...)
		}
		if list.Continue == "" {
			return out, nil
		}
		o.Continue = list.Continue
	}
}

// containers are in millicores, rounded up, and bytes.
func containers(m *v1beta1.PodMetrics, now time.Time) []history.Usage {
	at := m.Timestamp.UTC()
	if m.Timestamp.IsZero() {
		at = now.UTC()
	}
	out := make([]history.Usage, 0, len(m.Containers))
	for _, c := range m.Containers {
		cpu, memory := c.Usage[corev1.ResourceCPU], c.Usage[corev1.ResourceMemory]
		out = append(out, history.Usage{At: at, Pod: types.NamespacedName{Namespace: m.Namespace, Name: m.Name}, Container: c.Name,
			CPUMilli: cpu.MilliValue(), MemoryBytes: memory.Value()})
	}
	return out
}
