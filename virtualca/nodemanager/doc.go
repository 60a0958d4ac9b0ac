// Package nodemanager is the HTTP API of node groups that is behind an external gRPC provider, and its client, which is one.
//
// Terms:
//   - A Backend has the node groups: virtual ones (package virtual), or capacity borrowed from other clusters (package multicluster).
//   - A change carries a key. A backend writes it down with the change (Commit), so that one that is sent again, because its answer was lost when the
//     node manager was killed, is made once.
//
// The paths are those of the Liqo node manager; openapi.json describes them. The package must not know whose node groups they are.
package nodemanager
