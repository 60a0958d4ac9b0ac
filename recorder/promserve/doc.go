// Package promserve answers the query API of Prometheus from a history: Prometheus' own query engine over the series that were recorded.
//
// What can be asked, and is answered as the recorded Prometheus would have:
//
//   - Series that were recorded as they were scraped (MetricQuerySpec.Series): any expression over selectors that these cover.
//   - Queries that were recorded at intervals: where their text is an expression or part of one, and by their name, as recording rules have one.
//     Between two recorded instants the earlier one counts.
//
// What was not recorded (another series, another time, a gap) is an error that says what was, never an empty answer: those who ask scale by it.
//
// The package must not know of clusters, nor of who recorded.
package promserve
