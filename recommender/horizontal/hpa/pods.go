package hpa

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcehelpers "k8s.io/component-helpers/resource"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	hpametrics "k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
)

var errNoPods = errors.New("no pods returned by selector while calculating replica count")

// sorted are the pods of a target by what their samples are worth, and the samples of those that count.
type sorted struct {
	samples          hpametrics.PodMetricsInfo
	unready, missing []string
	counts           PodCounts
}

// sortPods separates pods whose samples count from those of which something is assumed. It takes the samples over. An error means that
// there is nothing to decide on. The rules are those of KEP-117 as groupPods in replica_calculator.go has them; resource is empty for
// metrics that are no usage.
func (s *sync) sortPods(samples hpametrics.PodMetricsInfo, resource corev1.ResourceName) (*sorted, error) {
	if len(s.target.Pods) == 0 {
		return nil, errNoPods
	}
	g := &sorted{samples: samples}
	for _, pod := range s.target.Pods {
		sample, measured := samples[pod.Name]
		switch {
		case pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed:
			g.counts.Ignored++
			delete(samples, pod.Name)
		case pod.Status.Phase == corev1.PodPending:
			g.unready = append(g.unready, pod.Name)
		case !measured:
			g.missing = append(g.missing, pod.Name)
		case resource == corev1.ResourceCPU && s.initializing(pod, sample):
			g.unready = append(g.unready, pod.Name)
		default:
			g.counts.Ready++
		}
	}
	for _, name := range g.unready {
		delete(samples, name)
	}
	g.counts.Unready, g.counts.Missing = len(g.unready), len(g.missing)
	if len(samples) == 0 {
		return nil, errors.New("did not receive metrics for targeted pods (pods might be unready)")
	}
	return g, nil
}

// initializing says whether the CPU usage of a pod is that of its start.
func (s *sync) initializing(pod *corev1.Pod, sample hpametrics.PodMetric) bool {
	_, ready := podutil.GetPodCondition(&pod.Status, corev1.PodReady)
	if ready == nil || pod.Status.StartTime == nil {
		return true
	}
	unready := ready.Status == corev1.ConditionFalse
	start, since := pod.Status.StartTime.Time, ready.LastTransitionTime.Time
	if start.Add(s.options.CPUInitializationPeriod).After(s.now) {
		// A sample counts once it is of a whole window in which the pod was ready.
		return unready || sample.Timestamp.Before(since.Add(sample.Window))
	}
	return unready && start.Add(s.options.InitialReadinessDelay).After(since) // never was ready
}

// readyPods counts the running pods that are ready.
func (s *sync) readyPods() (int, error) {
	if len(s.target.Pods) == 0 {
		return 0, fmt.Errorf("unable to calculate ready pods: %w", errNoPods)
	}
	n := 0
	for _, pod := range s.target.Pods {
		if pod.Status.Phase == corev1.PodRunning && podutil.IsPodReady(pod) {
			n++
		}
	}
	return n, nil
}

// requests are the requests of all pods for a resource in thousandths, of one container or, where that is empty, of the whole pod. It is an
// error if one pod has none.
func (s *sync) requests(container string, resource corev1.ResourceName) (map[string]int64, error) {
	out := make(map[string]int64, len(s.target.Pods))
	for _, pod := range s.target.Pods {
		var request int64
		var err error
		if container == "" && s.options.PodLevelResources && resourcehelpers.IsPodLevelRequestsSet(pod) {
			request, err = podRequest(pod, resource) // KEP-2837
		} else {
			request, err = containerRequests(pod, container, resource)
		}
		if err != nil {
			return nil, err
		}
		out[pod.Name] = request
	}
	return out, nil
}

// podRequest is the request of a pod that has requests of its own beside those of its containers.
func podRequest(pod *corev1.Pod, resource corev1.ResourceName) (int64, error) {
	request, ok := resourcehelpers.PodRequests(pod, resourcehelpers.PodResourcesOptions{})[resource]
	if !ok {
		return 0, fmt.Errorf("missing pod-level request for %s in Pod %s", resource, pod.Name)
	}
	return request.MilliValue(), nil
}

// containerRequests adds up the containers of a pod and its restartable init containers (sidecars), or finds one of them.
func containerRequests(pod *corev1.Pod, name string, resource corev1.ResourceName) (sum int64, err error) {
	found := name == ""
	add := func(c *corev1.Container) {
		if err != nil || name != "" && (found || c.Name != name) {
			return
		}
		found = true
		request, ok := c.Resources.Requests[resource]
		if !ok {
			err = fmt.Errorf("missing request for %s in container %s of Pod %s", resource, c.Name, pod.Name)
		}
		sum += request.MilliValue()
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(c)
		}
	}
	switch {
	case !found:
		return 0, fmt.Errorf("container %s not found in Pod %s", name, pod.Name)
	case err != nil:
		return 0, err
	}
	return sum, nil
}
