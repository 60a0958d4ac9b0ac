package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/internal/decode"
)

// RequestError says what is wrong with a request, where, and what to do.
type RequestError struct {
	// Path is "" for the whole of it.
	Path, Problem, Advice string
}

// Error implements error.
func (e *RequestError) Error() string {
	out := excerpt(e.Problem)
	if e.Path != "" {
		out = excerpt(e.Path) + ": " + out
	}
	if e.Advice != "" {
		out += ": " + e.Advice
	}
	return out
}

// maxExcerpt bounds what an error quotes of a request: names, keys and values are whatever was sent.
const maxExcerpt = 300

// excerpt keeps both ends of a text that is too long for an error.
func excerpt(s string) string {
	if len(s) <= maxExcerpt {
		return s
	}
	return strings.ToValidUTF8(s[:maxExcerpt/2], "") + "..." + strings.ToValidUTF8(s[len(s)-maxExcerpt/2:], "")
}

// DecodeOptions change how a request is read.
type DecodeOptions struct {
	// IgnoreUnknown leaves out keys of Kubernetes objects that this version of Kubernetes' types does not have: objects of a
	// newer cluster. Keys of the request itself are always checked.
	IgnoreUnknown bool
	// MaxBody is the largest body that is taken, of which the limits on values and memory follow; 0: what is read is a
	// file of one's own, as large as it is.
	MaxBody int64
}

// DecodeRequest reads a Request. Its errors are *RequestError.
func DecodeRequest(data []byte, o DecodeOptions) (*Request, error) {
	r := &Request{}
	a := newAllowance(o.MaxBody, int64(len(data)))
	if err := a.weigh(data, reflect.TypeFor[Request](), "", false); err != nil {
		return nil, err
	}
	if err := decodeStrict(data, r, "", o); err != nil {
		return nil, err
	}
	switch {
	case r.APIVersion == "":
		return nil, &RequestError{"apiVersion", "it is missing", "write " + strconv.Quote(Version)}
	case r.APIVersion != Version:
		return nil, &RequestError{"apiVersion", fmt.Sprintf("%q is not known", r.APIVersion), "write " + strconv.Quote(Version)}
	}
	var err error
	if r.Objects, err = decodeObjects(r.Objects, a, o); err != nil {
		return nil, err
	}
	return r, r.check()
}

// DecodeSnapshot reads the ClusterSnapshot of a report, as strictly as a request. Its errors are *RequestError.
func DecodeSnapshot(data []byte, o DecodeOptions) (*scalehist.ClusterSnapshot, error) {
	s := &scalehist.ClusterSnapshot{}
	if err := newAllowance(o.MaxBody, int64(len(data))).weigh(data, reflect.TypeFor[scalehist.ClusterSnapshot](), "", false); err != nil {
		return nil, err
	}
	if err := decodeStrict(data, s, "", o); err != nil {
		return nil, err
	}
	return s, checkSnapshot(s, "")
}

// objectID is what is read of an object before its type is known.
type objectID struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Items      []json.RawMessage `json:"items"`
}

// maxName bounds names and namespaces, as an API server does.
const maxName = 253

