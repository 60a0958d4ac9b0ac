package trace

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist/recorder/history/observed"
)

// StartUps are how long pods take from their node to Ready, as a recording shows it or as they were given.
type StartUps struct {
	// pods are what was seen of each, by UID; owners the medians of what owns them, by namespace and "ReplicaSet/web-6d4b75cb6d".
	pods   map[types.UID]time.Duration
	owners map[types.NamespacedName]time.Duration
}

// NewStartUps returns given times: of pods by UID, and by namespace and owner ("default", "ReplicaSet/web-6d4b75cb6d") of those that an owner
// makes beside them.
func NewStartUps(pods map[types.UID]time.Duration, owners map[types.NamespacedName]time.Duration) *StartUps {
	return &StartUps{pods: maps.Clone(pods), owners: maps.Clone(owners)}
}

// Of is how long a pod takes: what is known of it, else of its owner's pods, which of a recording is their median, else no time.
func (s *StartUps) Of(p *corev1.Pod) time.Duration {
	if d, ok := s.pods[p.UID]; ok {
		return d
	}
	if owner := metav1.GetControllerOfNoCopy(p); owner != nil {
		return s.owners[types.NamespacedName{Namespace: p.Namespace, Name: owner.Kind + "/" + owner.Name}]
	}
	return 0
}

// StartUps reads how long the pods of a window took to start.
func (r *Recording) StartUps(ctx context.Context, w Window) (*StartUps, error) {
	lives, err := observed.PodLives(ctx, r.db, w.From, w.To)
	if err != nil {
		return nil, err
	}
	out := &StartUps{pods: map[types.UID]time.Duration{}, owners: map[types.NamespacedName]time.Duration{}}
	seen := map[types.NamespacedName][]time.Duration{}
	for i := range lives {
		l := &lives[i]
		d, ok := l.StartUp()
		if !ok {
			continue
		}
		out.pods[l.UID] = d
		if l.Controller != "" {
			owner := types.NamespacedName{Namespace: l.Pod.Namespace, Name: l.Controller}
			seen[owner] = append(seen[owner], d)
		}
	}
	for owner, all := range seen {
		out.owners[owner] = median(all)
	}
	return out, nil
}
