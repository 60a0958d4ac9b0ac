package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	kjson "sigs.k8s.io/json"
)

// JSON reads one JSON value into what into points to. Keys that it does not know are ignored. The error is an *Error.
func JSON(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return place(data, into, err)
	}
	return nil
}

// StrictJSON is JSON that refuses keys that it does not know.
func StrictJSON(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return place(data, into, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return &Error{lineOf(data, d.InputOffset()), "", "there is more than one value"}
	}
	return nil
}

// place finds where the value is that a decoder complains of.
func place(data []byte, into any, err error) error {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return &Error{lineOf(data, syntax.Offset), "", fmt.Sprintf("not JSON: %s (byte %d)", syntax, syntax.Offset)}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{lineOf(data, int64(len(data))), "", "not JSON: it ends in the middle of a value"}
	case errors.As(err, &wrong):
		return &Error{lineOf(data, wrong.Offset), wrong.Field, Plain(err)}
	}
	t := reflect.TypeOf(into).Elem()
	// What a type that reads itself says, and an unknown key, come without a place.
	if at, why := Blame(data, t, ""); why != nil {
		return &Error{0, at, Plain(why)}
	}
	if strict, decodeErr := kjson.UnmarshalStrict(data, reflect.New(t).Interface(), kjson.DisallowUnknownFields); decodeErr == nil && len(strict) > 0 {
		return &Error{0, "", strict[0].Error()}
	}
	return &Error{0, "", Plain(err)}
}

// lineOf is the line of an offset, 0 where there is one line only.
func lineOf(data []byte, offset int64) int {
	if bytes.Count(bytes.TrimSpace(data), []byte("\n")) == 0 {
		return 0
	}
	return 1 + bytes.Count(data[:min(max(int(offset)-1, 0), len(data))], []byte("\n"))
}
