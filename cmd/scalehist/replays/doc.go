// Package replays has the commands that replay: replay, sweep, compare, conformance, and the flags of a replay that other commands have too.
// It wires flags to the harness and to the reports.
//
// The package knows no command that makes a history.
package replays
