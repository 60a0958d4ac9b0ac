package recall

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"
)

// Skews of the system's default constraints: spread over hosts and over zones, where possible.
const (
	hostSkew = 3
	zoneSkew = 5
)

// Bounds, variables so that tests run out of room: maxCounts is some 30 MB of counts; maxSelectors is for pods of StatefulSets
// and Jobs, which have labels of their own.
var (
	maxCounts    = 1 << 21
	maxSelectors = 1 << 14
)

// spread scores by the system's default constraints: nodes and zones with fewer pods of the same Services and owner come first.
// https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#internal-default-constraints
type spread struct {
	services    corelisters.ServiceLister
	controllers corelisters.ReplicationControllerLister
	replicaSets appslisters.ReplicaSetLister
	stateful    appslisters.StatefulSetLister

	// selectors remember whom a pod is spread from by namespace, owner and labels; any change of owners or Services empties it.
	selectors map[string]*counts
	counts    map[string]*counts

	// Of one cycle, kept to be used again.
	key    []byte
	zones  []zone
	scores []int64
}

// counts are the pods that a selector matches, by slot of the node.
type counts struct {
	namespace string
	selector  labels.Selector
	at        []count
}

type count struct {
	generation int64
	pods       int64
}

type zone struct {
	pods int64
	// open says that a candidate is in the zone.
	open bool
}

func newSpread(f informers.SharedInformerFactory) (*spread, error) {
	s := &spread{
		services:    f.Core().V1().Services().Lister(),
		controllers: f.Core().V1().ReplicationControllers().Lister(),
		replicaSets: f.Apps().V1().ReplicaSets().Lister(),
		stateful:    f.Apps().V1().StatefulSets().Lister(),
		selectors:   map[string]*counts{},
		counts:      map[string]*counts{},
	}
	changed := func() { clear(s.selectors) }
	for _, i := range []cache.SharedIndexInformer{
		f.Core().V1().Services().Informer(), f.Core().V1().ReplicationControllers().Informer(),
		f.Apps().V1().ReplicaSets().Informer(), f.Apps().V1().StatefulSets().Informer(),
	} {
		if _, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { changed() },
			UpdateFunc: func(any, any) { changed() },
			DeleteFunc: func(any) { changed() },
		}); err != nil {
			return nil, fmt.Errorf("watch owners of pods: %w", err)
		}
	}
	return s, nil
}

// of returns the counts for a pod, nil when it is not spread.
func (s *spread) of(pod *corev1.Pod, slots int) *counts {
	key := append(append(s.key[:0], pod.Namespace...), 0)
	if o := metav1.GetControllerOfNoCopy(pod); o != nil {
		key = append(append(key, o.APIVersion...), 0)
		key = append(append(key, o.Kind...), 0)
		key = append(key, o.Name...)
	}
	key = append(append(key, 0), labels.Set(pod.Labels).String()...)
	s.key = key
	c, ok := s.selectors[string(key)]
	if !ok {
		sel := helper.DefaultSelector(pod, s.services, s.controllers, s.replicaSets, s.stateful)
		if !sel.Empty() {
			name := pod.Namespace + "\x00" + sel.String()
			if c = s.counts[name]; c == nil {
				if (len(s.counts)+1)*slots > maxCounts {
					clear(s.counts)
					clear(s.selectors)
				}
				c = &counts{namespace: pod.Namespace, selector: sel}
				s.counts[name] = c
			}
		}
		if len(s.selectors) >= maxSelectors {
			clear(s.selectors)
		}
		s.selectors[string(key)] = c
	}
	if c != nil {
		for len(c.at) < slots {
			c.at = append(c.at, make([]count, slots-len(c.at))...)
		}
	}
	return c
}

// on is the number of pods on a node.
func (c *counts) on(n *node) int64 {
	at := &c.at[n.slot]
	if at.generation == n.generation {
		return at.pods
	}
	steps, ok := n.since(at.generation)
	if ok {
		for i := range steps {
			at.pods += c.matching(steps[i].came) - c.matching(steps[i].gone)
		}
	} else {
		at.pods = c.matching(n.pods)
	}
	at.generation = n.generation
	return at.pods
}

// matching counts the pods that the selector matches.
func (c *counts) matching(pods []*corev1.Pod) (n int64) {
	for _, p := range pods {
		if p.DeletionTimestamp == nil && p.Namespace == c.namespace && c.selector.Matches(labels.Set(p.Labels)) {
			n++
		}
	}
	return n
}

// score adds the scores of default spreading to the candidates of a cycle.
func (s *spread) score(c *cycle) {
	weight := c.plugins.spreadWeight
	if weight == 0 {
		return
	}
	counts := s.of(c.pod, c.nodes.slots)
	if counts == nil {
		return
	}
	open := s.count(c, counts)
	ofHost, ofZone := math.Log(float64(len(c.fit)+2)), math.Log(float64(open+2))
	lowest, highest := int64(math.MaxInt64), int64(0)
	scores := s.scores[:0]
	for i := range c.fit {
		n, sum := c.fit[i].node, 0.0
		if n.hasHost {
			sum += crowd(counts.on(n), hostSkew, ofHost)
		}
		if n.hasZone {
			sum += crowd(s.zones[n.zone].pods, zoneSkew, ofZone)
		}
		score := int64(math.Round(sum))
		lowest, highest = min(lowest, score), max(highest, score)
		scores = append(scores, score)
	}
	s.scores = scores
	if highest == 0 || lowest == highest {
		return // the same for all
	}
	for i, score := range scores {
		c.fit[i].total += weight * (fwk.MaxScore * (highest + lowest - score) / highest)
	}
}

func crowd(pods int64, skew int32, weight float64) float64 {
	return float64(pods)*weight + float64(skew-1)
}

// count sums up the pods of the zones that have a candidate, over all nodes the pod's selector and affinity choose, and
// returns how many such zones there are.
func (s *spread) count(c *cycle, counts *counts) (open int) {
	s.zones = append(s.zones[:0], make([]zone, len(c.nodes.zones))...)
	for i := range c.fit {
		if z := &s.zones[c.fit[i].zone]; !z.open {
			z.open = true
			open++
		}
	}
	for _, n := range c.nodes.byName {
		if z := &s.zones[n.zone]; z.open && c.shape.answers[n.slot].selected {
			z.pods += counts.on(n)
		}
	}
	return open
}
