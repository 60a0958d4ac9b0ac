package dbfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// header is the part of SQLite's file header that says what a file is (https://www.sqlite.org/fileformat.html).
type header struct {
	size, pageSize, pages int64
	wal                   bool // journal mode: the log may hold newer pages
	hasLog                bool // a non-empty log lies beside it
}

// Recognize judges a file by its header, without SQLite, whose words for it ("file is not a database") do not help: an error says why it
// cannot be a history. file is the RealPath of path. Errors: MissingError, EmptyError, ForeignError, CorruptError.
func Recognize(path, file string) error {
	_, err := readHeader(path, file)
	return err
}

// readHeader is Recognize, and what the header says.
func readHeader(path, file string) (header, error) {
	var h header
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return h, &MissingError{Path: path}
	}
	if err != nil {
		return h, fmt.Errorf("history: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return h, fmt.Errorf("history: %w", err)
	}
	if info.IsDir() {
		return h, &ForeignError{Path: path, What: "a directory"}
	}
	h.size = info.Size()
	if log, err := os.Stat(file + "-wal"); err == nil {
		h.hasLog = log.Size() > 0
	}
	if h.size == 0 && !h.hasLog {
		return h, &EmptyError{Path: path}
	}
	b := make([]byte, 100)
	n, err := io.ReadFull(f, b)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return h, fmt.Errorf("history %s: %w", path, err)
	}
	const magic = "SQLite format 3\x00"
	if !strings.HasPrefix(string(b[:n]), magic) {
		return h, &ForeignError{Path: path, What: describe(b[:n])}
	}
	if n < len(b) {
		return h, &CorruptError{Path: path, Detail: fmt.Sprintf("%d bytes are less than a header", n)}
	}
	h.pageSize = int64(binary.BigEndian.Uint16(b[16:]))
	if h.pageSize == 1 {
		h.pageSize = 65536
	}
	h.wal = b[19] == 2
	h.pages = int64(binary.BigEndian.Uint32(b[28:]))
	// The page count is valid when both change counters agree. With a log the file may lag behind.
	if binary.BigEndian.Uint32(b[24:]) == binary.BigEndian.Uint32(b[92:]) && !h.hasLog && h.size < h.pages*h.pageSize {
		return h, &CorruptError{Path: path, Detail: fmt.Sprintf("%d of %d bytes", h.size, h.pages*h.pageSize)}
	}
	return h, nil
}

// describe names what people give instead of a history.
func describe(b []byte) string {
	switch {
	case len(b) >= 2 && b[0] == 0x1f && b[1] == 0x8b:
		return "a gzip file (an object log is read with 'scalehist import')"
	case strings.HasPrefix(strings.TrimSpace(string(b)), "{"):
		return "JSON (an object log is read with 'scalehist import')"
	}
	return "a file of another format"
}
