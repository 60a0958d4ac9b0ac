package owned

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// othersWrite are the permissions by which other users change a file or what is in a folder.
const othersWrite = 0o022

// ForeignError says that another user controls, or could control, what is at Path.
type ForeignError struct {
	// Path is the folder or file, Why is what is wrong with it, Do is what helps.
	Path, Why, Do string
}

func (e *ForeignError) Error() string { return fmt.Sprintf("%s %s: %s", e.Path, e.Why, e.Do) }

// Folder makes the private folder at path, or opens the one that is there if it is a folder (not a link to one) of this
// user that nobody else may enter. What is done through the result stays inside it: no link leads out.
// The error for any other folder is a ForeignError. What the folder lies in is the host's affair: a pod's emptyDir at /tmp
// is writable by all and not sticky.
func Folder(path string) (*os.Root, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	seen, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if err := private(path, seen); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	// OpenRoot follows a link that took the folder's place since.
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(seen, opened) {
		err = &ForeignError{path, "was replaced while it was opened", "remove it"}
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

func private(path string, info fs.FileInfo) error {
	const remove = "remove it, or have its owner remove it"
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return &ForeignError{path, "is a symbolic link where a private folder is expected", remove}
	case !info.IsDir():
		return &ForeignError{path, "is not a folder", remove}
	case owner(info) != os.Geteuid():
		return &ForeignError{path, fmt.Sprintf("belongs to uid %d, not to this user (uid %d)", owner(info), os.Geteuid()), remove}
	case info.Mode().Perm()&0o077 != 0:
		return &ForeignError{path, fmt.Sprintf("is open to other users (mode %04o)", info.Mode().Perm()),
			"remove it, or 'chmod 700' it if all that is in it is yours"}
	}
	return nil
}

// Mine says whether an entry of a folder is a folder or a plain file of this user, and no link.
func Mine(info fs.FileInfo) bool {
	return (info.IsDir() || info.Mode().IsRegular()) && owner(info) == os.Geteuid()
}

// Program returns nil if only this user or root could have put the program at path there. Links are followed: it is the
// file they lead to, its folder, and the folder of path that count. The error is a ForeignError, or that of the file system.
func Program(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for _, p := range []string{filepath.Dir(path), filepath.Dir(real), real} {
		if err := Trusted(p); err != nil {
			return err
		}
	}
	return nil
}

// Trusted returns nil if a file or folder, links followed, belongs to this user or root and nobody else may write to it.
func Trusted(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if uid := owner(info); uid != 0 && uid != os.Geteuid() {
		return &ForeignError{path, fmt.Sprintf("belongs to uid %d, not to this user (uid %d) or root: programs in it are not run", uid, os.Geteuid()),
			"'chown' it, or use a copy of your own"}
	}
	if info.Mode().Perm()&othersWrite != 0 {
		return &ForeignError{path, fmt.Sprintf("is writable by other users (mode %04o): programs in it are not run", info.Mode().Perm()),
			"'chmod go-w' it after a look at what is in it, or use a copy of your own"}
	}
	return nil
}

// owner is the uid of a file; -1, which is nobody's, where the file system has none.
func owner(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return -1
}
