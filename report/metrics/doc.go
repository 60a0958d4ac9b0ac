// Package metrics measures a replay: every number by which two replays are compared, with its definition, unit, formula
// and source. All of them are computed from the ReplayReport alone, so a saved report can be measured again; what a report
// does not say is missing with the reason, and never guessed.
//
// Its words: a Metric is a definition, a Value is what a report shows of it, a Set is all values of one report, and a
// Curve is a number over the time of a replay. It knows no other report, no policy and no way of printing a comparison.
package metrics
