// Package usage asks how much of what a cluster's pods use: the metrics API for what containers use now, a Prometheus
// for the values of named queries over time.
//
//   - Query: a name, a PromQL expression and a step. Its instants are the multiples of the step since 1970, whatever asks
//     and whenever, so that a recording that is continued neither skips nor doubles one.
//   - Window: a run of such instants that is asked for at once.
//
// The package must not know of recorders and histories' files; it gives values of history's types.
package usage
