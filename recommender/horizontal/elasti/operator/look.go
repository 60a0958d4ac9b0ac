package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
	"github.com/scalehist/scalehist/internal/leader"
	"github.com/scalehist/scalehist/recommender/horizontal/elasti"
)

// Reasons of events about scaling, which are KubeElasti's.
const (
	EventScaled = "SuccessToScale"
	EventFailed = "FailedToScale"
)

// decide is a decision about a target as it is now. It may be asked several times.
type decide func(now time.Time, t elasti.Target) (elasti.Decision, error)

// look decides about one ElastiService and acts. acted says whether replicas were changed.
func (h *Handler) look(ctx context.Context, s *service, rivals []string) (acted bool, err error) {
	if rivals != nil {
		err = rivalError(s, rivals)
	} else {
		err = s.err
	}
	if err != nil {
		return false, h.record(ctx, s, elasti.Decision{Err: err}, nil)
	}
	scalers, err := h.scalers.of(ctx, s)
	if err != nil {
		return false, h.record(ctx, s, elasti.Decision{Err: err}, nil)
	}
	scale, err := h.targets.get(ctx, s)
	if err != nil {
		return false, h.record(ctx, s, elasti.Decision{Err: err}, nil)
	}
	target := h.target(s, scale)
	question := s.policy.Ask(h.clock.Now(), target)
	// Asked without a lock: it may take long, and a request that comes meanwhile is to be served.
	answers := elasti.Answers(ctx, question, scalers)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	again := func(now time.Time, t elasti.Target) (elasti.Decision, error) {
		if s.policy.Ask(now, t) != question {
			return elasti.Decision{}, errChanged
		}
		return s.policy.Decide(now, t, answers), nil
	}
	d, err := again(h.clock.Now(), target)
	if err == nil && d.To == d.From && !d.Needed {
		return false, h.record(ctx, s, d, scale)
	}
	return h.act(ctx, s, again)
}

// target is what a policy sees of a target.
func (h *Handler) target(s *service, scale *autoscalingv1.Scale) elasti.Target {
	t := elasti.Target{Since: s.CreationTimestamp.Time, Replicas: scale.Spec.Replicas}
	if s.Status.LastScaledUpTime != nil {
		t.LastNeeded = s.Status.LastScaledUpTime.Time
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if last := h.seen[s.UID].lastNeeded; last.After(t.LastNeeded) {
		t.LastNeeded = last
	}
	return t
}

// act does what is decided about the target as it is under its lock, on what is read there: somebody may have needed it, or scaled it, since it
// was looked at.
func (h *Handler) act(ctx context.Context, s *service, decide decide) (acted bool, err error) {
	h.locks.LockKey(s.key())
	defer func() { _ = h.locks.UnlockKey(s.key()) }() // that of a hashed one is never an error
	fresh, err := h.services.get(ctx, s)
	if err != nil {
		if errors.Is(err, errChanged) {
			return false, nil // the next round looks at what it is now
		}
		return false, err
	}
	scale, err := h.targets.get(ctx, fresh)
	if err != nil {
		return false, h.record(ctx, fresh, elasti.Decision{Err: err}, nil)
	}
	now := h.clock.Now()
	d, err := decide(now, h.target(fresh, scale))
	if errors.Is(err, errChanged) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if d.Needed {
		// Who needs it does not wait for a status that cannot be written. This process remembers it.
		if err := h.needed(ctx, fresh, now); err != nil {
			leader.LogOf(ctx).Error(err, "Need not written", "elastiService", klog.KObj(fresh))
		}
	}
	if err := h.others(ctx, fresh, d); err != nil {
		return false, h.record(ctx, fresh, failed(d, err), scale)
	}
	if d.To == d.From {
		return false, h.record(ctx, fresh, d, scale)
	}
	if err := h.targets.set(ctx, fresh, scale, d.To); err != nil {
		return false, h.record(ctx, fresh, failed(d, err), scale)
	}
	leader.LogOf(ctx).Info("Scaled", "target", fresh.targetName(), "elastiService", klog.KObj(fresh), "from", d.From, "to", d.To, "reason", d.Reason, "message", d.Message)
	h.event(fresh, corev1.EventTypeNormal, EventScaled, fmt.Sprintf("%s: %d -> %d: %s", fresh.targetName(), d.From, d.To, d.Message))
	scale.Spec.Replicas = d.To
	return true, h.record(ctx, fresh, d, scale)
}

// failed is a decision that could not be acted on.
func failed(d elasti.Decision, err error) elasti.Decision {
	d.To, d.Err = d.From, err
	return d
}

// others keeps other autoscalers out of the way at zero, and lets them in again.
func (h *Handler) others(ctx context.Context, s *service, d elasti.Decision) error {
	switch {
	case d.To == 0 && d.From > 0:
		return h.keda.pause(ctx, s)
	case d.Needed:
		return h.keda.unpause(ctx, s)
	}
	return nil
}

// needed writes that the target is needed, before anything is done about it: who takes over then counts the cooldown from now. It never goes
// back.
func (h *Handler) needed(ctx context.Context, s *service, now time.Time) error {
	h.mu.Lock()
	m := h.seen[s.UID]
	if now.After(m.lastNeeded) {
		m.lastNeeded = now
	}
	h.seen[s.UID] = m
	h.mu.Unlock()
	return h.services.setStatus(ctx, s, func(status *elastiv1alpha1.ElastiServiceStatus) {
		if at := statusTime(now); status.LastScaledUpTime == nil || status.LastScaledUpTime.Before(at) {
			status.LastScaledUpTime = at
		}
	})
}

// record writes what came of a look into the status, with an event when that is news, and gives the error back that kept it from more.
func (h *Handler) record(ctx context.Context, s *service, d elasti.Decision, scale *autoscalingv1.Scale) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	condition := metav1.Condition{Type: elastiv1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: d.Reason, Message: d.Message, ObservedGeneration: s.Generation}
	if d.Err != nil {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, d.Reason, d.Err.Error()
		if r := reasonOf(d.Err); r != ReasonFailed || d.Reason == "" {
			condition.Reason = r
		}
		h.failing(ctx, s, condition, d.Err)
	} else {
		h.well(s)
	}
	now := h.clock.Now()
	err := h.services.setStatus(ctx, s, func(status *elastiv1alpha1.ElastiServiceStatus) {
		was := meta.FindStatusCondition(status.Conditions, condition.Type)
		mode := status.Mode
		if scale != nil {
			mode = h.mode(ctx, s, scale)
		}
		// What a trigger read changes with every look, and is not written each time: only with another reason, or another failure.
		same := was != nil && was.Status == condition.Status && was.Reason == condition.Reason && was.ObservedGeneration == condition.ObservedGeneration &&
			(condition.Status == metav1.ConditionTrue || was.Message == condition.Message)
		if same && mode == status.Mode {
			return
		}
		status.Mode = mode
		condition.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
		meta.SetStatusCondition(&status.Conditions, condition)
		status.LastReconciledTime = statusTime(now)
	})
	if err != nil {
		leader.LogOf(ctx).Error(err, "Status not written", "elastiService", klog.KObj(s))
	}
	return errors.Join(d.Err, err)
}

