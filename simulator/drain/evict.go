package drain

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// Evict asks for the eviction of pods in their order. Those that leave, or have left, and those that were refused are given apart, with why
// the last one was refused.
func Evict[P any](pods []P, evict func(P) error) (leaving, refused []P, last error) {
	for _, p := range pods {
		if err := evict(p); err != nil && !apierrors.IsNotFound(err) {
			refused, last = append(refused, p), err
			continue
		}
		leaving = append(leaving, p)
	}
	return leaving, refused, last
}
