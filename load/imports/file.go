package imports

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxLine bounds a line of a file of lines, in bytes.
const maxLine = 1 << 20

// file is one that is read.
type file struct {
	name string
	in   *bufio.Reader
	to   *Load
	line int // the last that was read, from 1
}

// open looks whether a file is compressed.
func (l *Load) open(name string, r io.Reader) (*file, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if head, _ := in.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		zip, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		in = bufio.NewReaderSize(zip, 1<<16)
	}
	if head, _ := in.Peek(3); bytes.Equal(head, []byte("\xef\xbb\xbf")) { // a byte order mark
		_, _ = in.Discard(3)
	}
	return &file{name: name, in: in, to: l}, nil
}

// stem is the file's name without folders and endings: what a series is called that has no name of its own.
func (f *file) stem() string {
	name, _, _ := strings.Cut(filepath.Base(f.name), ".")
	return name
}

// wrong notes what is wrong with a line. Its error is that there are too many.
func (f *file) wrong(line int, format string, args ...any) error {
	l := f.to
	text := fmt.Sprintf("%s:%d: %s", f.name, line, fmt.Sprintf(format, args...))
	if l.Wrong = append(l.Wrong, text); len(l.Wrong) <= l.MostWrong {
		return nil
	}
	if l.MostWrong == 0 {
		return errors.New(text)
	}
	return fmt.Errorf("%s\nmore than %d lines are wrong", strings.Join(l.Wrong, "\n"), l.MostWrong)
}

// rows gives each line that is not empty as its fields.
func (f *file) rows(take func(fields []string) error) error {
	return f.lines(func(line []byte) error {
		fields, ok := fieldsOf(string(line))
		if !ok {
			return f.wrong(f.line, "this is no line of CSV in UTF-8")
		}
		return take(fields)
	})
}

// lines gives each line that is not empty, which is the callee's until it returns.
func (f *file) lines(take func(line []byte) error) error {
	in := bufio.NewScanner(f.in)
	in.Buffer(make([]byte, 1<<16), maxLine)
	for in.Scan() {
		f.line++
		line := bytes.TrimSuffix(in.Bytes(), []byte("\r"))
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := errors.Join(take(line), f.to.read()); err != nil {
			return err
		}
	}
	if err := in.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%s:%d: the line is longer than %d bytes: this is no such file", f.name, f.line+1, maxLine)
	} else if err != nil {
		return fmt.Errorf("%s:%d: %w", f.name, f.line+1, err)
	}
	return nil
}

// fieldsOf parts a line at its commas, with quotes where there are some. A field may not hold a line break.
func fieldsOf(text string) ([]string, bool) {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, false
	}
	if !strings.Contains(text, `"`) {
		return strings.Split(text, ","), true
	}
	r := csv.NewReader(strings.NewReader(text))
	fields, err := r.Read()
	return fields, err == nil
}

// decimal reads a finite number.
func decimal(text string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return v, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
}

// isHeader says of a first row that it has names in place of values: nothing in it is a number.
func isHeader(fields []string) bool {
	for _, text := range fields {
		if _, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
			return false
		}
	}
	return true
}
