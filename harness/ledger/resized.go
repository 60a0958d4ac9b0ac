package ledger

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
)

// follow begins to follow a pod.
func (l *Ledger) follow(p *corev1.Pod, at time.Time) *podLedger {
	entry := l.deployed(p, at)
	return &podLedger{entry: entry, asks: entry.Requests}
}

// resizedPod notes a pod that asks for something else from this step on.
func (l *Ledger) resizedPod(p *corev1.Pod) {
	known := l.pods[scalehist.NameOf(p)]
	if known == nil {
		return // it is not here: this replay lost it earlier, or it belongs to its node
	}
	asks := l.asked(p)
	if maps.Equal(asks, known.asks) {
		return
	}
	known.asks = asks
	l.batch.Resized = append(l.batch.Resized, scalehist.PodResize{Pod: scalehist.NameOf(p).String(), Requests: asks})
}
