//go:build !linux

package realprogram

import "syscall"

// dieWithParent only keeps a terminal's signals from the child where the kernel watches no parents: a killed parent leaves the
// child behind, which ends when what it talks to has gone.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
