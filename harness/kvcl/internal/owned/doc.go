// Package owned says whether another user of this machine could have put something in a folder, or in place of a program.
//
// Names under /tmp and /dev/shm can be guessed, and anyone may take one first. So a folder is used, cleaned up, or run
// programs from only when it belongs to this user (programs: to root as well) and no one else can write to it.
//
// It must not know what the folders are for.
package owned
