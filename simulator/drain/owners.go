package drain

import (
	"github.com/scalehist/scalehist"
)

// knownKinds are the controllers upstream knows to make a pod again.
var knownKinds = []string{"ReplicationController", "ReplicaSet", "Job", "StatefulSet", "DaemonSet"}

// Owners are the controllers of a cluster with the replicas they want. A kind of which there is not one was most
// likely not recorded, so none of it is missed: a pod left over by the only controller of its kind is rare and short.
type Owners struct {
	byKey map[ownerKey]int32
	kinds map[string]bool
}

type ownerKey struct{ kind, namespace, name string }

// uncounted stands for a controller without a number of replicas.
const uncounted = -1

// NewOwners lists the controllers among the objects.
func NewOwners(o *scalehist.Objects) *Owners {
	out := &Owners{kinds: map[string]bool{}, byKey: make(map[ownerKey]int32, len(o.ReplicaSets)+len(o.StatefulSets)+len(o.Jobs)+len(o.DaemonSets)+len(o.ReplicationControllers))}
	add := func(kind, namespace, name string, replicas *int32) {
		n := int32(1) // the API's default
		if replicas != nil {
			n = *replicas
		}
		out.byKey[ownerKey{kind, namespace, name}], out.kinds[kind] = n, true
	}
	for _, x := range o.ReplicaSets {
		add("ReplicaSet", x.Namespace, x.Name, x.Spec.Replicas)
	}
	for _, x := range o.StatefulSets {
		add("StatefulSet", x.Namespace, x.Name, x.Spec.Replicas)
	}
	for _, x := range o.ReplicationControllers {
		add("ReplicationController", x.Namespace, x.Name, x.Spec.Replicas)
	}
	none := int32(uncounted)
	for _, x := range o.Jobs {
		add("Job", x.Namespace, x.Name, &none)
	}
	for _, x := range o.DaemonSets {
		add("DaemonSet", x.Namespace, x.Name, &none)
	}
	return out
}

// replicas looks a controller up. Of kinds upstream does not list, and of kinds there is none of, every one is found.
func (o *Owners) replicas(kind, namespace, name string) (n int32, counted, found bool) {
	if !o.kinds[kind] {
		return 0, false, true
	}
	n, found = o.byKey[ownerKey{kind, namespace, name}]
	return n, found && n != uncounted, found
}
