package vertical

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/model"

	"github.com/scalehist/scalehist/recommender/vertical/vpa"
)

var vpaKind = Kind{
	Name:  "vpa",
	About: "the Vertical Pod Autoscaler 1.7.3, on upstream's packages; its options are upstream's flags",
	Of: func(settings []Setting) (Maker, error) {
		flags, err := VPAFlags(settings)
		if err != nil {
			return nil, err
		}
		return func(w Workload) (Recommender, error) { return newVPA(flags, w) }, nil
	},
}

// VPAFlags are the flags of upstream that options of vpa set; those of its updater are among them.
func VPAFlags(list []Setting) (vpa.Flags, error) {
	var args []string
	for _, s := range list {
		args = append(args, "--"+s.Name+"="+s.Value)
	}
	return vpa.ParseFlags(args)
}

// embedded is vpa.Recommender for one workload.
type embedded struct {
	*vpa.Recommender
	flags    vpa.Flags
	workload Workload
	id       types.NamespacedName   // of the VPA
	pods     map[string]*corev1.Pod // by name
}

var _ Recommender = (*embedded)(nil)

func newVPA(flags vpa.Flags, w Workload) (*embedded, error) {
	e := &embedded{flags: flags, workload: w}
	return e, e.renew()
}

// renew begins without history.
func (e *embedded) renew() (err error) {
	if e.Recommender, err = vpa.NewRecommender(e.flags); err != nil {
		return err
	}
	e.pods = map[string]*corev1.Pod{}
	object := e.workload.object(e.flags.RecommenderName)
	e.id = types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
	e.SetVPA(object, labels.Everything())
	return nil
}

// follow takes the policies of a VPA of the same name, and keeps what was observed.
func (e *embedded) follow(v *vpav1.VerticalPodAutoscaler) {
	e.workload.VPA = v
	e.SetVPA(e.workload.object(e.flags.RecommenderName), labels.Everything())
}

// object is the VPA of the workload; one without policies where there is none.
func (w *Workload) object(recommender string) *vpav1.VerticalPodAutoscaler {
	if w.VPA != nil {
		v := w.VPA.DeepCopy()
		v.Namespace = w.Namespace
		v.Spec.Recommenders = []*vpav1.VerticalPodAutoscalerRecommenderSelector{{Name: recommender}}
		return v
	}
	return &vpav1.VerticalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name},
		Spec: vpav1.VerticalPodAutoscalerSpec{
			TargetRef:    &autoscalingv1.CrossVersionObjectReference{Kind: "Deployment", Name: w.Name},
			Recommenders: []*vpav1.VerticalPodAutoscalerRecommenderSelector{{Name: recommender}},
		},
	}
}

// Observe implements Recommender. A pod is tracked from its first sample on, with the containers of the workload.
func (e *embedded) Observe(s Sample) error {
	if err := s.check(); err != nil {
		return err
	}
	id := types.NamespacedName{Namespace: e.workload.Namespace, Name: s.Pod}
	e.track(s)
	if s.OOM {
		return e.OOM(id, s.Container, s.At, *s.memory())
	}
	return e.Recommender.Observe(id, s.Container, s.At, s.Usage.List())
}

// track adds the pod of a sample, with all containers of the workload, or a container that the workload did not name.
func (e *embedded) track(s Sample) {
	p := e.pods[s.Pod]
	if p == nil {
		p = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: e.workload.Namespace, Name: s.Pod}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		for _, name := range e.workload.Containers {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: name})
		}
	}
	known := slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { return c.Name == s.Container })
	if known && e.pods[s.Pod] != nil {
		return
	}
	if !known {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: s.Container})
	}
	e.pods[s.Pod] = p
	e.SetPod(p, s.At)
}

// Forget ends a pod: its usage stays in the history.
func (e *embedded) Forget(pod string) {
	delete(e.pods, pod)
	e.RemovePod(types.NamespacedName{Namespace: e.workload.Namespace, Name: pod})
}

// Recommend implements Recommender.
func (e *embedded) Recommend(_ context.Context, now time.Time) ([]Recommendation, error) {
	if amounts, ok := e.Amounts(e.id, now); ok {
		out := make([]Recommendation, 0, len(amounts))
		for name, r := range amounts {
			out = append(out, Recommendation{name, amountOf(r.LowerBound), amountOf(r.Target), amountOf(r.UpperBound)})
		}
		slices.SortFunc(out, func(a, b Recommendation) int { return cmp.Compare(a.Container, b.Container) })
		return out, nil
	}
	var out []Recommendation
	for _, r := range e.Recommender.Recommend(now) {
		out = append(out, FromStatus(r.Status.Recommendation)...)
	}
	return out, nil
}

func amountOf(r model.Resources) Amount {
	a := None
	if v, ok := r[model.ResourceCPU]; ok {
		a.CPUMilli = int64(v)
	}
	if v, ok := r[model.ResourceMemory]; ok {
		a.MemoryBytes = int64(v)
	}
	return a
}

// Reset implements Recommender.
func (e *embedded) Reset() {
	if err := e.renew(); err != nil {
		panic(fmt.Sprintf("flags that were accepted are refused: %v", err))
	}
}

// Save implements Recommender: upstream's checkpoints, as JSON.
func (e *embedded) Save(w io.Writer, now time.Time) error {
	all, err := e.Checkpoints(now)
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(all)
}

// Load implements Recommender.
func (e *embedded) Load(r io.Reader) error {
	var all []*vpav1.VerticalPodAutoscalerCheckpoint
	if err := json.NewDecoder(r).Decode(&all); err != nil {
		return fmt.Errorf("checkpoints: %w", err)
	}
	e.Reset()
	for _, c := range all {
		if err := e.LoadCheckpoint(c); err != nil {
			return err
		}
	}
	return nil
}
