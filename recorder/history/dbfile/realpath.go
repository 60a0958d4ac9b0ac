package dbfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/scalehist/scalehist/internal/durable"
)

// mostLinks is how many links to nothing are followed; as many as Linux does.
const mostLinks = 40

// RealPath is the file that a path names, links followed, also where there is no file yet. SQLite's log, the lock and
// temporary files lie beside that one: looked for beside a link, a log is missed and a lock is another. It is asked for
// once for everything that is done with a path, so that a link that is changed meanwhile changes nothing.
func RealPath(path string) (string, error) {
	name := path
	for range mostLinks {
		file, err := filepath.EvalSymlinks(name)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("history %s: %w", path, durable.WithoutPaths(err))
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(name))
		if err != nil { // there is no such folder: making the file says so
			return name, nil //nolint:nilerr // as the comment says
		}
		name = filepath.Join(dir, filepath.Base(name))
		target, err := os.Readlink(name)
		if err != nil { // no link
			return name, nil //nolint:nilerr // as the comment says
		}
		if !filepath.IsAbs(target) {
			target = dir + string(filepath.Separator) + target // not Join: "x/.." may lead elsewhere where x is a link
		}
		name = target
	}
	return "", fmt.Errorf("history %s: too many links: give the file they should lead to", path)
}
