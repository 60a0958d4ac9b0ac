// Package remote is the HTTP API of recommenders of requests: what is on the wire, and a client. A server keeps what was observed of
// workloads: a client makes one, hands it what its containers used, many samples at once, and asks what is recommended.
//
// It knows neither recommenders nor who asks; package vertical makes a recommender of a client, package serve a server of a recommender.
package remote
