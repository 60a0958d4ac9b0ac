// Package liqo peers clusters with Liqo: liqoctl establishes and ends a peering, a ResourceSlice asks for a share, and Liqo makes a virtual node of it.
//
// liqoctl is run with an array of arguments, never by a shell, for a limited time, in a process group that is killed with it. Kubeconfigs of other clusters
// are given to it as open files without a name, so that none is left behind, however it ends (Linux). The package must not know node groups.
package liqo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/scalehist/scalehist/virtualca/nodemanager/multicluster"
)

// DefaultTimeout is how long a run of liqoctl may take.
const DefaultTimeout = 2 * time.Minute

// slices is Liqo's ResourceSlice; the label and the annotation are those that liqoctl create resourceslice writes.
var slices = schema.GroupVersionResource{Group: "authentication.liqo.io", Version: "v1beta1", Resource: "resourceslices"}

const (
	tenantPrefix         = "liqo-tenant-"
	virtualNode          = "liqo.io/create-virtual-node"
	remoteID, remoteName = "liqo.io/remoteID", "liqo.io/remote-cluster-id"
	replication          = "liqo.io/replication"
)

// Kubeconfigs say how clusters are reached. discovery.Client does.
type Kubeconfigs interface {
	Kubeconfig(ctx context.Context, cluster string) (string, error)
}

// Options are the settings of a Peering. Kubeconfigs, Client and Dynamic are needed.
type Options struct {
	// Liqoctl is the program; empty: liqoctl of the PATH. Kubeconfig is the file of this cluster; empty: as liqoctl finds it.
	Liqoctl, Kubeconfig string
	Kubeconfigs         Kubeconfigs
	// Client and Dynamic reach this cluster.
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	// Timeout of a run of liqoctl; 0 is DefaultTimeout.
	Timeout time.Duration
	// DryRun changes nothing: Said hears what would be done, and every node fails.
	DryRun bool
	Said   func(text string)
}

// Peering peers with Liqo. Use New.
type Peering struct {
	o  Options
	mu sync.Mutex
	// clusters are locked while something is done about one of them.
	clusters map[string]*cluster
}

// cluster is locked while a peering with it begins or ends; peered is what this process knows of it.
type cluster struct {
	sync.Mutex
	peered bool
}

var _ multicluster.Peering = (*Peering)(nil)

// New makes a peering.
func New(o Options) *Peering {
	if o.Liqoctl == "" {
		o.Liqoctl = "liqoctl"
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Said == nil {
		o.Said = func(string) {}
	}
	return &Peering{o: o, clusters: map[string]*cluster{}}
}

// locked is a cluster that nobody else works on until it is unlocked.
func (p *Peering) locked(name string) *cluster {
	p.mu.Lock()
	c := p.clusters[name]
	if c == nil {
		c = &cluster{}
		p.clusters[name] = c
	}
	p.mu.Unlock()
	c.Lock()
	return c
}

// Peer implements multicluster.Peering: it peers, asks for the share, and says whether Liqo's node is Ready.
func (p *Peering) Peer(ctx context.Context, s multicluster.Share) (bool, error) {
	c := p.locked(s.Cluster.Name)
	defer c.Unlock()
	slice, err := sliceOf(s)
	if err != nil {
		return false, err
	}
	args := []string{"peer", "--create-resource-slice=false", "--skip-confirm"}
	if s.Cluster.HasNAT && s.Cluster.APIServer != "" {
		args = append(args, "--api-server-url", s.Cluster.APIServer)
	}
	if p.o.DryRun {
		text, err := slice.MarshalJSON()
		if err != nil {
			return false, err
		}
		p.o.Said(p.line(args, s.Cluster.Name))
		p.o.Said("would create " + string(text))
		return false, &multicluster.PeeringError{Code: "DRY_RUN", Message: "dry run: nothing is peered"}
	}
	if !c.peered {
		if err := p.run(ctx, s.Cluster.Name, args); err != nil {
			return false, err
		}
		c.peered = true
	}
	in := p.o.Dynamic.Resource(slices).Namespace(slice.GetNamespace())
	if _, err := in.Create(ctx, slice, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return false, fmt.Errorf("ResourceSlice %s: %w", slice.GetName(), err)
	}
	return p.adopt(ctx, s.Node)
}

// sliceOf asks for what the node should have.
func sliceOf(s multicluster.Share) (*unstructured.Unstructured, error) {
	resources := map[string]any{}
	for name, q := range s.Node.Status.Allocatable {
		resources[string(name)] = q.String()
	}
	if len(resources) == 0 {
		return nil, fmt.Errorf("node %s borrows nothing", s.Node.Name)
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"class": "default", "providerClusterID": s.Cluster.Name, "resources": resources}}}
	o.SetAPIVersion(slices.GroupVersion().String())
	o.SetKind("ResourceSlice")
	o.SetNamespace(tenantPrefix + s.Cluster.Name)
	o.SetName(s.Node.Name)
	o.SetAnnotations(map[string]string{virtualNode: "true"})
	o.SetLabels(map[string]string{remoteID: s.Cluster.Name, remoteName: s.Cluster.Name, replication: "true"})
	return o, nil
}

