package powercut

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// sector is what a disk writes whole or not at all, in bytes.
const sector = 512

// A Disk is a folder whose power can be cut.
type Disk struct {
	dir string

	mu sync.Mutex
	// names are the files of the folder now, synced those when it was synced last, and renames what happened since.
	names, synced map[string]*file
	renames       []rename
	each          func()
}

// rename is one change of a folder, which reaches the disk whole or not at all: files by their new names, nil for names that are free now.
type rename map[string]*file

func (r rename) apply(names map[string]*file) {
	for name, f := range r {
		if f == nil {
			delete(names, name)
		} else {
			names[name] = f
		}
	}
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

// Each lets f look at the folder after each change that SQLite makes, in the midst of whatever SQLite does then, and after
// each step of package durable; nil ends that. f may call Cut and Outcomes, and not open a database of the folder.
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

// rename changes the folder, in a way that need not have reached the disk.
func (d *Disk) rename(r rename) {
	r.apply(d.names)
	d.renames = append(d.renames, r)
}

func (d *Disk) syncFolder() { d.synced, d.renames = maps.Clone(d.names), nil }

// opened begins to follow a file: what it holds already was synced when it was written.
func (d *Disk) opened(name string) (*file, error) {
	if f := d.names[name]; f != nil {
		return f, nil
	}
	b, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f := &file{synced: b}
	d.rename(rename{name: f})
	return f, nil
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

func (f *file) wrote(at int64, data []byte) {
	f.pending = append(f.pending, change{at: at, data: slices.Clone(data)})
}

func (f *file) truncated(size int64) { f.pending = append(f.pending, change{at: size}) }

func (f *file) sync() { f.synced, f.pending = f.written(), nil }

// written is what the file holds for those that read it now.
func (f *file) written() []byte {
	out := slices.Clone(f.synced)
	for _, c := range f.pending {
		out = c.apply(out)
	}
	return out
}
