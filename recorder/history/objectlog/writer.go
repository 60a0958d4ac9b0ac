package objectlog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scalehist/scalehist"
)

// Writer writes a log.
type Writer struct {
	out *bufio.Writer
	zip *gzip.Writer
	buf bytes.Buffer
}

// NewWriter writes to w, compressed or not. The same lines give the same bytes.
func NewWriter(w io.Writer, compress bool) *Writer {
	out := &Writer{}
	if compress {
		out.zip = gzip.NewWriter(w)
		w = out.zip
	}
	out.out = bufio.NewWriterSize(w, 1<<16)
	return out
}

// outEntry orders the keys for a reader's eye.
type outEntry struct {
	At       string           `json:"at"`
	ObjectAt string           `json:"objectAt,omitempty"`
	Op       scalehist.Op     `json:"op"`
	Object   scalehist.Object `json:"object"`
}

// Write adds a line. The object must know its kind or be of one of Scheme's types.
func (w *Writer) Write(l Line) error {
	if l.Object.GetObjectKind().GroupVersionKind().Kind == "" {
		gvks, _, err := Scheme.ObjectKinds(l.Object)
		if err != nil || len(gvks) == 0 {
			return fmt.Errorf("object log: %T: unknown kind: %w", l.Object, err)
		}
		o := l.Object.DeepCopyObject().(scalehist.Object)
		o.GetObjectKind().SetGroupVersionKind(preferred(gvks))
		l.Object = o
	}
	e := outEntry{At: l.At.UTC().Format(time.RFC3339Nano), Op: l.Op, Object: l.Object}
	if !l.ObjectAt.IsZero() {
		e.ObjectAt = l.ObjectAt.UTC().Format(time.RFC3339Nano)
	}
	w.buf.Reset()
	enc := json.NewEncoder(&w.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return fmt.Errorf("object log: %s %s/%s: %w", l.Object.GetObjectKind().GroupVersionKind().Kind, l.Object.GetNamespace(), l.Object.GetName(), err)
	}
	if _, err := w.out.Write(w.buf.Bytes()); err != nil {
		return fmt.Errorf("object log: %w", err)
	}
	return nil
}

// preferred is the first kind in a fixed order: a type may be registered under several.
func preferred(gvks []schema.GroupVersionKind) schema.GroupVersionKind {
	best := gvks[0]
	for _, g := range gvks[1:] {
		if g.String() < best.String() {
			best = g
		}
	}
	return best
}

// Close flushes; it does not close the writer below.
func (w *Writer) Close() error {
	err := w.out.Flush()
	if w.zip != nil {
		if e := w.zip.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		return fmt.Errorf("object log: %w", err)
	}
	return nil
}

// NewRecording makes a Recording record.
func NewRecording(name string, s RecordingSpec) *Recording {
	r := &Recording{TypeMeta: typeMeta("Recording"), Spec: s}
	r.Name = name
	return r
}

// NewGap makes a Gap record.
func NewGap(name string, s GapSpec) *Gap {
	g := &Gap{TypeMeta: typeMeta("Gap"), Spec: s}
	g.Name = name
	return g
}

// NewUsage makes a Usage record of a pod's container.
func NewUsage(namespace, pod string, s UsageSpec) *Usage {
	u := &Usage{TypeMeta: typeMeta("Usage"), Spec: s}
	u.Namespace, u.Name = namespace, pod
	return u
}

// NewSample makes a Sample record of a series.
func NewSample(series string, s SampleSpec) *Sample {
	out := &Sample{TypeMeta: typeMeta("Sample"), Spec: s}
	out.Name = series
	return out
}
