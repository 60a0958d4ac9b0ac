package multicluster

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/decode"
)

// Config is a file with groups of borrowed capacity.
type Config struct {
	Groups []Group `json:"groups"`
	// GPULabel is the node label that marks GPU nodes; empty: none.
	GPULabel string `json:"gpuLabel,omitempty"`
	// ProvisionTimeout is how long a peering may take; 0 is DefaultProvisionTimeout.
	ProvisionTimeout scalehist.Duration `json:"provisionTimeout,omitempty"`
}

// DefaultProvisionTimeout is below the 15 minutes after which an autoscaler gives a node up by itself.
const DefaultProvisionTimeout = 10 * time.Minute

// Group is a node group of borrowed capacity.
type Group struct {
	Name    string `json:"name"`
	MinSize int    `json:"minSize,omitempty"`
	MaxSize int    `json:"maxSize"`
	// Policy is one of Policies; empty is first-match.
	Policy string `json:"policy,omitempty"`
	// Select are labels that a cluster must have. Regions are those that it may be in, the best first; empty: any.
	Select  map[string]string `json:"select,omitempty"`
	Regions []string          `json:"regions,omitempty"`
	// MaxPrice bounds what a node of the minimum costs an hour. Clusters without prices are then left out.
	MaxPrice *float64 `json:"maxPrice,omitempty"`
	// Resources of a node.
	Resources Bounds `json:"resources"`
	// Labels and Taints of its nodes, beside the labels of the cluster; Tolerations of taints of clusters.
	Labels      map[string]string   `json:"labels,omitempty"`
	Taints      []corev1.Taint      `json:"taints,omitempty"`
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// Bounds are the least and the most that a node borrows. What is not in Max is bounded by Min.
type Bounds struct {
	Min corev1.ResourceList `json:"min"`
	Max corev1.ResourceList `json:"max,omitempty"`
}

// Parse reads a configuration (YAML).
func Parse(data []byte) (*Config, error) {
	c := &Config{}
	if err := decode.YAML(data, c); err != nil {
		return nil, err
	}
	return c, c.check()
}

func (c *Config) check() error {
	if len(c.Groups) == 0 {
		return fmt.Errorf("groups: there are none")
	}
	seen := map[string]bool{}
	for i := range c.Groups {
		g := &c.Groups[i]
		if seen[g.Name] {
			return fmt.Errorf("groups: %q is there twice", g.Name)
		}
		seen[g.Name] = true
		if err := g.check(); err != nil {
			return fmt.Errorf("groups[%d] (%s): %w", i, g.Name, err)
		}
	}
	if c.ProvisionTimeout < 0 {
		return fmt.Errorf("provisionTimeout: %s is negative", time.Duration(c.ProvisionTimeout))
	}
	return nil
}

func (g *Group) check() error {
	if problems := validation.IsDNS1123Label(g.Name); len(problems) > 0 {
		return fmt.Errorf("name %q: %s", g.Name, problems[0]) // it begins the names of nodes
	}
	if g.MinSize < 0 || g.MaxSize < g.MinSize {
		return fmt.Errorf("minSize %d, maxSize %d: want 0 or more, and no less than minSize", g.MinSize, g.MaxSize)
	}
	if _, err := policyOf(g.Policy); err != nil {
		return err
	}
	if g.MaxPrice != nil && (*g.MaxPrice < 0 || math.IsNaN(*g.MaxPrice) || math.IsInf(*g.MaxPrice, 0)) {
		return fmt.Errorf("maxPrice: %v: want 0 or more", *g.MaxPrice)
	}
	if len(g.Resources.Min) == 0 {
		return fmt.Errorf("resources.min: a node needs cpu and memory")
	}
	for _, name := range slices.Sorted(maps.Keys(g.Resources.Min)) {
		low := g.Resources.Min[name]
		high, ok := g.Resources.Max[name]
		if low.Sign() < 0 || ok && high.Cmp(low) < 0 {
			return fmt.Errorf("resources: %s: min %s, max %s: want 0 or more, and no less than min", name, low.String(), high.String())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.Resources.Max)) {
		if q := g.Resources.Max[name]; q.Sign() < 0 {
			return fmt.Errorf("resources.max: %s: %s is negative", name, q.String())
		}
	}
	return nil
}
