// Package nodefaults lets nodes of a replay fail at their instants, and come back: spot reclaims, and kubelets that are silent for a while. It must not
// know the loop that moves the clock, autoscalers, or where faults are read from.
package nodefaults
