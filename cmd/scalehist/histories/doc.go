// Package histories has the commands that make histories and look after them: record, generate, serve, import, export, inspect, cut, redact, retain,
// compact. It wires flags to the recorder and to the store, one file a command.
//
// The package knows no replay.
package histories
