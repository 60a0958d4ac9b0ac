// Package console is what the commands of scalehist have in common: where they read and write, tables, progress, pages, errors and exit
// codes, logs and profiles, and which files an argument may stand for.
//
// The package knows no command.
package console