// adopt gives Liqo's node the id, labels, annotations and taints that the autoscaler knows it by, and says whether it is there and Ready.
func (p *Peering) adopt(ctx context.Context, want *corev1.Node) (bool, error) {
	nodes := p.o.Client.CoreV1().Nodes()
	n, err := nodes.Get(ctx, want.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("node %s: %w", want.Name, err)
	}
	ready := false
	for _, c := range n.Status.Conditions {
		ready = ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	if !ready {
		return false, nil
	}
	labels := maps.Clone(want.Labels)
	delete(labels, corev1.LabelHostname) // Liqo's own
	spec := map[string]any{"providerID": want.Spec.ProviderID}
	if len(want.Spec.Taints) > 0 {
		taints := append([]corev1.Taint{}, n.Spec.Taints...)
		for _, t := range want.Spec.Taints {
			if !has(taints, t) {
				taints = append(taints, t)
			}
		}
		spec["taints"] = taints
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels, "annotations": want.Annotations}, "spec": spec})
	if err == nil {
		_, err = nodes.Patch(ctx, want.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		return false, fmt.Errorf("node %s: %w", want.Name, err)
	}
	return true, nil
}

func has(taints []corev1.Taint, t corev1.Taint) bool {
	for _, one := range taints {
		if one.MatchTaint(&t) {
			return true
		}
	}
	return false
}

// Unpeer implements multicluster.Peering: it takes the share back, and ends the peering with the last one.
func (p *Peering) Unpeer(ctx context.Context, s multicluster.Share) error {
	c := p.locked(s.Cluster.Name)
	defer c.Unlock()
	args := []string{"unpeer", "--skip-confirm"}
	if p.o.DryRun {
		p.o.Said("would delete ResourceSlice " + s.Node.Name)
		if s.Last {
			p.o.Said(p.line(args, s.Cluster.Name))
		}
		return nil
	}
	err := p.o.Dynamic.Resource(slices).Namespace(tenantPrefix+s.Cluster.Name).Delete(ctx, s.Node.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("ResourceSlice %s: %w", s.Node.Name, err)
	}
	if !s.Last || s.Gone { // nobody can be reached to end a peering with
		return nil
	}
	c.peered = false
	return p.run(ctx, s.Cluster.Name, args)
}

// line is what would be run.
func (p *Peering) line(args []string, cluster string) string {
	return fmt.Sprintf("would run %s %s --remote-kubeconfig (of cluster %s)", p.o.Liqoctl, strings.Join(args, " "), cluster)
}

// errLiqoctl is in errors of runs of liqoctl.
var errLiqoctl = errors.New("liqoctl")
