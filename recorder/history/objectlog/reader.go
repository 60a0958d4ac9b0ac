package objectlog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"container/heap"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/internal/decode"
	"github.com/scalehist/scalehist/internal/plural"
)

// Line is one line of a log.
type Line struct {
	// Number counts from 1; it is 0 in lines to be written.
	Number int64
	// At is when the change was seen (UTC).
	At time.Time
	// ObjectAt is the object's own time of the change, zero if the log does not say.
	ObjectAt time.Time
	Op       scalehist.Op
	// Weight is about what the line takes in memory, in bytes, where it was read.
	Weight int64
	// Object is typed: a Kubernetes object, a v1alpha1.NodeGroup, or a record of this package.
	Object scalehist.Object
}

const (
	// maxLine bounds a line: etcd takes no object larger than 1.5 MiB.
	maxLine = 16 << 20
	// reorderWindow is how many lines late a line may come. A recorder that watches many kinds writes a little out of
	// order; a log that is not sorted at all is refused.
	reorderWindow = 1024
	// maxHeld bounds the lines in that window by their weight: those of a cluster take some 10 MiB.
	maxHeld = 128 << 20
	// maxElements bounds the values of a line: what is a few bytes of text may be a kilobyte in memory. etcd's 1.5 MiB hold fewer.
	maxElements = 200_000
	// elementWeight is what a value is taken to take in memory, in bytes.
	elementWeight = 512
)

// Reader reads a log, sorted by time: lines up to 1024 places late are put where they belong, lines of one instant
// keep their order.
type Reader struct {
	name    string
	in      *bufio.Reader
	zip     *gzip.Reader
	number  int64
	ended   bool
	pending lineHeap
	held    int64     // the weight of pending
	newest  time.Time // of all lines read
	last    time.Time // of all lines given out
	oldest  time.Time // of all lines read, with latest
	latest  time.Time
	moved   int64
	skipped map[string]int64
	bytes   int64
}

// NewReader reads a log from r, gzip or plain by its first bytes. name is the file's, for messages.
func NewReader(r io.Reader, name string) (*Reader, error) {
	out := &Reader{name: name, in: bufio.NewReaderSize(r, 1<<16), skipped: map[string]int64{}}
	magic, err := out.in.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("object log %s: %w", name, err)
	}
	if bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		if out.zip, err = gzip.NewReader(out.in); err != nil {
			return nil, fmt.Errorf("object log %s: %w", name, err)
		}
		out.in = bufio.NewReaderSize(out.zip, 1<<16)
	}
	return out, nil
}

// Lines counts the lines read so far, blank ones too.
func (r *Reader) Lines() int64 { return r.number }

// Bytes counts the uncompressed bytes read so far.
func (r *Reader) Bytes() int64 { return r.bytes }

// Warnings say what was skipped or moved, sorted.
func (r *Reader) Warnings() []string {
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(r.skipped)) {
		out = append(out, fmt.Sprintf("skipped %s of kind %s: not a kind that scaling depends on", plural.Of(r.skipped[kind], "line"), kind))
	}
	if r.moved > 0 {
		out = append(out, fmt.Sprintf("%s out of order by \"at\", sorted", plural.Of(r.moved, "line")))
	}
	return out
}

// Read gives the next line in time order, io.EOF after the last. Any other error names file, line and key, and ends
// the log.
func (r *Reader) Read() (Line, error) {
	for !r.ended && len(r.pending) <= reorderWindow && (r.held <= maxHeld || len(r.pending) == 0) {
		l, err := r.scan()
		if errors.Is(err, io.EOF) {
			r.ended = true
			break
		}
		if err != nil {
			return Line{}, err
		}
		if l.Object == nil {
			continue
		}
		if l.At.Before(r.last) {
			return Line{}, r.errorf(l.Number, `key "at": %s is more than %d lines late: sort the log by "at" (of large lines, more than %d MiB late)`,
				l.At.Format(time.RFC3339Nano), reorderWindow, maxHeld>>20)
		}
		if l.At.Before(r.newest) {
			r.moved++
		} else {
			r.newest = l.At
		}
		heap.Push(&r.pending, l)
		r.held += l.Weight
	}
	if len(r.pending) == 0 {
		return Line{}, io.EOF
	}
	l := heap.Pop(&r.pending).(Line)
	r.held -= l.Weight
	r.last = l.At
	return l, nil
}