// failing logs a failure and makes an event of it when it is another one than the last.
func (h *Handler) failing(ctx context.Context, s *service, c metav1.Condition, err error) {
	h.mu.Lock()
	m := h.seen[s.UID]
	news := m.reason != c.Reason
	m.reason = c.Reason
	h.seen[s.UID] = m
	h.mu.Unlock()
	log := leader.LogOf(ctx).WithValues("elastiService", klog.KObj(s), "reason", c.Reason)
	if !news {
		log.V(1).Info("Still not scaled", "err", err)
		return
	}
	log.Error(err, "Not scaled")
	h.event(s, corev1.EventTypeWarning, EventFailed, c.Reason+": "+c.Message)
}

// well forgets that something failed.
func (h *Handler) well(s *service) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.seen[s.UID]
	m.reason = ""
	h.seen[s.UID] = m
}

// event is about the ElastiService. Its name is the recorder's: KubeElasti names events after the target, so that only the first is there.
func (h *Handler) event(s *service, kind, reason, message string) {
	h.events.Event(&corev1.ObjectReference{APIVersion: elastiv1alpha1.GroupVersion.String(), Kind: elastiv1alpha1.Kind,
		Namespace: s.Namespace, Name: s.Name, UID: s.UID, ResourceVersion: s.ResourceVersion}, kind, reason, message)
}

// mode is that of KubeElasti: serve if replicas are wanted and there, and a pod of them is ready and not about to end.
func (h *Handler) mode(ctx context.Context, s *service, scale *autoscalingv1.Scale) string {
	if scale.Spec.Replicas == 0 || scale.Status.Replicas == 0 {
		return elastiv1alpha1.ModeProxy
	}
	pods, err := h.client.CoreV1().Pods(s.Namespace).List(ctx, metav1.ListOptions{LabelSelector: scale.Status.Selector, ResourceVersion: "0"})
	if err != nil {
		leader.LogOf(ctx).Error(err, "Pods not listed", "target", s.targetName())
		return s.Status.Mode
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.DeletionTimestamp == nil && podReady(p) {
			return elastiv1alpha1.ModeServe
		}
	}
	return elastiv1alpha1.ModeProxy
}

func podReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
