package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/scalehist/scalehist/recorder/history"
)

// Cut copies the window [from, to] of src into a new history at dst: the objects at from, and what happened until to.
func Cut(ctx context.Context, src, dst string, from, to time.Time) (err error) {
	db, err := history.Open(ctx, src)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	meta, err := db.Meta(ctx)
	if err != nil {
		return err
	}
	r, w := io.Pipe()
	exported := make(chan error, 1)
	go func() {
		err := Export(ctx, db, w, from, to, ExportOptions{})
		exported <- errors.Join(err, w.CloseWithError(err))
	}()
	_, err = Import(ctx, r, dst, ImportOptions{Name: src, Cluster: meta["cluster"]})
	stop := r.CloseWithError(errStopped)
	if e := <-exported; e != nil && !errors.Is(e, errStopped) && err == nil {
		err = e
	}
	if err = errors.Join(err, stop); err != nil {
		return fmt.Errorf("cut %s: %w", src, err)
	}
	return nil
}

var errStopped = errors.New("import ended")