// scan reads one line; its Object is nil for a blank line and a kind that is skipped.
func (r *Reader) scan() (Line, error) {
	text, err := r.readLine()
	if err != nil {
		return Line{}, err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return Line{}, nil
	}
	elements := int64(bytes.Count(text, []byte(",")))
	if elements > maxElements {
		return Line{}, r.errorf(r.number, "the line has more than %d values: is this an object log?", maxElements)
	}
	l, err := r.parse(text)
	if err != nil {
		return Line{}, err
	}
	l.Weight = int64(len(text)) + elements*elementWeight
	l.Number = r.number
	if l.Object == nil {
		return l, nil
	}
	if r.oldest.IsZero() {
		r.oldest, r.latest = l.At, l.At
	}
	for _, other := range []time.Time{r.oldest, r.latest} {
		if l.At.Sub(other).Abs() > maxSpan {
			return Line{}, r.errorf(r.number, `key "at": %s is more than ten years from %s, of a line before: correct the year, or cut the log`,
				l.At.Format(time.RFC3339Nano), other.Format(time.RFC3339Nano))
		}
	}
	if l.At.Before(r.oldest) {
		r.oldest = l.At
	}
	if l.At.After(r.latest) {
		r.latest = l.At
	}
	return l, nil
}

func (r *Reader) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		r.bytes += int64(len(part))
		if len(line)+len(part) > maxLine {
			return nil, r.errorf(r.number+1, "the line is longer than %d bytes: is this an object log?", maxLine)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			line = append(line, part...)
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, r.readFailed(err)
		}
		line = append(line, part...)
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil, io.EOF
		}
		r.number++
		return line, nil
	}
}

func (r *Reader) readFailed(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) && r.zip != nil {
		return r.errorf(r.number+1, "the gzip file is cut short: copy it again from its source")
	}
	return fmt.Errorf("%s:%d: %w", r.name, r.number+1, err)
}

// entry is a line as JSON.
type entry struct {
	At       *string         `json:"at"`
	ObjectAt *string         `json:"objectAt,omitempty"`
	Op       *string         `json:"op"`
	Object   json.RawMessage `json:"object"`
}

// identity is what states the kind of an object.
type identity struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

func (r *Reader) parse(text []byte) (Line, error) {
	if text = bytes.TrimSpace(text); text[0] == '[' {
		return Line{}, r.errorf(r.number, "a JSON array: an object log has one JSON object in each line (jq -c '.[]' makes lines of an array)")
	}
	if problem := textProblem(text); problem != "" {
		return Line{}, r.errorf(r.number, "%s", problem)
	}
	var e entry
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		return Line{}, r.errorf(r.number, "%s", jsonProblem(err))
	}
	if dec.More() {
		return Line{}, r.errorf(r.number, "more than one JSON value in the line")
	}
	if twice := twiceIn(text, &entry{}); twice != "" {
		return Line{}, r.errorf(r.number, "%s", twice)
	}
	var l Line
	var err error
	if l.At, err = r.timeOf("at", e.At); err != nil {
		return Line{}, err
	}
	if e.ObjectAt != nil {
		if l.ObjectAt, err = r.timeOf("objectAt", e.ObjectAt); err != nil {
			return Line{}, err
		}
	}
	if e.Op == nil {
		return Line{}, r.errorf(r.number, `key "op" is missing`)
	}
	switch l.Op = scalehist.Op(*e.Op); l.Op {
	case scalehist.OpAdd, scalehist.OpUpdate, scalehist.OpDelete:
	default:
		return Line{}, r.errorf(r.number, `key "op": %q is none of add, update, delete`, *e.Op)
	}
	if len(e.Object) == 0 || string(e.Object) == "null" {
		return Line{}, r.errorf(r.number, `key "object" is missing`)
	}
	if l.Object, err = r.object(e.Object); err != nil || l.Object == nil {
		return l, err
	}
	if problem := objectProblem(l.At, l.Object); problem != "" && l.Op != scalehist.OpDelete { // a deletion has nothing to say
		return Line{}, r.errorf(r.number, "object (%s %s): %s", l.Object.GetObjectKind().GroupVersionKind().Kind, l.Object.GetName(), problem)
	}
	return l, nil
}

