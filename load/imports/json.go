package imports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// tree reads JSON piece by piece, and knows the line of each piece.
type tree struct {
	*json.Decoder
	file   *file
	breaks []int64 // offsets of line breaks that were read ahead
	passed int     // line breaks before them
	offset int64   // of what was read
}

func (f *file) tree() *tree {
	t := &tree{file: f}
	t.Decoder = json.NewDecoder(t)
	return t
}

// Read implements io.Reader: the file, with its line breaks noted.
func (t *tree) Read(into []byte) (int, error) {
	n, err := t.file.in.Read(into)
	for i, c := range into[:n] {
		if c == '\n' {
			t.breaks = append(t.breaks, t.offset+int64(i))
		}
	}
	t.offset += int64(n)
	return n, err
}

// line is that of the end of the last piece.
func (t *tree) line() int {
	for len(t.breaks) > 0 && t.breaks[0] < t.InputOffset() {
		t.breaks = t.breaks[1:]
		t.passed++
	}
	return t.passed + 1
}

// broken says where the JSON cannot be read.
func (t *tree) broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s:%d: the JSON ends too early", t.file.name, t.line()+len(t.breaks))
	}
	return fmt.Errorf("%s:%d: %w", t.file.name, t.line(), err)
}

// open reads "{" or "[", want; anything else is an error.
func (t *tree) open(want json.Delim, of string) error {
	token, err := t.Token()
	if err != nil {
		return t.broken(err)
	}
	if token != want {
		return fmt.Errorf("%s:%d: %v where %q of %s is due", t.file.name, t.line(), token, want.String(), of)
	}
	return nil
}

// close reads the end of what open opened.
func (t *tree) close() error {
	if _, err := t.Token(); err != nil {
		return t.broken(err)
	}
	return nil
}

// fields gives the keys of an object; take reads each value.
func (t *tree) fields(of string, take func(key string) error) error {
	if err := t.open('{', of); err != nil {
		return err
	}
	for t.More() {
		key, err := t.Token()
		if err != nil {
			return t.broken(err)
		}
		if err := take(key.(string)); err != nil {
			return err
		}
	}
	return t.close()
}

// value reads one into something. What is wrong with its type is a wrong line: ok is false then, and the next can be read.
func (t *tree) value(into any, want string) (ok bool, err error) {
	err = t.Decode(into)
	var typed *json.UnmarshalTypeError
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &typed):
		return false, t.file.wrong(t.line(), "a %s: want %s", typed.Value, want)
	}
	return false, t.broken(err)
}
