//go:build !linux

package shim

// dieWithParent does nothing where the kernel cannot tell a child of its parent's death; the next start reaps.
func dieWithParent() {}
