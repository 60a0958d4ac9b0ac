package transfer

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// ExportOptions choose the form of an export.
type ExportOptions struct {
	// Gzip compresses the log.
	Gzip bool
	// Progress is called now and then with the lines written.
	Progress func(lines int64)
}

// progressEvery is how many lines an export writes from one call of Progress to the next.
const progressEvery = 1000

// Export writes the object log of the window [from, to] that DB.Lines gives.
func Export(ctx context.Context, db *history.DB, w io.Writer, from, to time.Time, o ExportOptions) error {
	out := objectlog.NewWriter(w, o.Gzip)
	var lines int64
	err := db.Lines(ctx, from, to, func(l objectlog.Line) error {
		if err := out.Write(l); err != nil {
			return err
		}
		if lines++; o.Progress != nil && lines%progressEvery == 0 {
			o.Progress(lines)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("export: history %s: %w", db.Path(), err)
	}
	return nil
}
