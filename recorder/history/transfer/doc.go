// Package transfer turns histories into object logs, and object logs into histories: exports, imports, and the window of a history as a
// history of its own.
//
// The package must not know how a history is stored.
package transfer
