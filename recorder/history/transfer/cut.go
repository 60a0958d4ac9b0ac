package transfer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
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
	_, err = ImportLines(ctx, dst, ImportOptions{Name: src, Cluster: meta["cluster"]}, func(write func(objectlog.Line) error) error {
		return db.Lines(ctx, from, to, write)
	})
	if err != nil {
		return fmt.Errorf("cut %s: %w", src, err)
	}
	return nil
}
