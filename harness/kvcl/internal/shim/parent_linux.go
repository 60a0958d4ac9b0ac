package shim

import "syscall"

// dieWithParent asks for SIGKILL when the parent's thread that started us ends. The setting belongs to the thread and
// outlives exec; init runs on the main thread, which is also the one that calls exec.
func dieWithParent() {
	const prSetPdeathsig = 1
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetPdeathsig, uintptr(syscall.SIGKILL), 0)
}
