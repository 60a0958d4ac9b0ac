// Package plane is what every virtual control plane has in common: identities and times that an API server cannot keep,
// the order of things, admission, the scheduler cranked by hand. What differs is the [Server] behind it: a real
// kube-apiserver over HTTP, or the API server's registries over a map.
//
// It must not know which of them it is, nor histories and autoscalers.
package plane
