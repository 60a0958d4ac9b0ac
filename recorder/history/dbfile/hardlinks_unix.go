//go:build unix

package dbfile

import (
	"io/fs"
	"syscall"
)

// namesOf counts the names of a file.
func namesOf(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink) //nolint:unconvert // narrower on other systems
	}
	return 1
}
