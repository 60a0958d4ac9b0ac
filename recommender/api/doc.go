// Package api is the recommender over HTTP: the wire types of version 1, a server for any recommender.Recommender, and a
// client that is one. docs/recommender.md is for those who call it or answer it in another language,
// docs/recommender.openapi.json is made from the types.
//
// Terms:
//   - A Request is a recommender.Request as JSON: its terms as they are, and plain Kubernetes objects in a list, as in object logs; or the
//     ClusterSnapshot of a report with whole objects.
//   - A Response is the recommender.Recommendation with what is outside of it. Run is what differs by nature between two
//     answers, and is never compared.
//   - A Problem is an error on the wire (RFC 9457): what, where, what to do.
//
// What is read strictly: a key that is not known, one that is given twice, and a value of another type are errors that name the
// path. The same Request gives the same Recommendation in process and over HTTP.
//
// The package must not know the harness, histories, the command line, or how anything is decided.
package api
