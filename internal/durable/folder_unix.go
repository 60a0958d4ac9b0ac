//go:build !windows

package durable

import (
	"errors"
	"os"
	"syscall"
)

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) { // a file system without it (some of FUSE, 9p, SMB)
		err = nil
	}
	return errors.Join(err, f.Close())
}
