// Package foresight compares what forecasts predict of metrics with what came, without scaling anything: tables, CSV, a page with curves.
//
// At each moment a forecast has seen the values up to it, and no other; it says the most that the metric will be within the lead, which is judged by the most that
// it was. All forecasts of a series are judged at the same moments, those at which each of them predicts something and all of the lead is known.
//
// The package must not know of replays and commands, nor of where values come from.
package foresight
