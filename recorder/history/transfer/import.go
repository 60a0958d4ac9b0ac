package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// ImportOptions say how a log becomes a history.
type ImportOptions struct {
	// Name is the log's, for messages and the history's meta.
	Name string
	// Cluster names the cluster the log is of, if known.
	Cluster string
	// Force replaces an existing file.
	Force bool
	// Progress is called now and then with the lines read.
	Progress func(lines int64)
}

// ImportReport says what an import did.
type ImportReport struct {
	Lines    int64               `json:"lines"`
	From     time.Time           `json:"from"`
	To       time.Time           `json:"to"`
	Counts   history.WriteCounts `json:"counts"`
	Warnings []string            `json:"warnings,omitempty"`
}

// importBatch is how many lines go into one transaction.
const importBatch = 2000

// importWeight bounds a batch by what it takes in memory, in bytes.
const importWeight = 32 << 20

// Import reads an object log into a new history at dst. The file appears complete or not at all: an error or a
// cancelled context leaves nothing. An existing dst is a dbfile.ExistsError, unless forced.
func Import(ctx context.Context, r io.Reader, dst string, o ImportOptions) (report ImportReport, err error) {
	if dst == "" {
		return report, errors.New("import: no file to make: give its name")
	}
	err = history.Make(ctx, dst, history.Options{Cluster: o.Cluster, Source: history.ImportSource + filepath.Base(o.Name)}, o.Force, func(w *history.Writer) error {
		in, err := objectlog.NewReader(r, o.Name)
		if err != nil {
			return err
		}
		i := importer{name: o.Name, in: in, w: w, progress: o.Progress}
		if err := i.run(ctx); err != nil {
			return err
		}
		report = ImportReport{Lines: in.Lines(), From: i.first, To: i.last, Counts: w.Counts(), Warnings: i.warnings()}
		return nil
	})
	if err != nil {
		return ImportReport{}, err
	}
	return report, nil
}

// ImportLines is Import of the log that lines writes, one by one. An error of lines ends the import; write fails where the import has.
func ImportLines(ctx context.Context, dst string, o ImportOptions, lines func(write func(objectlog.Line) error) error) (ImportReport, error) {
	in, out := io.Pipe()
	written := make(chan error, 1)
	go func() {
		w := objectlog.NewWriter(out, false)
		err := errors.Join(lines(w.Write), w.Close())
		written <- errors.Join(err, out.CloseWithError(err))
	}()
	report, err := Import(ctx, in, dst, o)
	stop := in.CloseWithError(errStopped)
	if e := <-written; e != nil && !errors.Is(e, errStopped) && err == nil {
		err = e
	}
	return report, errors.Join(err, stop)
}

var errStopped = errors.New("import ended")

type importer struct {
	name        string
	in          *objectlog.Reader
	w           *history.Writer
	progress    func(int64)
	entries     []history.Entry
	usages      []history.Usage
	samples     []history.Sample
	recordings  []history.Recording
	gaps        []history.Gap
	weight      int64 // of what waits to be written
	scripted    bool  // the log says that a script played the cluster
	first, last time.Time
}

func (i *importer) run(ctx context.Context) error {
	for {
		l, err := i.in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if i.first.IsZero() {
			i.first = l.At
		}
		i.last = l.At
		i.take(l)
		i.weight += l.Weight
		if len(i.entries)+len(i.usages)+len(i.samples) >= importBatch || i.weight >= importWeight {
			if err := i.flush(ctx); err != nil {
				return err
			}
		}
	}
	if err := i.flush(ctx); err != nil {
		return err
	}
	// A log that says that somebody watched is one of a cluster where nothing was: an export of a quiet window.
	if c := i.w.Counts(); c.Added+c.Events == 0 && len(i.recordings) == 0 {
		return i.nothing()
	}
	if len(i.recordings) == 0 { // the log does not say: it was watched from its first line to its last
		i.recordings = []history.Recording{{From: i.first, To: i.last}}
	}
	if i.scripted {
		if err := i.w.SetMeta(ctx, history.OriginKey, string(scalehist.OriginScripted)); err != nil {
			return err
		}
	}
	for _, r := range i.recordings {
		if err := i.w.AddRecording(ctx, r); err != nil {
			return fmt.Errorf("import: recording: %w", err)
		}
	}
	for _, g := range i.gaps {
		if err := i.w.Gap(ctx, g); err != nil {
			return fmt.Errorf("import: %w", err)
		}
	}
	return nil
}

// nothing is the error of a log that makes an empty history, with what became of its lines.
func (i *importer) nothing() error {
	why := ""
	if w := i.warnings(); len(w) > 0 {
		why = " (" + strings.Join(w, "; ") + ")"
	}
	return fmt.Errorf("import: %s has no objects that a history is made of in its %d lines%s: give a log with nodes, pods and node groups",
		i.name, i.in.Lines(), why)
}

func (i *importer) take(l objectlog.Line) {
	switch o := l.Object.(type) {
	case *objectlog.Recording:
		r := history.Recording{From: l.At, To: o.Spec.To.UTC(), Kinds: o.Spec.Kinds}
		if o.Spec.To.IsZero() {
			r.To = time.Time{}
		}
		i.recordings = append(i.recordings, r)
		i.scripted = i.scripted || o.Spec.Origin == scalehist.OriginScripted
	case *objectlog.Gap:
		i.gaps = append(i.gaps, history.Gap{From: l.At, To: o.Spec.To.UTC(), Kinds: o.Spec.Kinds, Why: o.Spec.Why})
	case *objectlog.Usage:
		i.usages = append(i.usages, history.Usage{At: l.At, Pod: types.NamespacedName{Namespace: o.Namespace, Name: o.Name},
			Container: o.Spec.Container, CPUMilli: o.Spec.CPUMilli, MemoryBytes: o.Spec.MemoryBytes})
	case *objectlog.Sample:
		i.samples = append(i.samples, history.Sample{Series: o.Name, Labels: o.Spec.Labels, At: l.At, Value: float64(o.Spec.Value)})
	default:
		i.entries = append(i.entries, history.Entry{ObservedAt: l.At, Change: scalehist.Change{At: l.ObjectAt, Op: l.Op, Object: l.Object}})
	}
}

func (i *importer) flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	if err := i.w.WriteBatch(ctx, history.Batch{Entries: i.entries, Usages: i.usages, Samples: i.samples}); err != nil {
		return err
	}
	clear(i.entries) // their objects can go
	i.entries, i.usages, i.samples, i.weight = i.entries[:0], i.usages[:0], i.samples[:0], 0
	if i.progress != nil {
		i.progress(i.in.Lines())
	}
	return nil
}

func (i *importer) warnings() []string {
	out := i.in.Warnings()
	c := i.w.Counts()
	for _, w := range []struct {
		n          int64
		noun, text string
	}{
		{c.Replaced, "object", "replaced under the same name without a delete: the deletion was not seen"},
		{c.UnknownUpdates, "update", "of unknown objects, taken as adds"},
		{c.UnknownDeletes, "delete", "of unknown objects, ignored"},
	} {
		if w.n > 0 {
			out = append(out, plural.Of(w.n, w.noun)+" "+w.text)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(c.Left)) {
		out = append(out, fmt.Sprintf("left out %s of kind %s: not part of a history", plural.Of(c.Left[kind], "change"), kind))
	}
	return out
}
