// Package realprogram finds the unmodified cluster-autoscaler binary and runs programs that die with this one.
//
// The binary is $SCALEHIST_CLUSTER_AUTOSCALER, or what is unpacked from ../shared/bin beside the repository. It knows nothing of what
// a program does.
package realprogram
