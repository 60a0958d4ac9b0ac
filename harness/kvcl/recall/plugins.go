package recall

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	schedplugins "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/scalehist/scalehist/harness/kvcl/profile"
)

// local are the plugins whose answers depend on the pod and one node alone; each is read in the pinned Kubernetes. NodePorts and
// NodeResourcesFit look at the sums the node keeps, not at its pods.
var local = sets.New(
	names.NodeUnschedulable, names.NodeName, names.TaintToleration, names.NodeAffinity, names.NodePorts,
	names.NodeResourcesFit, names.NodeResourcesBalancedAllocation, names.NodeDeclaredFeatures,
)

// mute are the score plugins that give every node 0 for a pod whose PreFilter they skipped: without claims on volumes or devices
// they have nothing to compare.
var mute = sets.New(profile.VolumeBinding, names.DynamicResources)

// compared is how many local score plugins normalise: TaintToleration and NodeAffinity.
const compared = 2

// plugins are instances of our own of the framework's plugins. They have no state between cycles but caches.
type plugins struct {
	// foreign are the filters that are not local, by name.
	foreign []string
	signers []fwk.SignPlugin
	// scorers are local.
	scorers []scorer
	// Score plugins that look at more than a node.
	affinity, images scorer
	spreadWeight     int64
}

type scorer struct {
	fwk.ScorePlugin
	weight int64
	// slot is the place of the raw score among those to be normalised, -1 for scores that stand as they are.
	slot int
}

func newPlugins(ctx context.Context, f framework.Framework, s profile.Scoring) (*plugins, error) {
	args, err := profile.PluginArgs(s)
	if err != nil {
		return nil, err
	}
	if a, ok := args[names.PodTopologySpread].(*config.PodTopologySpreadArgs); !ok || a.DefaultingType != config.SystemDefaulting {
		return nil, fmt.Errorf("plugin %s: want the system's default constraints", names.PodTopologySpread)
	}
	registry, enabled := schedplugins.NewInTreeRegistry(), f.ListPlugins()
	made := map[string]fwk.Plugin{}
	instance := func(name string) (fwk.Plugin, error) {
		if p := made[name]; p != nil {
			return p, nil
		}
		p, err := registry[name](ctx, args[name], f)
		if err != nil {
			return nil, fmt.Errorf("plugin %s: %w", name, err)
		}
		made[name] = p
		return p, nil
	}
	p := &plugins{}
	sign := func(name string, pl fwk.Plugin) error {
		signer, ok := pl.(fwk.SignPlugin)
		if !ok {
			return fmt.Errorf("plugin %s does not say what it sees of a pod", name)
		}
		p.signers = append(p.signers, signer)
		return nil
	}
	for _, e := range enabled.Filter.Enabled {
		if !local.Has(e.Name) {
			p.foreign = append(p.foreign, e.Name)
			continue
		}
		pl, err := instance(e.Name)
		if err != nil {
			return nil, err
		}
		if err := sign(e.Name, pl); err != nil {
			return nil, err
		}
	}
	slots := 0
	for _, e := range enabled.Score.Enabled {
		if mute.Has(e.Name) {
			continue
		}
		if e.Name == names.PodTopologySpread {
			p.spreadWeight = int64(e.Weight)
			continue
		}
		if !local.Has(e.Name) && e.Name != names.InterPodAffinity && e.Name != names.ImageLocality {
			return nil, fmt.Errorf("score plugin %s is not known", e.Name)
		}
		_, signed := made[e.Name]
		pl, err := instance(e.Name)
		if err != nil {
			return nil, err
		}
		sc := scorer{ScorePlugin: pl.(fwk.ScorePlugin), weight: int64(e.Weight), slot: -1}
		switch {
		case e.Name == names.InterPodAffinity:
			p.affinity = sc
			continue
		case e.Name == names.ImageLocality:
			p.images = sc
			continue
		case sc.ScoreExtensions() != nil:
			sc.slot = slots
			slots++
		}
		if !signed {
			if err := sign(e.Name, pl); err != nil {
				return nil, err
			}
		}
		p.scorers = append(p.scorers, sc)
	}
	if slots > compared {
		return nil, fmt.Errorf("%d local score plugins normalise, want at most %d", slots, compared)
	}
	return p, nil
}

// notPlain says what about pod keeps it out of the memory, or "". What else does shows in PreFilter.
func notPlain(pod *corev1.Pod) string {
	s := &pod.Spec
	switch a := s.Affinity; {
	case pod.Status.NominatedNodeName != "":
		return "nominated"
	case a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil):
		return "pod affinity"
	case len(s.TopologySpreadConstraints) > 0:
		return "spread constraints"
	case len(s.ResourceClaims) > 0:
		return "resource claims"
	case s.SchedulingGroup != nil:
		return "scheduling group"
	case s.Resources != nil || len(pod.Status.ContainerStatuses) > 0:
		// Filters and scores differ in what they count of these.
		return "resources of the pod"
	}
	for i := range s.Volumes {
		if v := &s.Volumes[i]; v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			return "volumes"
		}
	}
	return ""
}
