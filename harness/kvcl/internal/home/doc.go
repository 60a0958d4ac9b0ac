// Package home keeps one directory per kvcl and cleans up after owners that died.
//
// A directory holds everything a kvcl writes. Its owner holds a lock on the file "owner" as long as it lives. Who can
// take that lock knows that the owner is dead, and may kill the processes that the directory names, if they still are
// the same processes (pid, start time, and a command line that holds the directory), and remove the directory.
// Nothing is ever killed by name.
//
// The directories lie in a folder whose name can be guessed. It is used only if it is this user's own: see package owned.
package home
