// Package ledger writes down what happens in a replay, step by step, and puts it into the report: which pods came, waited and got
// a node, which nodes came and were removed, what the autoscaler decided.
//
// The package moves nothing and decides nothing: the loop of package harness says what happened.
package ledger
