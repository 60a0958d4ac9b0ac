package calls

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history"
)

// Call is a change that was asked for, or a question whose answer was new.
type Call struct {
	// At is how long after the recording began.
	At       time.Duration   `json:"atNanos"`
	Method   string          `json:"method"`
	Request  json.RawMessage `json:"request,omitempty"`
	Response json.RawMessage `json:"response,omitempty"`
	// Code is a gRPC status code by name, empty for OK.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// Changes says whether the call asks for a change.
func (c Call) Changes() bool { return changes(c.Method) }

// Offset is At in words, such as +1m0.25s.
func (c Call) Offset() string { return "+" + c.At.Round(time.Millisecond).String() }

// Read returns the calls of a history in their order. One without calls is an error.
func Read(ctx context.Context, db *history.DB) ([]Call, error) {
	start, _ := db.Span()
	var out []Call
	add := func(at time.Time, o scalehist.Object) {
		if c, ok := o.(*v1alpha1.ProviderCall); ok {
			out = append(out, Call{At: at.Sub(start), Method: c.Spec.Method, Request: json.RawMessage(c.Spec.Request), Response: json.RawMessage(c.Spec.Response),
				Code: c.Spec.Code, Message: c.Spec.Message})
		}
	}
	objects, err := db.ObjectsAt(ctx, start, Kind)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		add(start, o)
	}
	for c, err := range db.ChangesOf(ctx, start, time.Time{}, Kind) {
		if err != nil {
			return nil, err
		}
		if c.Op != scalehist.OpDelete {
			add(c.At, c.Object)
		}
	}
	for i, c := range out {
		for _, m := range []*json.RawMessage{&out[i].Request, &out[i].Response} {
			if len(*m) > 0 && !json.Valid(*m) { // of a redacted history
				*m, _ = json.Marshal(string(*m))
			}
		}
		if len(c.Response) == 0 {
			out[i].Response = nil
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no calls of a provider are recorded in it: record some with 'scalehist provider record'")
	}
	return out, nil
}

// Changes are the calls that ask for a change.
func Changes(calls []Call) []Call { return selected(calls, Call.Changes) }

// longText is how many characters of a text are shown: a template is hundreds of bytes in base64.
const longText = 48

// Short is a message in a line, without braces, long texts by their length.
func Short(raw json.RawMessage) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if len(raw) == 0 || d.Decode(&v) != nil {
		return ""
	}
	text := say(v)
	if m, ok := v.(map[string]any); ok && len(m) > 0 {
		text = text[1 : len(text)-1]
	}
	return text
}

func say(v any) string {
	var parts []string
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			parts = append(parts, k+"="+say(e))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, " ") + "}"
	case []any:
		for _, e := range v {
			parts = append(parts, say(e))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case string:
		if len(v) > longText {
			return fmt.Sprintf("(%d characters)", len(v))
		}
		return v
	}
	return fmt.Sprint(v)
}
