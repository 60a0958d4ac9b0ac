// Package signs writes what an autoscaler reports of itself into the virtual cluster, so that tools that watch a cluster-autoscaler see one: its status
// ConfigMap and its events. It must not know the loop that runs the autoscaler, or what it decides.
package signs
