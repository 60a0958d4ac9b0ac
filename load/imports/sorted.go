package imports

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
)

// record is a value of a container or a series at an instant.
type record struct {
	At    int64 // nanoseconds since 1970
	ID    uint32
	What  resource
	Rank  uint8  // of two that measured the same, the lower one counts
	Value uint64 // millicores or bytes; of a series the bits of a float64
}

func (r record) compare(o record) int {
	return cmp.Or(cmp.Compare(r.At, o.At), cmp.Compare(r.ID, o.ID), cmp.Compare(r.What, o.What), cmp.Compare(r.Rank, o.Rank), cmp.Compare(r.Value, o.Value))
}

// size of a record on disk.
const size = 8 + 4 + 1 + 1 + 8

func (r record) append(to []byte) []byte {
	to = binary.LittleEndian.AppendUint64(to, uint64(r.At))
	to = binary.LittleEndian.AppendUint32(to, r.ID)
	return binary.LittleEndian.AppendUint64(append(to, byte(r.What), r.Rank), r.Value)
}

func recordOf(b *[size]byte) record {
	return record{At: int64(binary.LittleEndian.Uint64(b[:])), ID: binary.LittleEndian.Uint32(b[8:]), What: resource(b[12]), Rank: b[13], Value: binary.LittleEndian.Uint64(b[14:])}
}

// sorter holds records, and gives them in order. What is more than it may keep in memory is on disk, in runs that are in order.
type sorter struct {
	folder string // of runs
	most   int    // in memory
	some   []record
	runs   []*os.File
}

func (s *sorter) add(r record) error {
	if s.some = append(s.some, r); len(s.some) < s.most {
		return nil
	}
	return s.spill()
}

// spill writes what is in memory as a run.
func (s *sorter) spill() error {
	slices.SortFunc(s.some, record.compare)
	f, err := os.CreateTemp(s.folder, ".values.*.importing")
	if err != nil {
		return fmt.Errorf("folder for values: %w", err)
	}
	s.runs = append(s.runs, f)
	w := bufio.NewWriterSize(f, 1<<18)
	var buf [size]byte
	for _, r := range s.some {
		if _, err := w.Write(r.append(buf[:0])); err != nil {
			return fmt.Errorf("write values: %w", err)
		}
	}
	s.some = s.some[:0]
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write values: %w", err)
	}
	return nil
}

// close removes the runs.
func (s *sorter) close() error {
	var err error
	for _, f := range s.runs {
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	s.runs = nil
	return err
}

// cursor is at a record of a run.
type cursor struct {
	r    record
	next func() (record, error)
}

// cursors are a heap of them by their records.
type cursors []*cursor

func (c cursors) Len() int           { return len(c) }
func (c cursors) Less(i, j int) bool { return c[i].r.compare(c[j].r) < 0 }
func (c cursors) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }

// Push implements heap.Interface.
func (c *cursors) Push(x any) { *c = append(*c, x.(*cursor)) }

// Pop implements heap.Interface.
func (c *cursors) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// all gives the records in order.
func (s *sorter) all() iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		var h cursors
		add := func(next func() (record, error)) error {
			r, err := next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			h = append(h, &cursor{r, next})
			return err
		}
		slices.SortFunc(s.some, record.compare)
		rest := s.some
		err := add(func() (r record, err error) {
			if len(rest) == 0 {
				return r, io.EOF
			}
			r, rest = rest[0], rest[1:]
			return r, nil
		})
		for _, f := range s.runs {
			_, seek := f.Seek(0, io.SeekStart)
			in := bufio.NewReaderSize(f, 1<<18)
			var buf [size]byte
			err = errors.Join(err, seek, add(func() (record, error) {
				_, err := io.ReadFull(in, buf[:])
				return recordOf(&buf), err
			}))
		}
		if err != nil {
			yield(record{}, fmt.Errorf("read values: %w", err))
			return
		}
		for heap.Init(&h); len(h) > 0; {
			if !yield(h[0].r, nil) {
				return
			}
			switch h[0].r, err = h[0].next(); {
			case errors.Is(err, io.EOF):
				heap.Pop(&h)
			case err != nil:
				yield(record{}, fmt.Errorf("read values: %w", err))
				return
			default:
				heap.Fix(&h, 0)
			}
		}
	}
}
