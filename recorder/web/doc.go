// Package web shows what a service records: pages for people, an API for programs, metrics for Prometheus.
//
// It shows the clusters of a service.Service and the other histories in its directory, live; it gives out consistent
// copies of histories while they are recorded, takes in histories that were recorded elsewhere, and lists replay
// reports. Everything it needs is embedded; a page loads nothing from anywhere else.
//
//   - Library: the histories of the directory, with what is cheap to know of them.
//   - Series: nodes and pending pods over time, read once and then followed.
//
// Names in paths are DNS labels (histories) or plain file names (reports), so that no request reaches another file.
// The package must not know of replays or the command line: how a report becomes text is given to it.
package web
