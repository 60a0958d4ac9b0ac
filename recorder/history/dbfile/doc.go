// Package dbfile knows the file of a history: which file a path names, what its header says it is, how SQLite opens it, who writes to it, and
// how a finished one takes a name so that a power cut leaves the old one or the new one, whole.
//
//   - Path: what a user called a file; messages name it so.
//   - File: its RealPath, which everything is done with.
//   - Log: what SQLite lays beside a file and reads into it, a journal included.
//
// The package must not know what is in a history.
package dbfile
