package sources

import (
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

const (
	// gardenerOptions begins the annotations by which Gardener hands the options of a worker pool to its autoscaler, on
	// every MachineDeployment (gardener/autoscaler cloudprovider/mcm/mcm_cloud_provider.go); an empty one says nothing.
	gardenerOptions = "autoscaler.gardener.cloud/"
	// capiOptions begins those of Cluster API (cluster-autoscaler cloudprovider/clusterapi/README.md); the name of the
	// option follows in small letters.
	capiOptions = "cluster.x-k8s.io/autoscaling-options-"
)

// gardenerGroupOptions are those of a MachineDeployment's annotations, else those of the Worker's pool, from which Gardener
// makes the annotations.
func gardenerGroupOptions(d *unstructured.Unstructured, p pool) *v1alpha1.NodeGroupOptions {
	annotations, spec := d.GetAnnotations(), object(p.spec, "clusterAutoscaler")
	return options(func(name string) string {
		if v, ok := annotations[gardenerOptions+dashed(name)]; ok {
			return v
		}
		return text(spec, name)
	})
}

func capiGroupOptions(d *unstructured.Unstructured) *v1alpha1.NodeGroupOptions {
	annotations := d.GetAnnotations()
	return options(func(name string) string { return annotations[capiOptions+strings.ToLower(name)] })
}

// options reads the options by name; one that is absent, or not of its type, leaves the flag as it is, as it does
// upstream. It is nil when nothing is left.
func options(say func(name string) string) *v1alpha1.NodeGroupOptions {
	out, found := v1alpha1.NodeGroupOptions{}, false
	share := func(name string) *float64 {
		v, err := strconv.ParseFloat(strings.TrimSpace(say(name)), 64)
		if err != nil || v < 0 || v != v {
			return nil
		}
		found = true
		return &v
	}
	duration := func(name string) *metav1.Duration {
		v, err := time.ParseDuration(strings.TrimSpace(say(name)))
		if err != nil || v < 0 {
			return nil
		}
		found = true
		return &metav1.Duration{Duration: v}
	}
	out.ScaleDownUtilizationThreshold = share("scaleDownUtilizationThreshold")
	out.ScaleDownGPUUtilizationThreshold = share("scaleDownGpuUtilizationThreshold")
	out.ScaleDownUnneededTime = duration("scaleDownUnneededTime")
	out.ScaleDownUnreadyTime = duration("scaleDownUnreadyTime")
	out.MaxNodeProvisionTime = duration("maxNodeProvisionTime")
	out.MaxNodeStartupTime = duration("maxNodeStartupTime")
	if !found {
		return nil
	}
	return &out
}

// dashed is "scale-down-unneeded-time" of "scaleDownUnneededTime".
func dashed(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('-')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
