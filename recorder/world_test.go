package recorder

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
)

// world is the cluster's life as far as one test makes it: a few names that come, change, go and come again.
type world struct {
	c    kubernetes.Interface
	ns   string
	step int
}

// The things that can happen to a name; what does not apply happens to nobody.
const (
	actPod = iota
	actPodStatus
	actPodGone
	actNode
	actNodeStatus
	actNodeGone
	actDeployment
	actDeploymentGone
	actBudget
	actBudgetGone
	actEvent
	acts
)

var atOnce = metav1.DeleteOptions{GracePeriodSeconds: new(int64)}

// act does one thing to the i-th name. That an object is not there, or somebody else was faster, is no error.
func (w *world) act(ctx context.Context, what, i int) error {
	w.step++
	err := w.try(ctx, what, fmt.Sprintf("%s-%d", w.ns, i))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (w *world) try(ctx context.Context, what int, name string) error {
	switch what {
	case actPod, actPodStatus, actPodGone:
		return w.pod(ctx, what, name)
	case actNode, actNodeStatus, actNodeGone:
		return w.node(ctx, what, name)
	case actDeployment, actDeploymentGone:
		return w.deployment(ctx, what, name)
	case actBudget, actBudgetGone:
		return w.budget(ctx, what, name)
	case actEvent:
		_, err := w.c.CoreV1().Events(w.ns).Create(ctx, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, GenerateName: name + "."},
			EventTime: metav1.NowMicro(), Reason: "Scheduled", Type: "Normal", Message: "assigned", Action: "Binding",
			ReportingController: "default-scheduler", ReportingInstance: "test",
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: w.ns, Name: name}}, metav1.CreateOptions{})
		return err
	}
	return fmt.Errorf("no act %d", what)
}

func (w *world) pod(ctx context.Context, what int, name string) error {
	pods := w.c.CoreV1().Pods(w.ns)
	if what == actPodGone {
		return pods.Delete(ctx, name, atOnce)
	}
	p, err := pods.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = pods.Create(ctx, pod(w.ns, name), metav1.CreateOptions{})
	case err != nil:
	case what == actPodStatus:
		p.Status.Phase = []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded}[w.step%3]
		_, err = pods.UpdateStatus(ctx, p, metav1.UpdateOptions{})
	default:
		p.Labels = map[string]string{"step": fmt.Sprint(w.step)}
		_, err = pods.Update(ctx, p, metav1.UpdateOptions{})
	}
	return err
}

func (w *world) node(ctx context.Context, what int, name string) error {
	nodes := w.c.CoreV1().Nodes()
	if what == actNodeGone {
		return nodes.Delete(ctx, name, atOnce)
	}
	n, err := nodes.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		n = node(name, w.ns)
		n.Labels["world"] = w.ns
		_, err = nodes.Create(ctx, n, metav1.CreateOptions{})
	case err != nil:
	case what == actNodeStatus:
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: []corev1.ConditionStatus{"True", "False"}[w.step%2]}}
		_, err = nodes.UpdateStatus(ctx, n, metav1.UpdateOptions{})
	default:
		n.Labels["step"] = fmt.Sprint(w.step)
		_, err = nodes.Update(ctx, n, metav1.UpdateOptions{})
	}
	return err
}

func (w *world) deployment(ctx context.Context, what int, name string) error {
	deployments := w.c.AppsV1().Deployments(w.ns)
	if what == actDeploymentGone {
		return deployments.Delete(ctx, name, atOnce)
	}
	replicas := int32(w.step)
	d, err := deployments.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		labels := map[string]string{"app": name}
		_, err = deployments.Create(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}, Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod(w.ns, name).Spec}}}, metav1.CreateOptions{})
	case err == nil:
		d.Spec.Replicas = &replicas
		_, err = deployments.Update(ctx, d, metav1.UpdateOptions{})
	}
	return err
}

func (w *world) budget(ctx context.Context, what int, name string) error {
	budgets := w.c.PolicyV1().PodDisruptionBudgets(w.ns)
	if what == actBudgetGone {
		return budgets.Delete(ctx, name, atOnce)
	}
	least := intstr.FromInt(w.step)
	b, err := budgets.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = budgets.Create(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name},
			Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &least, Selector: &metav1.LabelSelector{}}}, metav1.CreateOptions{})
	case err == nil:
		b.Spec.MinAvailable = &least
		_, err = budgets.Update(ctx, b, metav1.UpdateOptions{})
	}
	return err
}

