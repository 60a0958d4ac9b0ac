// Package fsck looks at a history behind the store's back: whether SQLite finds the file whole, whether the rows refer
// to rows that exist, and whether the versions of an object follow each other. It reads tables where the rest of the
// project reads objects, and so may say of a damaged file what the store can only refuse.
//
// It must not know what an object is.
package fsck
