// Package durable gives files their names so that a power cut leaves what was there before, or what is there after.
//
// A rename is one step for those who read the folder, and none for the disk: without fsync the new name may reach it before
// what the file holds, and without fsync of the folder the old file may come back
// (https://man7.org/linux/man-pages/man2/fsync.2.html).
//
// It must not know what files hold.
package durable
