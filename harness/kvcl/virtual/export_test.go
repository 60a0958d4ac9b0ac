package virtual

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
)

// Recount compares what the cluster keeps about its pods with what the pods themselves say.
func (c *Cluster) Recount() error {
	kept := slices.Clone(c.countMatches())
	c.tally.stale = true
	if again := c.countMatches(); !slices.Equal(kept, again) {
		return fmt.Errorf("budgets count %v, their pods are %v", kept, again)
	}
	var next time.Time
	daemons := map[string]int{}
	for _, p := range c.pods {
		if !p.done && !p.finishAt.IsZero() && (next.IsZero() || p.finishAt.Before(next)) {
			next = p.finishAt
		}
		if podlife.IsDaemon(p.object) {
			daemons[daemonID(p.object.Namespace, metav1.GetControllerOf(p.object).Name, podlife.DaemonNode(p.object))]++
		}
	}
	if f, _ := c.next(&c.lives.finishing); !f.at.Equal(next) {
		return fmt.Errorf("the next pod finishes at %s, want %s", f.at, next)
	}
	for id, n := range daemons {
		if len(c.daemonPods[id]) != n {
			return fmt.Errorf("%s has pods %v, want %d", id, c.daemonPods[id], n)
		}
	}
	if len(c.daemonPods) != len(daemons) {
		return fmt.Errorf("there are DaemonSet pods of %d names, want %d", len(c.daemonPods), len(daemons))
	}
	filed := 0
	for node, pods := range c.onNode {
		for key, p := range pods {
			if c.pods[key] != p || placeOf(p.object) != node {
				return fmt.Errorf("%s is filed under node %q", key, node)
			}
			filed++
		}
	}
	for key, p := range c.pods {
		if placeOf(p.object) != "" {
			filed--
		}
		if want := (types.NamespacedName{Namespace: p.object.Namespace, Name: p.object.Name}); key != want {
			return fmt.Errorf("%s is filed as %s", want, key)
		}
	}
	if filed != 0 {
		return fmt.Errorf("%d more pods are filed under nodes than stand on them", filed)
	}
	return nil
}

// Feed is what a step does with pods that controllers made and deleted.
func Feed(s *Step, changes []scalehist.Change) { s.feed(changes) }
