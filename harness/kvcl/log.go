package kvcl

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

const (
	tailLines = 10
	// tailBytes bounds a tail; stack traces have long lines.
	tailBytes = 16 << 10
)

// tail keeps the last lines a process wrote and passes everything on to a file, if there is one.
type tail struct {
	mu   sync.Mutex
	buf  []byte
	file io.Writer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*tailBytes {
		t.buf = append([]byte(nil), t.buf[len(t.buf)-tailBytes:]...)
	}
	if t.file != nil {
		return t.file.Write(p)
	}
	return len(p), nil
}

func tailText(process string, t *tail) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.buf))
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return fmt.Sprintf("\nlast lines of %s:\n  %s", process, strings.Join(lines, "\n  "))
}