// decodeObjects reads objects as their kinds say; lists are taken apart. a is what the request may still take: what an
// object becomes is known here only.
func decodeObjects(in []Object, a *allowance, o DecodeOptions) ([]Object, error) {
	out := make([]Object, 0, len(in))
	seen := map[string]string{}
	var read func(raw json.RawMessage, path string, depth int) error
	read = func(raw json.RawMessage, path string, depth int) error {
		var id objectID
		if err := a.weigh(raw, reflect.TypeFor[objectID](), path, true); err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &id); err != nil || bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
			return &RequestError{path, "it is no object with apiVersion and kind", "write a Kubernetes object"}
		}
		if id.Kind == "" || id.APIVersion == "" {
			return &RequestError{path, "apiVersion or kind is missing", "write both, as kubectl -o json does"}
		}
		if id.APIVersion == "v1" && id.Kind == "List" && depth == 0 {
			for i, item := range id.Items {
				if err := read(item, fmt.Sprintf("%s.items[%d]", path, i), depth+1); err != nil {
					return err
				}
			}
			return nil
		}
		k := findKind(id.APIVersion, id.Kind)
		if k == nil {
			return &RequestError{path, fmt.Sprintf("a recommendation reads no %s %s", id.APIVersion, id.Kind), "leave it out; read are " + kindNames()}
		}
		if err := a.weigh(raw, reflect.PointerTo(k.typ), path, true); err != nil {
			return err
		}
		v := reflect.New(k.typ).Interface().(scalehist.Object)
		if err := decodeStrict(raw, v, path, o); err != nil {
			return err
		}
		if v.GetName() == "" {
			return &RequestError{path + ".metadata.name", "it is missing", "every object has a name"}
		}
		if max(len(v.GetName()), len(v.GetNamespace())) > maxName {
			return &RequestError{Path: path + ".metadata", Problem: fmt.Sprintf("the name or namespace has more than %d characters", maxName), Advice: "an API server takes none"}
		}
		k.fillIn(v)
		key := k.apiVersion + " " + k.name + " " + v.GetNamespace() + "/" + v.GetName()
		if before, twice := seen[key]; twice {
			return &RequestError{path, fmt.Sprintf("%s %s is given twice, first as %s", k.name, strings.TrimPrefix(v.GetNamespace()+"/"+v.GetName(), "/"), before), "leave one out"}
		}
		seen[key] = path
		out = append(out, Object{Value: v})
		return nil
	}
	for i := range in {
		if err := read(in[i].raw, fmt.Sprintf("objects[%d]", i), 0); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// decodeStrict reads JSON strictly. path is where data is in the request.
func decodeStrict(data []byte, into any, path string, o DecodeOptions) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return &RequestError{path, "it is empty", "send JSON; " + PathOpenAPI + " describes it"}
	}
	strict, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		return located(data, into, path, err)
	}
	_, object := into.(scalehist.Object)
	if _, ours := into.(*v1alpha1.NodeGroup); ours {
		object = false // a misspelt bound would be 0 without a word
	}
	for _, s := range strict {
		at, problem := strictProblem(s)
		if o.IgnoreUnknown && problem == unknownKey && (object || inObject.MatchString(at)) {
			continue
		}
		advice := "remove it, or look for the right name in " + PathOpenAPI
		switch {
		case problem != unknownKey:
			advice = "leave one out"
		case object || inObject.MatchString(at):
			advice = "remove it, or ask with fieldValidation=Ignore if the object is of a newer Kubernetes"
		}
		return &RequestError{join(path, at), problem, advice}
	}
	return nil
}

// inObject are paths within Kubernetes objects that are not in the list of objects.
var inObject = regexp.MustCompile(`(^|\.)(template|templatePods\[\d+\]|pod|node)\.`)

const (
	unknownKey = "the key is not known"
	twiceKey   = "the key is given twice"
)

// strictProblem takes path and problem out of an error of the decoder.
func strictProblem(err error) (path, problem string) {
	problem = err.Error()
	var field kjson.FieldError
	if errors.As(err, &field) {
		path = field.FieldPath()
	}
	switch {
	case strings.HasPrefix(problem, "unknown field"):
		problem = unknownKey
	case strings.HasPrefix(problem, "duplicate field"):
		problem = twiceKey
	}
	return path, problem
}

// located finds the place of an error that the decoder does not name.
func located(data []byte, into any, path string, err error) error {
	if syntax, offset := kjson.SyntaxErrorOffset(err); syntax {
		line := 1 + bytes.Count(data[:min(int(offset), len(data))], []byte("\n"))
		return &RequestError{path, fmt.Sprintf("it is not JSON, in line %d (byte %d): %s", line, offset, decode.Plain(err)), "correct it; jq . FILE finds such places"}
	}
	if at, why := decode.Blame(data, reflect.TypeOf(into).Elem(), path); why != nil {
		return &RequestError{at, decode.Plain(why), "correct the value"}
	}
	return &RequestError{path, decode.Plain(err), "correct the value"}
}

func join(path, key string) string {
	if path == "" || key == "" {
		return path + key
	}
	return path + "." + key
}
