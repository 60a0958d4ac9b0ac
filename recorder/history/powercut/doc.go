// Package powercut shows what a power cut may leave of a history.
//
// Killing a process loses nothing that it has written: the kernel has it. A power cut loses what the kernel had not yet
// been made to write by fsync, in part and in any order. A Disk is between SQLite and the files of a folder, as a VFS
// (https://www.sqlite.org/vfs.html), and keeps for each file what was synced last and what was written since; Cut puts
// what might be left now into another folder.
//
// What Go does by itself, past SQLite, it sees where package durable does it. A folder is like a file: names that came or went since it was
// synced are there after a cut, or not, each by itself.
//
// It is for tests, and must not know what the files hold.
package powercut
