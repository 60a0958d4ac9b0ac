package harness

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// checkPrices refuses a price table that lacks a machine type the scenario can use, before anything is booted.
func (r *run) checkPrices() error {
	if r.opts.prices == nil {
		return nil
	}
	var errs []error
	seen := map[string]bool{}
	check := func(n *corev1.Node) {
		if _, err := r.provider.NodePrice(n, r.in.Start, r.in.Start.Add(time.Hour)); err != nil && !seen[n.Labels[corev1.LabelInstanceTypeStable]] {
			seen[n.Labels[corev1.LabelInstanceTypeStable]] = true // one line a machine type, not a node
			errs = append(errs, err)
		}
	}
	for _, ch := range r.in.Initial {
		if n, ok := ch.Object.(*corev1.Node); ok && ch.Op == scalehist.OpAdd {
			check(n)
		}
	}
	for _, g := range r.in.AllGroups() {
		if g.Template != nil {
			n := g.Template.DeepCopy()
			if n.Annotations == nil {
				n.Annotations = map[string]string{}
			}
			n.Annotations[v1alpha1.NodeGroupAnnotation] = g.Name
			check(n)
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("prices: %w", errors.Join(errs...))
	}
	return nil
}
