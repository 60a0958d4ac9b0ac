package powercut

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/scalehist/scalehist/internal/durable"
)

// The VFS is one for the whole process, as SQLite has them, and the one that databases are opened by from then on. It hands
// everything on to the one below; files in the folder of a Disk get methods that inform the Disk first.
var vfs struct {
	once  sync.Once
	err   error
	below uintptr // *sqlite3_vfs

	mu    sync.Mutex
	disks map[string]*Disk // by folder
	open  map[uintptr]*handle
	// methods are ours by those of the file below: there is a table for each way of locking.
	methods map[uintptr]uintptr
}

const vfsName = "scalehist-powercut"

// handle is a file that SQLite has open.
type handle struct {
	disk  *Disk
	file  *file
	below *sqlite3.Tsqlite3_io_methods
	// syncsDir: the first sync is one of the folder too, as of each journal and log that SQLite may make.
	syncsDir bool
}

// journals are the flags of files that xOpen below syncs the folder for (unixOpen in os_unix.c, UNIXFILE_DIRSYNC).
const journals = sqlite3.SQLITE_OPEN_MAIN_JOURNAL | sqlite3.SQLITE_OPEN_SUPER_JOURNAL | sqlite3.SQLITE_OPEN_WAL

// Watch keeps what a power cut would leave of the files that SQLite opens in a folder from now on, until the test ends.
// Connections that are open already are not seen.
func Watch(t testing.TB, dir string) *Disk {
	t.Helper()
	vfs.once.Do(func() { vfs.err = register() })
	if vfs.err != nil {
		t.Fatal(vfs.err)
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	d := &Disk{dir: dir, names: map[string]*file{}}
	if err := d.readFolder(); err != nil {
		t.Fatal(err)
	}
	vfs.mu.Lock()
	defer vfs.mu.Unlock()
	vfs.disks[dir] = d
	t.Cleanup(func() {
		vfs.mu.Lock()
		defer vfs.mu.Unlock()
		delete(vfs.disks, dir)
	})
	return d
}

func register() error {
	tls := libc.NewTLS()
	defer tls.Close()
	if rc := sqlite3.Xsqlite3_initialize(tls); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("initialize SQLite: code %d", rc)
	}
	if vfs.below = sqlite3.Xsqlite3_vfs_find(tls, 0); vfs.below == 0 {
		return errors.New("SQLite has no VFS")
	}
	vfs.disks, vfs.open = map[string]*Disk{}, map[uintptr]*handle{}
	durable.Observe(step)
	vfs.methods = map[uintptr]uintptr{}
	name, err := libc.CString(vfsName)
	if err != nil {
		return err
	}
	p, err := allocate[sqlite3.Tsqlite3_vfs](tls)
	if err != nil {
		return err
	}
	ours := at[sqlite3.Tsqlite3_vfs](p)
	*ours = *at[sqlite3.Tsqlite3_vfs](vfs.below)
	ours.FpNext, ours.FzName = 0, name
	ours.FxOpen, ours.FxDelete = address(xOpen), address(xDelete)
	if rc := sqlite3.Xsqlite3_vfs_register(tls, p, 1); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("register the VFS: code %d", rc)
	}
	return nil
}

// at is what SQLite's pointer points to. Its memory is not Go's, so that it stays where it is.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// allocate makes a T where SQLite may have it: it computes pointers, as Go allows none of its own memory. It stays until the process ends.
func allocate[T any](tls *libc.TLS) (uintptr, error) {
	var t T
	p := libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(t)))
	if p == 0 {
		return 0, errors.New("no memory for SQLite's tables")
	}
	return p, nil
}

// address is a function as SQLite's tables hold it, and function what such an entry is: a translated program has no other.
func address[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

func function[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&p)) }

type (
	openFunc     = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32
	deleteFunc   = func(tls *libc.TLS, vfs, name uintptr, syncDir int32) int32
	closeFunc    = func(tls *libc.TLS, file uintptr) int32
	writeFunc    = func(tls *libc.TLS, file, data uintptr, n int32, at sqlite3.Tsqlite3_int64) int32
	truncateFunc = func(tls *libc.TLS, file uintptr, size sqlite3.Tsqlite3_int64) int32
	syncFunc     = func(tls *libc.TLS, file uintptr, flags int32) int32
)

