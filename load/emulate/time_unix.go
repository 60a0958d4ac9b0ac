//go:build unix

package emulate

import (
	"syscall"
	"time"
)

// processTime is the CPU time of this process.
func processTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0 // only an argument that does not exist is refused
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
