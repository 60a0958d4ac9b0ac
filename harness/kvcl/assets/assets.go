package assets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/scalehist/scalehist/harness/kvcl/internal/owned"
)

// EnvDir is the environment variable that names a directory with both binaries.
const EnvDir = "KUBEBUILDER_ASSETS"

// Options say where to look and build. The zero value is right for everyone but tests.
type Options struct {
	// Dir has both binaries; empty means the value of KUBEBUILDER_ASSETS, and if that is empty too they are built.
	Dir string
	// CacheDir holds built binaries; empty means "scalehist" in the user's cache directory.
	CacheDir string
	// Progress gets one line when a build starts and one when it ends; nil means standard error.
	Progress io.Writer
}

// Paths are absolute paths of the binaries.
type Paths struct {
	KubeAPIServer string
	Etcd          string
}

// Ensure returns the binaries, building what is missing. Two processes that need the same build do it once. A
// cancelled ctx ends a build and leaves nothing half made.
func Ensure(ctx context.Context, o Options) (Paths, error) {
	dir, source := o.Dir, "the directory of binaries"
	if dir == "" {
		dir, source = os.Getenv(EnvDir), EnvDir
	}
	if dir != "" {
		return fromDir(dir, source)
	}
	if o.Progress == nil {
		o.Progress = os.Stderr
	}
	v, err := pinned()
	if err != nil {
		return Paths{}, err
	}
	if o.CacheDir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return Paths{}, fmt.Errorf("cache directory for kube-apiserver and etcd: %w; set %s to a directory that has both", err, EnvDir)
		}
		o.CacheDir = filepath.Join(cache, "scalehist")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		// Binaries built earlier still serve, whatever toolchain made them.
		if p, ok, err := anyBuilt(o.CacheDir, v); ok || err != nil {
			return p, err
		}
		return Paths{}, fmt.Errorf("kube-apiserver and etcd are missing: %s is not set, and there is no Go toolchain on PATH to build them; "+
			"set %s to a directory that has both, or install Go", EnvDir, EnvDir)
	}
	key, err := v.key(ctx, goTool)
	if err != nil {
		return Paths{}, err
	}
	return build(ctx, goTool, filepath.Join(o.CacheDir, key), v, o.Progress)
}

func fromDir(dir, source string) (Paths, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Paths{}, err
	}
	p := pathsIn(abs)
	for _, file := range []string{p.KubeAPIServer, p.Etcd} {
		fi, err := os.Stat(file)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return Paths{}, fmt.Errorf("%s is %s, but there is no %s: put it there, or unset it to have both binaries built", source, dir, filepath.Base(file))
		case err != nil:
			return Paths{}, fmt.Errorf("%s: %w", source, err)
		case !fi.Mode().IsRegular() || fi.Mode().Perm()&0o111 == 0:
			return Paths{}, fmt.Errorf("%s is %s, but %s there is not an executable file", source, dir, filepath.Base(file))
		}
		if err := owned.Program(file); err != nil {
			return Paths{}, fmt.Errorf("%s is %s: %w", source, dir, err)
		}
	}
	return p, nil
}

func pathsIn(dir string) Paths {
	return Paths{KubeAPIServer: filepath.Join(dir, "kube-apiserver"), Etcd: filepath.Join(dir, "etcd")}
}

// complete finds both binaries in a folder of the cache. Ones that another user could have put there are an error:
// they are neither run nor silently built over.
func complete(dir string) (Paths, bool, error) {
	p := pathsIn(dir)
	for _, file := range []string{p.KubeAPIServer, p.Etcd} {
		if !isFile(file) {
			return Paths{}, false, nil
		}
	}
	for _, file := range []string{p.KubeAPIServer, p.Etcd} {
		if err := owned.Program(file); err != nil {
			return Paths{}, false, fmt.Errorf("cache of kube-apiserver and etcd: %w; or set %s to a directory that has both", err, EnvDir)
		}
	}
	return p, true, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// anyBuilt finds a build of the pinned versions for this platform by another toolchain.
func anyBuilt(cache string, v versions) (Paths, bool, error) {
	dirs, _ := filepath.Glob(filepath.Join(cache, v.prefix()+"*"))
	for _, d := range dirs {
		if p, ok, err := complete(d); ok || err != nil {
			return p, ok, err
		}
	}
	return Paths{}, false, nil
}

// lockPoll is how often a process that waits for another's build looks.
const lockPoll = 100 * time.Millisecond

func lock(ctx context.Context, path string) (*flock.Flock, error) {
	l := flock.New(path)
	if _, err := l.TryLockContext(ctx, lockPoll); err != nil {
		return nil, fmt.Errorf("wait for another build of kube-apiserver and etcd (lock %s): %w", path, err)
	}
	return l, nil
}
