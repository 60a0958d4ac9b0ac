package api

import (
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist/recommender"
)

// checkConstraints refuses bounds that bound nothing: a number below zero is a slip, and would be taken for no limit.
func checkConstraints(c *recommender.Constraints) error {
	negative := func(path string, v int64) error {
		if v < 0 {
			return &RequestError{"constraints." + path, fmt.Sprintf("%d is below zero", v), "write 0 or more; 0 is no limit"}
		}
		return nil
	}
	if err := negative("maxNodesTotal", int64(c.MaxNodesTotal)); err != nil {
		return err
	}
	for i, r := range []*recommender.Range{c.Cores, c.MemoryGiB} {
		path := []string{"cores", "memoryGiB"}[i]
		if r == nil {
			continue
		}
		if err := negative(path+".min", r.Min); err != nil {
			return err
		}
		if err := negative(path+".max", r.Max); err != nil {
			return err
		}
		if r.Max > 0 && r.Min > r.Max {
			return &RequestError{"constraints." + path, fmt.Sprintf("min %d is above max %d", r.Min, r.Max), "exchange them, or leave one out"}
		}
	}
	s := c.ScaleDown
	if s == nil {
		return nil
	}
	if u := s.UtilizationThreshold; u < 0 || u > 1 || math.IsNaN(u) {
		return &RequestError{"constraints.scaleDown.utilizationThreshold", fmt.Sprintf("%v is no share", u), "write 0 to 1"}
	}
	return negative("scaleDown.maxNodes", int64(s.MaxNodes))
}

// checkPod refuses requests below zero, as an API server does: they would make room.
func checkPod(p *corev1.Pod, path string) error {
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			for _, name := range slices.Sorted(maps.Keys(list[i].Resources.Requests)) {
				if q := list[i].Resources.Requests[name]; q.Sign() < 0 {
					return &RequestError{path, fmt.Sprintf("container %s of Pod %s/%s asks for %s of %s", list[i].Name, p.Namespace, p.Name, q.String(), name), "requests are 0 or more"}
				}
			}
		}
	}
	return nil
}
