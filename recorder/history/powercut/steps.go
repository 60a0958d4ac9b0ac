package powercut

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/scalehist/scalehist/internal/durable"
)

// readFolder takes what a folder holds for synced.
func (d *Disk) readFolder() error {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(d.dir, e.Name()))
		if err != nil {
			return err
		}
		d.names[e.Name()] = &file{synced: b}
	}
	d.syncFolder()
	return nil
}

// step follows what package durable did, past SQLite.
func step(e durable.Event) {
	dir := filepath.Dir(e.Path)
	if e.Op == durable.FolderSynced {
		dir = e.Path
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	vfs.mu.Lock()
	d := vfs.disks[dir]
	vfs.mu.Unlock()
	if d == nil {
		return
	}
	d.change(func() int32 {
		if err := d.step(e); err != nil {
			panic(err) // the test's folder cannot be read: no result of it means anything
		}
		return 0
	})
}

func (d *Disk) step(e durable.Event) error {
	name, to := filepath.Base(e.Path), filepath.Base(e.To)
	switch e.Op {
	case durable.FolderSynced:
		d.syncFolder()
	case durable.Removed:
		d.rename(rename{name: nil})
	case durable.Synced:
		f, err := d.opened(name)
		if err != nil {
			return err
		}
		f.sync()
	case durable.Renamed, durable.Linked:
		f := d.names[name]
		if f == nil { // Go wrote it, and nobody synced it
			b, err := os.ReadFile(filepath.Join(d.dir, to))
			if err != nil {
				return err
			}
			f = &file{}
			f.wrote(0, b)
		}
		r := rename{to: f}
		if e.Op == durable.Renamed {
			r[name] = nil
		}
		d.rename(r)
	default:
		return errors.New("a step of package durable that powercut does not know")
	}
	return nil
}
