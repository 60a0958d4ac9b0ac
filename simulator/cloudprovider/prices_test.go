package cloudprovider

import (
	"math"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist/prices"
)

const priceFile = `
currency: EUR
machineTypes:
  m.xlarge: 0.2
nodeGroups:
  a: 0.05
pods:
  cpu: 0.03
  memoryGiB: 0.004
  gpu: 0.7
`

func TestPrices(t *testing.T) {
	table, err := prices.Parse([]byte(priceFile))
	if err != nil {
		t.Fatal(err)
	}
	p := provider(t, Options{Prices: table})
	b := template()
	b.Name = "n"
	if got, err := p.NodePrice(b, start, start.Add(90*time.Minute)); err != nil || math.Abs(got-0.3) > 1e-12 {
		t.Errorf("by machine type: got %v %v, want 0.3", got, err)
	}
	if got, err := p.NodePrice(existing("x", "a"), start, start.Add(time.Hour)); err != nil || got != 0.05 {
		t.Errorf("by node group: got %v %v, want 0.05", got, err)
	}
	if _, err := p.NodePrice(existing("y", "b"), start, start.Add(time.Hour)); err == nil || !strings.Contains(err.Error(), `machine type "" is not in the price table`) {
		t.Errorf("unknown: got %v, want an error", err)
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("2Gi"), "nvidia.com/gpu": resource.MustParse("1"),
	}}}}}}
	if got, err := p.PodPrice(pod, start, start.Add(2*time.Hour)); err != nil || math.Abs(got-2*(0.015+0.008+0.7)) > 1e-12 {
		t.Errorf("pod: got %v %v", got, err)
	}
	if _, err := provider(t, Options{}).NodePrice(b, start, start); err == nil {
		t.Error("without a table: want an error")
	}
}
