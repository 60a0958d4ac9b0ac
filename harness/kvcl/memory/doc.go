// Package memory is a control plane without processes: the API server's own registries over a map, and the real
// kube-scheduler cranked by hand. Objects are defaulted, validated, stored, bound and evicted by the code of
// kube-apiserver; what is not there is everything before it: HTTP, authorization, admission webhooks, other clients.
//
// It boots in milliseconds and gives the answers of the one on envtest, which stays the reference: package crosscheck
// compares the two.
//
// It must not know histories and autoscalers.
package memory