// state is what a world's objects are at an instant: by kind and name the UID and what the acts change.
type state map[string]string

func (s state) pod(p *corev1.Pod) {
	s["Pod "+p.Name] = fmt.Sprint(p.UID, " step ", p.Labels["step"], " ", p.Status.Phase)
}

func (s state) node(n *corev1.Node) {
	ready := corev1.ConditionStatus("")
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			ready = c.Status
		}
	}
	s["Node "+n.Name] = fmt.Sprint(n.UID, " step ", n.Labels["step"], " ready ", ready)
}

func (s state) deployment(d *appsv1.Deployment) {
	s["Deployment "+d.Name] = fmt.Sprint(d.UID, " replicas ", *d.Spec.Replicas)
}

func (s state) budget(b *policyv1.PodDisruptionBudget) {
	s["PodDisruptionBudget "+b.Name] = fmt.Sprint(b.UID, " at least ", b.Spec.MinAvailable)
}

// live is the state by the API server's own answer.
func (w *world) live(ctx context.Context) (state, error) {
	s := state{}
	pods, err := w.c.CoreV1().Pods(w.ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range pods.Items {
		s.pod(&pods.Items[i])
	}
	nodes, err := w.c.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "world=" + w.ns})
	if err != nil {
		return nil, err
	}
	for i := range nodes.Items {
		s.node(&nodes.Items[i])
	}
	deployments, err := w.c.AppsV1().Deployments(w.ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range deployments.Items {
		s.deployment(&deployments.Items[i])
	}
	budgets, err := w.c.PolicyV1().PodDisruptionBudgets(w.ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range budgets.Items {
		s.budget(&budgets.Items[i])
	}
	return s, nil
}

// events are the UIDs of the events there are.
func (w *world) events(ctx context.Context) (map[types.UID]bool, error) {
	list, err := w.c.CoreV1().Events(w.ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	out := map[types.UID]bool{}
	for i := range list.Items {
		out[list.Items[i].UID] = true
	}
	return out, nil
}

// recorded is the state by a history.
func (w *world) recorded(o *scalehist.Objects) state {
	s := state{}
	for _, p := range o.Pods {
		if p.Namespace == w.ns {
			s.pod(p)
		}
	}
	for _, n := range o.Nodes {
		if n.Labels["world"] == w.ns {
			s.node(n)
		}
	}
	for _, d := range o.Deployments {
		if d.Namespace == w.ns {
			s.deployment(d)
		}
	}
	for _, b := range o.PodDisruptionBudgets {
		if b.Namespace == w.ns {
			s.budget(b)
		}
	}
	return s
}

// moment is a stretch of observed time in which nothing happened: the state in it is known.
type moment struct {
	from, to time.Time
	state    state
	events   map[types.UID]bool
}

// checkMoments compares a history with all that is known of the world, outside of gaps. It returns how many instants
// were compared and how many lay in a gap.
func (w *world) checkMoments(t testing.TB, db *history.DB, moments []moment) (compared, inGap int) {
	t.Helper()
	gaps, err := db.Gaps(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	// known leaves out the kinds that are in a gap.
	known := func(s state, at time.Time) state {
		out := maps.Clone(s)
		maps.DeleteFunc(out, func(name, _ string) bool {
			kind, _, _ := strings.Cut(name, " ")
			return slices.ContainsFunc(gaps, func(g history.Gap) bool {
				return !at.Before(g.From) && at.Before(g.To) && (len(g.Kinds) == 0 || slices.Contains(g.Kinds, kind))
			})
		})
		return out
	}
	want := map[types.UID]bool{}
	for i, m := range moments {
		for _, at := range []time.Time{m.from, m.from.Add(m.to.Sub(m.from) / 2), m.to} {
			if len(m.state) > 0 && len(known(m.state, at)) == 0 {
				inGap++
				continue
			}
			compared++
			s, err := db.SnapshotAt(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(known(m.state, at), known(w.recorded(s.Objects), at)); diff != "" {
				t.Errorf("moment %d, %s (-live +recorded):\n%s", i, at.Format(time.RFC3339Nano), diff)
				return compared, inGap
			}
		}
		maps.Copy(want, m.events)
	}
	events, err := db.Events(t.Context(), history.EventFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		delete(want, e.UID)
	}
	if len(want) > 0 {
		t.Errorf("%d events are not in the history", len(want))
	}
	return compared, inGap
}
