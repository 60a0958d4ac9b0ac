// Package sweep is a grid of replays of one recording, measured: which settings there are to try, what each showed, and
// which of them no other beats.
//
// Its words: a Parameter is a flag of an autoscaler with the values to try, a Point is one combination of them on one
// engine, a Row is what its replay showed. The front are the rows that no other beats: none is as good in both of two
// metrics and better in one (Pareto).
//
// It replays nothing and knows no autoscaler: who runs the points is the caller's business, and so is in which order. The
// same rows give the same page and the same plot, byte by byte.
package sweep
