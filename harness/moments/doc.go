// Package moments keeps the states about which an autoscaler decided in little room, and gives them back: each version of an object is kept once, under
// the name that JSON has for its kind. It knows nothing of who decides, and of no cluster.
package moments
