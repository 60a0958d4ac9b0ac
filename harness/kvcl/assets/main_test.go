package assets

import (
	"os"
	"syscall"
	"testing"
)

// TestMain makes files as most users do: with a umask of 002, every folder of a test would be one that others may write to.
func TestMain(m *testing.M) {
	syscall.Umask(0o022)
	os.Exit(m.Run())
}
