// Package podlife reads of a pod whose it is, and so whether it follows its node or comes back once it is evicted, how long it stays under a taint, which
// annotations say how long it runs and stops, and what it is when it is made again. Pure functions of objects: it must not know clusters, clocks or who asks.
package podlife
