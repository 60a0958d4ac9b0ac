package durable

import (
	"errors"
	"os"
)

// WithoutPaths is what went wrong with a file, without its name, which may be a temporary one.
func WithoutPaths(err error) error {
	var pathErr *os.PathError
	var linkErr *os.LinkError
	switch {
	case errors.As(err, &pathErr):
		return pathErr.Err
	case errors.As(err, &linkErr):
		return linkErr.Err
	}
	return err
}
