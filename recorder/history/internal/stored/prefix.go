package stored

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
)

// namePrefix is the part of a pod's name that its siblings share: the generated name of its controller up to the last
// dash. A Job has one pod as a rule, whose name is then cheaper in full.
func namePrefix(o scalehist.Object) string {
	if _, ok := o.(*corev1.Pod); !ok {
		return ""
	}
	owner := metav1.GetControllerOf(o)
	if owner == nil {
		return ""
	}
	switch owner.Kind {
	case "ReplicaSet", "DaemonSet", "StatefulSet", "ReplicationController":
		return o.GetName()[:strings.LastIndexByte(o.GetName(), '-')+1]
	}
	return ""
}
