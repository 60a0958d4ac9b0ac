// Package discovery is a registry of clusters that share capacity: who shares how much, where, at what price, and how it is reached.
//
// Terms:
//   - A Cluster is what a remote cluster says of itself. It registers through the API, or by a labelled Secret (Secrets), and is listed until it is
//     removed or has been silent for longer than its time to live.
//   - The kubeconfig of a cluster is kept encrypted, is in no list and no log, and is given to readers alone.
//
// Server is the HTTP API over a Registry, Client its other side; openapi.json describes it. The package must not know node groups or who borrows.
package discovery
