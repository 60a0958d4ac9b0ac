//go:build !linux

package main

import "syscall"

// dieWithParent only keeps a terminal's signals from the child where the kernel watches no parents: a killed rig leaves the
// autoscaler behind, which ends when its API server has gone.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
