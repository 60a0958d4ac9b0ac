package powercut

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Cut writes what a power cut at this moment might leave of the folder's databases and their logs into the folder to. All
// that was synced is there. What was changed since is lost, but for parts that random picks: names that came or went, and of
// files whole writes, or their first sectors; without random nothing.
func (d *Disk) Cut(to string, random *rand.Rand) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	left := maps.Clone(d.synced)
	for _, r := range d.renames {
		if random != nil && random.IntN(2) == 0 {
			r.apply(left)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		errs = append(errs, os.WriteFile(filepath.Join(to, name), left[name].left(random), 0o600))
	}
	// The memory that connections share lies in a file that nobody syncs.
	for name := range d.names {
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

// mostRenames is of how many changes of a folder all combinations are outcomes.
const mostRenames = 6

// Outcomes are the files whose names begin with prefix that a power cut at this moment might leave, by their names: with each combination of
// the names that came or went, or of the last ones if they are many, and of what was written since the last sync nothing, everything, and
// parts that random picks.
func (d *Disk) Outcomes(prefix string, random *rand.Rand) []map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	others := func(name string, _ *file) bool { return !strings.HasPrefix(name, prefix) }
	base := maps.Clone(d.synced)
	maps.DeleteFunc(base, others)
	var renames []rename
	for _, r := range d.renames {
		r = maps.Clone(r)
		if maps.DeleteFunc(r, others); len(r) > 0 {
			renames = append(renames, r)
		}
	}
	for ; len(renames) > mostRenames; renames = renames[1:] {
		renames[0].apply(base)
	}
	var out []map[string][]byte
	for chosen := range 1 << len(renames) {
		names := maps.Clone(base)
		for i, r := range renames {
			if chosen&(1<<i) != 0 {
				r.apply(names)
			}
		}
		for _, left := range []func(*file) []byte{
			func(f *file) []byte { return f.synced },
			(*file).written,
			func(f *file) []byte { return f.left(random) },
		} {
			o := map[string][]byte{}
			for _, name := range slices.Sorted(maps.Keys(names)) {
				o[name] = left(names[name])
			}
			out = append(out, o)
		}
	}
	return out
}
