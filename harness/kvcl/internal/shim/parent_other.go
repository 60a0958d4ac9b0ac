//go:build !linux

package shim

// dieWithParent does nothing where the kernel cannot signal its parent's death to a child; the next start reaps.
func dieWithParent() {}
