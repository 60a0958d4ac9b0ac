package powercut

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// sector is what a disk writes whole or not at all, in bytes.
const sector = 512

// A Disk is a folder whose power can be cut.
type Disk struct {
	dir string

	mu    sync.Mutex
	files map[string]*file // by name
	// removed are files whose removal need not have reached the disk.
	removed map[string]*file
	each    func()
}

// file is what is known of one file.
type file struct {
	synced  []byte
	pending []change
}

// change is a write, or with data nil a new length.
type change struct {
	at   int64
	data []byte
}

// apply makes the change to what a file holds.
func (c change) apply(b []byte) []byte {
	end := c.at + int64(len(c.data))
	if grow := end - int64(len(b)); grow > 0 {
		b = append(b, make([]byte, grow)...)
	}
	if c.data == nil {
		return b[:c.at]
	}
	copy(b[c.at:], c.data)
	return b
}

// Each lets f look at the folder after each change that SQLite makes, in the midst of whatever SQLite does then; nil ends
// that. f may call Cut, and not open a database of the folder.
func (d *Disk) Each(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.each = f
}

// change runs what changes a file, and lets Each's function look.
func (d *Disk) change(f func() int32) int32 {
	d.mu.Lock()
	rc, each := f(), d.each
	d.mu.Unlock()
	if each != nil {
		each()
	}
	return rc
}

// Cut writes what a power cut at this moment might leave of the folder's databases and their logs into the folder to. All
// that was synced is there. What was written since is lost, but for parts that random picks: whole writes, or their first
// sectors, and without random nothing.
func (d *Disk) Cut(to string, random *rand.Rand) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	left := maps.Clone(d.removed)
	if random == nil {
		clear(left)
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		if random.IntN(2) == 0 {
			delete(left, name)
		}
	}
	maps.Copy(left, d.files)
	for _, name := range slices.Sorted(maps.Keys(left)) {
		errs = append(errs, os.WriteFile(filepath.Join(to, name), left[name].left(random), 0o600))
	}
	// The memory that connections share lies in a file that nobody syncs.
	for name := range d.files {
		if main, isLog := strings.CutSuffix(name, "-wal"); isLog && random != nil && random.IntN(2) == 0 {
			noise := make([]byte, 32<<10)
			for i := range noise {
				noise[i] = byte(random.Uint32())
			}
			errs = append(errs, os.WriteFile(filepath.Join(to, main+"-shm"), noise, 0o600))
		}
	}
	return errors.Join(errs...)
}

// left is what a power cut might leave of a file.
func (f *file) left(random *rand.Rand) []byte {
	out := slices.Clone(f.synced)
	if random == nil {
		return out
	}
	// All, none, and anything between: what was lost is seldom a fair coin for each write.
	chance := random.IntN(5)
	for _, c := range f.pending {
		if random.IntN(4) >= chance {
			continue
		}
		if torn := len(c.data) / sector; torn > 0 && random.IntN(4) == 0 {
			c.data = c.data[:random.IntN(torn+1)*sector]
		}
		out = c.apply(out)
	}
	return out
}

// opened begins to follow a file: what it holds already was synced when it was written.
func (d *Disk) opened(name string) (*file, error) {
	if f := d.files[name]; f != nil {
		return f, nil
	}
	b, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f := &file{synced: b}
	d.files[name] = f
	return f, nil
}

func (f *file) wrote(at int64, data []byte) {
	f.pending = append(f.pending, change{at: at, data: slices.Clone(data)})
}

func (f *file) truncated(size int64) { f.pending = append(f.pending, change{at: size}) }

func (f *file) sync() {
	for _, c := range f.pending {
		f.synced = c.apply(f.synced)
	}
	f.pending = nil
}

// gone notes that a file was removed, for good if the folder was synced after it.
func (d *Disk) gone(name string, synced bool) {
	if f := d.files[name]; f != nil && !synced {
		d.removed[name] = f
	}
	delete(d.files, name)
}
