package program

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// logReader reads the log of an autoscaler while that goes on writing.
type logReader struct {
	path string
	at   int64
	rest []byte // of a line that is not whole yet
	held []string
}

// loopBegins is what the autoscaler writes at the beginning of each loop, before it asks the provider to refresh (core/static_autoscaler.go).
const loopBegins = "Starting main loop"

// klogLine is a line as klog writes it; the text is behind the place in the source.
var klogLine = regexp.MustCompile(`^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [^\]]+\] ?(.*)$`)

// read takes in what was written since.
func (l *logReader) read() error {
	f, err := os.Open(l.path)
	if err != nil {
		return fmt.Errorf("log of the autoscaler: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, l.at, 1<<40))
	if err != nil {
		return fmt.Errorf("log of the autoscaler: %w", err)
	}
	l.at += int64(len(data))
	l.rest = append(l.rest, data...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 {
			return nil
		}
		if m := klogLine.FindSubmatch(l.rest[:i]); m != nil {
			l.held = append(l.held, string(m[1]))
		}
		l.rest = l.rest[i+1:]
	}
}

// block takes the texts that were written before the loop that has begun last, whose own it holds back; all of them where all is true.
func (l *logReader) block(all bool) ([]string, error) {
	if err := l.read(); err != nil {
		return nil, err
	}
	end := len(l.held)
	if !all {
		for end > 0 && !strings.HasPrefix(l.held[end-1], loopBegins) {
			end--
		}
	}
	out := l.held[:end:end]
	l.held = append([]string(nil), l.held[end:]...)
	return out, nil
}
