package dbfile

import "os"

// OneName refuses a file, the RealPath of path, that has several names. Error: LinkedError.
func OneName(path, file string) error {
	if info, err := os.Stat(file); err == nil && namesOf(info) > 1 {
		return &LinkedError{Path: path, Names: namesOf(info)}
	}
	return nil
}
