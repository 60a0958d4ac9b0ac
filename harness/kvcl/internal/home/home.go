package home

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/scalehist/scalehist/harness/kvcl/internal/owned"
	"github.com/scalehist/scalehist/harness/kvcl/internal/shim"
)

// wantedSpace is the room a memory file system must have to be used, in bytes.
const wantedSpace = 1 << 30

// Home is the directory of one kvcl.
type Home struct {
	Dir   string
	links []string
	owner *flock.Flock
}

// New reaps what dead owners left and makes a new directory, on a memory file system when there is room.
func New(ctx context.Context) (*Home, error) { return newIn(ctx, roots()) }

// newIn uses the first root that is this user's own. One that somebody else took first is left alone: nothing in it is
// believed, and who took it keeps nobody from working.
func newIn(ctx context.Context, roots []string) (_ *Home, err error) {
	var h *Home
	var foreign []error
	defer func() {
		if err != nil && h != nil {
			err = errors.Join(err, h.Remove())
		}
	}()
	for _, path := range roots {
		root, err := owned.Folder(path)
		if is := (*owned.ForeignError)(nil); errors.As(err, &is) {
			foreign = append(foreign, err)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("directory for virtual clusters: %w", err)
		}
		if err := useRoot(ctx, root, &h); err != nil {
			return nil, fmt.Errorf("directory for a virtual cluster: %w", err)
		}
	}
	if h == nil {
		return nil, fmt.Errorf("no directory for virtual clusters: %w; or set TMPDIR to a folder that only you can write to", errors.Join(foreign...))
	}
	return h, nil
}

// useRoot reaps a root, and makes a directory in it unless there is one already.
func useRoot(ctx context.Context, root *os.Root, h **Home) (err error) {
	defer root.Close()
	unlock, err := lock(ctx, filepath.Join(root.Name(), ".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	reap(root)
	if *h == nil {
		*h, err = create(root.Name())
	}
	return err
}

// Link makes a link that starts the binary at path and dies with this process. See package shim.
func (h *Home) Link(name, path string, env ...string) (string, error) {
	link, err := shim.Link(h.Dir, name, path, env)
	if err != nil {
		return "", fmt.Errorf("link to %s: %w", path, err)
	}
	h.links = append(h.links, link)
	return link, nil
}

// PID of the process a link became; 0 before it did.
func (h *Home) PID(link string) int {
	p, _ := shim.ReadProcess(link)
	return p.PID
}

// Died says whether a link became a process that has ended since.
func (h *Home) Died(link string) bool {
	p, ok := shim.ReadProcess(link)
	return ok && p.StartTime != "" && shim.StartTime(p.PID) != p.StartTime
}

// Kill ends the processes at once and keeps new ones from starting.
func (h *Home) Kill() {
	for _, l := range h.links {
		shim.Disarm(l)
	}
	killAll(h.Dir)
}

// Remove deletes the directory and gives up the lock. Call it after Kill.
func (h *Home) Remove() error {
	err := os.RemoveAll(h.Dir)
	if uerr := h.owner.Close(); err == nil {
		err = uerr
	}
	if err != nil {
		return fmt.Errorf("remove the directory of a virtual cluster: %w", err)
	}
	return nil
}

// roots are the places directories may be in, the one to use first. Each user has their own.
func roots() []string {
	name := fmt.Sprintf("%s%d", shim.Marker, os.Getuid())
	disk, memory := filepath.Join(os.TempDir(), name), filepath.Join("/dev/shm", name)
	if fi, err := os.Stat("/dev/shm"); err != nil || !fi.IsDir() {
		return []string{disk}
	}
	if free("/dev/shm") < wantedSpace {
		return []string{disk, memory}
	}
	return []string{memory, disk}
}

func create(root string) (*Home, error) {
	dir, err := os.MkdirTemp(root, "")
	if err != nil {
		return nil, err
	}
	owner := flock.New(filepath.Join(dir, "owner"))
	ok, err := owner.TryLock()
	if err != nil || !ok {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("lock %s: %w", owner.Path(), err)
	}
	return &Home{Dir: dir, owner: owner}, nil
}

// lock serialises making and reaping directories: a new one is not taken for an orphan before its owner holds it.
func lock(ctx context.Context, path string) (func(), error) {
	l := flock.New(path)
	if _, err := l.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = l.Close() }, nil
}

// reap removes the directories in root whose owner is dead, and their processes. What cannot be proved is left, and so
// is what is not this user's or a link: who could write here once may have pointed one at anything.
func reap(root *os.Root) {
	entries, err := os.ReadDir(root.Name())
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := root.Lstat(e.Name())
		if err != nil || !info.IsDir() || !owned.Mine(info) {
			continue
		}
		lock, err := root.Lstat(filepath.Join(e.Name(), "owner"))
		if err != nil && !os.IsNotExist(err) || err == nil && (!lock.Mode().IsRegular() || !owned.Mine(lock)) {
			continue
		}
		dir := filepath.Join(root.Name(), e.Name())
		owner := flock.New(filepath.Join(dir, "owner"), flock.SetFlag(os.O_RDWR))
		ok, err := owner.TryLock()
		if err != nil && !os.IsNotExist(err) || err == nil && !ok {
			continue
		}
		killAll(dir)
		_ = root.RemoveAll(e.Name()) // follows no link
		_ = owner.Close()
	}
}

// killAll ends the processes that the links in dir became, as far as they are provably the same.
func killAll(dir string) {
	pids, _ := filepath.Glob(filepath.Join(dir, "*.pid"))
	for _, file := range pids {
		p, ok := shim.ReadProcess(strings.TrimSuffix(file, ".pid"))
		if ok && isOurs(p, dir) {
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}
}

func isOurs(p shim.Process, dir string) bool {
	if p.StartTime == "" || shim.StartTime(p.PID) != p.StartTime {
		return false
	}
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
	return err == nil && strings.Contains(string(cmdline), dir+"/")
}

func free(dir string) uint64 {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return 0
	}
	return uint64(s.Bavail) * uint64(s.Bsize)
}
