// Package agreement holds what a replay did beside what was recorded: which steps of node groups are the same, which differ and
// why, and the answers to the questions by which both agree or do not.
//
// The package knows steps, decisions and waits, and no cluster and no replay.
package agreement
