// Package powercut shows what a power cut may leave of a history.
//
// Killing a process loses nothing that it has written: the kernel has it. A power cut loses what the kernel had not yet
// been made to write by fsync, in part and in any order. A Disk stands between SQLite and the files of a folder, as a VFS
// (https://www.sqlite.org/vfs.html), and keeps for each file what was synced last and what was written since; Cut puts
// what might be left now into another folder.
//
// It is for tests, and must not know what the files hold. What Go writes by itself, past SQLite, it does not see.
package powercut
