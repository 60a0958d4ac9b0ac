package realprogram

import "syscall"

// dieWithParent lets the kernel kill a child when the thread that started it ends.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
