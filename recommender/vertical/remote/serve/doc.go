// Package serve answers the API of package remote with a recommender of package vertical, one for each workload, which keeps what is observed of it.
//
// It must not know histories, clusters, or commands.
package serve
