// Package caflags reads the command line of a cluster-autoscaler out of a Deployment, and keeps of it what may be stored.
//
// What is kept is listed: values of flags that the autoscaler is known to have, where they decide what scales or cannot be
// a secret. The value of any other flag is replaced by Masked, and words that are no flags go: a shell's exports, the
// arguments of other programs. It knows nothing of what flags do.
package caflags
