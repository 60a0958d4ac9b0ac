package trace

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist/harness/kvcl/kubelet"
)

// Terminations are how long pods take from the request to delete them until they are gone, as a recording shows it.
type Terminations struct {
	// Owners has the median, the upper one of two, over the recorded deletions of the pods of each controller.
	Owners map[types.UID]time.Duration
	// Median is that over all recorded deletions, for pods whose owner was not seen to lose any; nil where none was recorded.
	Median *time.Duration
}

// Termination is how long a pod takes to stop here: as long as pods of its owner took in the recording, else as pods of the
// recording did, else kubelet.AssumedTermination.
func (in *Input) Termination(p *corev1.Pod) time.Duration {
	if o := metav1.GetControllerOfNoCopy(p); o != nil {
		if d, ok := in.Terminations.Owners[o.UID]; ok {
			return d
		}
	}
	if m := in.Terminations.Median; m != nil {
		return *m
	}
	return kubelet.AssumedTermination(p)
}

// terminations reads them from the lives of pods. Only pods that ran on a node and were seen to be asked to go count; a log
// that has deletions without the requests does not show how long they took.
func terminations(lives map[types.UID]*life, order []types.UID) Terminations {
	byOwner := map[types.UID][]time.Duration{}
	var all []time.Duration
	for _, uid := range order {
		l := lives[uid]
		if l.asked.IsZero() || l.deleted.IsZero() || l.pod.Spec.NodeName == "" || l.ranOut() {
			continue
		}
		d := l.deleted.Sub(l.asked)
		all = append(all, d)
		if o := metav1.GetControllerOfNoCopy(l.pod); o != nil {
			byOwner[o.UID] = append(byOwner[o.UID], d)
		}
	}
	out := Terminations{Owners: map[types.UID]time.Duration{}}
	for uid, list := range byOwner {
		out.Owners[uid] = median(list)
	}
	if len(all) > 0 {
		m := median(all)
		out.Median = &m
	}
	return out
}

// median is the upper one of two. It sorts list.
func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2].Round(time.Millisecond)
}
