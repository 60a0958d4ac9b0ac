// Package kubelet says what a kubelet makes of a pod: the status it shows, whether other resources fit on the node, when it starts a container again
// and how long the pod takes to stop. It must not know control planes, owners of pods or where pods come from; only Restarts remembers anything.
package kubelet
