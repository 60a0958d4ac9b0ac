package kvcl

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// watchFate says in the end how a child ended: "was killed by SIGKILL", "exited with code 1"; "" when only envtest, which
// waits for it as well, got to know. It leaves the child for envtest to reap.
func watchFate(pid int) chan string {
	fate := make(chan string, 1)
	go func() {
		var info unix.Siginfo
		for {
			err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
			if err == unix.EINTR {
				continue
			}
			if err != nil {
				fate <- ""
				return
			}
			break
		}
		// si_code, then, in the part that the type leaves open, si_pid, si_uid and si_status (sigaction(2)).
		status := *(*int32)(unsafe.Add(unsafe.Pointer(&info), 24))
		switch {
		case info.Code == cldExited:
			fate <- fmt.Sprintf("exited with code %d", status)
		case syscall.Signal(status) == syscall.SIGKILL:
			fate <- "was killed by SIGKILL, as the kernel does when memory runs out"
		default:
			fate <- "was killed by " + unix.SignalName(syscall.Signal(status))
		}
	}()
	return fate
}

// cldExited is CLD_EXITED of waitid(2); the other codes are deaths by signal.
const cldExited = 1
