package trace

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/scalehist/scalehist/recorder/history"
)

// looked is a context that ends when it is looked at for the last time that is left.
type looked struct {
	context.Context
	left atomic.Int64
}

// Err implements context.Context.
func (c *looked) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestReadingEndsWithItsContext: however long a history is, a signal is seen between one change and the next, and between the passes over all.
func TestReadingEndsWithItsContext(t *testing.T) {
	db, err := history.Open(t.Context(), "../../fixtures/full-day/recording.db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	from, to := db.Span()
	read := func(looks int64) (in *Input, left int64, err error) {
		rec, err := readWindow(t.Context(), db, Window{From: from, To: to})
		if err != nil {
			t.Fatal(err)
		}
		ctx := &looked{Context: t.Context()}
		ctx.left.Store(looks)
		in = &Input{Start: rec.start, End: rec.end}
		err = rec.read(ctx, in, rec)
		return in, ctx.left.Load(), err
	}
	const plenty = 1 << 20
	in, left, err := read(plenty)
	if err != nil {
		t.Fatal(err)
	}
	looks := plenty - left
	if looks < int64(len(in.Changes)) {
		t.Errorf("the context was looked at %d times while %d changes were read", looks, len(in.Changes))
	}
	for tenth := range int64(10) {
		if _, _, err := read(looks * tenth / 10); !errors.Is(err, context.Canceled) {
			t.Errorf("the context ended after %d tenths: %v, want that it has", tenth, err)
		}
	}
}