func (r *Reader) timeOf(key string, v *string) (time.Time, error) {
	if v == nil {
		return time.Time{}, r.errorf(r.number, "key %q is missing", key)
	}
	t, err := time.Parse(time.RFC3339Nano, *v)
	if err != nil {
		return time.Time{}, r.errorf(r.number, "key %q: %q is no RFC 3339 time such as 2024-05-28T05:49:12Z", key, *v)
	}
	if y := t.UTC().Year(); y < 1970 || y > 2261 {
		return time.Time{}, r.errorf(r.number, "key %q: %q is outside of the years 1970 to 2261", key, *v)
	}
	return t.UTC(), nil
}

func (r *Reader) object(raw json.RawMessage) (scalehist.Object, error) {
	var id identity
	if err := json.Unmarshal(raw, &id); err != nil {
		return nil, r.errorf(r.number, "object: %s", jsonProblem(err))
	}
	if id.APIVersion == "" || id.Kind == "" {
		return nil, r.errorf(r.number, "object: apiVersion and kind must be given")
	}
	gv, err := schema.ParseGroupVersion(id.APIVersion)
	if err != nil {
		return nil, r.errorf(r.number, "object.apiVersion: %s", err)
	}
	gvk := gv.WithKind(id.Kind)
	if IsCustom(gvk.GroupKind()) {
		return r.custom(raw, id.Kind)
	}
	if !Scheme.Recognizes(gvk) {
		r.skipped[id.APIVersion+"/"+id.Kind]++
		return nil, nil
	}
	made, err := Scheme.New(gvk)
	if err != nil {
		return nil, r.errorf(r.number, "object: %s", err)
	}
	o, ok := made.(scalehist.Object)
	if !ok { // lists, options
		r.skipped[id.APIVersion+"/"+id.Kind]++
		return nil, nil
	}
	if err := json.Unmarshal(raw, o); err != nil {
		fails := func(raw json.RawMessage) bool {
			made, newErr := Scheme.New(gvk)
			return newErr == nil && json.Unmarshal(raw, made) != nil
		}
		if key := offendingKey(raw, fails); key != "" {
			return nil, r.errorf(r.number, "object (%s): key %q: %s", id.Kind, key, valueProblem(err))
		}
		return nil, r.errorf(r.number, "object (%s): %s", id.Kind, jsonProblem(err))
	}
	if o.GetName() == "" {
		return nil, r.errorf(r.number, "object (%s): metadata.name is missing", id.Kind)
	}
	if again, err := Scheme.New(gvk); err == nil {
		if twice := twiceIn(raw, again); twice != "" {
			return nil, r.errorf(r.number, "object (%s %s): %s", id.Kind, o.GetName(), twice)
		}
	}
	if g, isGroup := o.(*v1alpha1.NodeGroup); isGroup {
		if problem := groupProblem(raw, g); problem != "" {
			return nil, r.errorf(r.number, "object (%s %s): %s", id.Kind, g.Name, problem)
		}
	}
	return o, nil
}

// Error is a log that cannot be read, at a line.
type Error struct {
	Name    string
	Line    int64
	Problem string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.Name, e.Line, e.Problem) }

func (r *Reader) errorf(line int64, format string, args ...any) error {
	return &Error{Name: r.name, Line: line, Problem: fmt.Sprintf(format, args...)}
}

// jsonProblem says what encoding/json means, with the offending key where it knows it.
func jsonProblem(err error) string {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field == "":
		return fmt.Sprintf("%s where an object is due", wrong.Value)
	case errors.As(err, &wrong):
		return fmt.Sprintf("key %q: %s", wrong.Field, decode.Plain(err))
	case errors.As(err, &syntax):
		return fmt.Sprintf("not JSON: %s (byte %d)", syntax, syntax.Offset)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the line ends in the middle of a JSON value"
	}
	return decode.Plain(err)
}

// lineHeap sorts by time, then by line.
type lineHeap []Line

func (h lineHeap) Len() int { return len(h) }
func (h lineHeap) Less(i, j int) bool {
	if c := h[i].At.Compare(h[j].At); c != 0 {
		return c < 0
	}
	return h[i].Number < h[j].Number
}
func (h lineHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *lineHeap) Push(x any) { *h = append(*h, x.(Line)) }

// Pop implements heap.Interface.
func (h *lineHeap) Pop() any {
	old := *h
	l := old[len(old)-1]
	old[len(old)-1] = Line{}
	*h = old[:len(old)-1]
	return l
}