// watched is the Disk that a file is on, nil for most, and its name there.
func watched(name uintptr) (*Disk, string) {
	if name == 0 {
		return nil, "" // temporary
	}
	path := libc.GoString(name)
	vfs.mu.Lock()
	defer vfs.mu.Unlock()
	return vfs.disks[filepath.Dir(path)], filepath.Base(path)
}

func handleOf(p uintptr) *handle {
	vfs.mu.Lock()
	defer vfs.mu.Unlock()
	return vfs.open[p]
}

func xOpen(tls *libc.TLS, _, name, p uintptr, flags int32, outFlags uintptr) int32 {
	d, base := watched(name)
	if d == nil {
		return function[openFunc](at[sqlite3.Tsqlite3_vfs](vfs.below).FxOpen)(tls, vfs.below, name, p, flags, outFlags)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := d.opened(base)
	if err != nil {
		return sqlite3.SQLITE_CANTOPEN
	}
	rc := function[openFunc](at[sqlite3.Tsqlite3_vfs](vfs.below).FxOpen)(tls, vfs.below, name, p, flags, outFlags)
	if rc != sqlite3.SQLITE_OK {
		return rc
	}
	below := &at[sqlite3.Tsqlite3_file](p).FpMethods
	vfs.mu.Lock()
	defer vfs.mu.Unlock()
	vfs.open[p] = &handle{disk: d, file: f, below: at[sqlite3.Tsqlite3_io_methods](*below),
		syncsDir: flags&sqlite3.SQLITE_OPEN_CREATE != 0 && flags&journals != 0}
	table, known := vfs.methods[*below]
	if !known {
		if table, err = allocate[sqlite3.Tsqlite3_io_methods](tls); err != nil {
			return sqlite3.SQLITE_NOMEM
		}
		ours := at[sqlite3.Tsqlite3_io_methods](table)
		*ours = *at[sqlite3.Tsqlite3_io_methods](*below)
		ours.FxClose, ours.FxWrite = address(xClose), address(xWrite)
		ours.FxTruncate, ours.FxSync = address(xTruncate), address(xSync)
		vfs.methods[*below] = table
	}
	*below = table
	return rc
}

func xDelete(tls *libc.TLS, _, name uintptr, syncDir int32) int32 {
	below := function[deleteFunc](at[sqlite3.Tsqlite3_vfs](vfs.below).FxDelete)
	d, base := watched(name)
	if d == nil {
		return below(tls, vfs.below, name, syncDir)
	}
	return d.change(func() int32 {
		rc := below(tls, vfs.below, name, syncDir)
		if rc == sqlite3.SQLITE_OK {
			d.rename(rename{base: nil})
			if syncDir != 0 {
				d.syncFolder()
			}
		}
		return rc
	})
}

func xClose(tls *libc.TLS, p uintptr) int32 {
	h := handleOf(p)
	vfs.mu.Lock()
	delete(vfs.open, p)
	vfs.mu.Unlock()
	return function[closeFunc](h.below.FxClose)(tls, p)
}

func xWrite(tls *libc.TLS, p, data uintptr, n int32, offset sqlite3.Tsqlite3_int64) int32 {
	h := handleOf(p)
	return h.disk.change(func() int32 {
		rc := function[writeFunc](h.below.FxWrite)(tls, p, data, n, offset)
		if rc == sqlite3.SQLITE_OK {
			h.file.wrote(offset, unsafe.Slice(at[byte](data), n))
		}
		return rc
	})
}

func xTruncate(tls *libc.TLS, p uintptr, size sqlite3.Tsqlite3_int64) int32 {
	h := handleOf(p)
	return h.disk.change(func() int32 {
		rc := function[truncateFunc](h.below.FxTruncate)(tls, p, size)
		if rc == sqlite3.SQLITE_OK {
			h.file.truncated(size)
		}
		return rc
	})
}

func xSync(tls *libc.TLS, p uintptr, flags int32) int32 {
	h := handleOf(p)
	return h.disk.change(func() int32 {
		rc := function[syncFunc](h.below.FxSync)(tls, p, flags)
		if rc == sqlite3.SQLITE_OK {
			h.file.sync()
			if h.syncsDir {
				h.disk.syncFolder()
				h.syncsDir = false
			}
		}
		return rc
	})
}
