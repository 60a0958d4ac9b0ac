package plaintext

import (
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// Style is what a Writer writes things that are not printable as.
type Style int

// The styles of a Writer.
const (
	// Text is for people: what is not printable is escaped, commands of CI systems are broken with a blank.
	Text Style = iota
	// Commands is Text in which lines that begin with "::" pass: annotations, whose values are escaped by who makes them.
	Commands
	// JSON writes what is not printable as \uXXXX, which says the same to a reader of JSON. What is passed must be JSON.
	JSON
)

// Writer lets only printable text, newlines, tabs and the given colours through to another writer. It may be used by several goroutines;
// what one call writes stays together.
type Writer struct {
	mu     sync.Mutex
	w      io.Writer
	colour bool
	state  state
}

// state is where in a line a Writer is.
type state struct {
	text  bool // something but blanks was written since the line began
	colon bool // the line is blanks and one colon
	hash  int  // 1, 2: so many # in a row; 3: ## and letters
	rest  []byte
}

// New is a Writer of Text on w; with colour the colours of Colours pass.
func New(w io.Writer, colour bool) *Writer { return &Writer{w: w, colour: colour} }

// Unwrap is the writer underneath.
func (w *Writer) Unwrap() io.Writer { return w.w }

// Write implements io.Writer. A character that is not complete is kept for the next call, or Flush.
func (w *Writer) Write(p []byte) (int, error) { return w.write(p, Text) }

// As is w for what is of another style.
func (w *Writer) As(s Style) io.Writer { return styled{w, s} }

type styled struct {
	w *Writer
	s Style
}

// Write implements io.Writer.
func (s styled) Write(p []byte) (int, error) { return s.w.write(p, s.s) }

// Flush writes what is left of a character that was never completed.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := w.state.rest
	w.state.rest = nil
	if len(rest) == 0 {
		return nil
	}
	_, err := io.WriteString(w.w, Escape(string(rest)))
	return err
}

func (w *Writer) write(p []byte, style Style) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := string(append(w.state.rest, p...))
	w.state.rest = nil
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		if text[i] == '\x1b' && w.colour && style == Text {
			if c := colourAt(text[i:]); c != "" {
				b.WriteString(c)
				i += len(c)
				continue
			}
		}
		if !utf8.FullRuneInString(text[i:]) {
			w.state.rest = []byte(text[i:])
			break
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		w.put(&b, r, text[i:i+n], style)
		i += n
	}
	if _, err := io.WriteString(w.w, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// put writes one character, and keeps account of what a CI system would make of the line.
func (w *Writer) put(b *strings.Builder, r rune, as string, style Style) {
	s := &w.state
	switch {
	case r == '\n':
		*s = state{}
		b.WriteByte('\n')
		return
	case r == '\t' || r == ' ':
		s.hash = 0
		if s.colon {
			s.text, s.colon = true, false
		}
		b.WriteString(as)
		return
	case r == ':' && s.colon && style != Commands:
		b.WriteByte(' ')
		b.WriteByte(':')
		s.text, s.colon, s.hash = true, false, 0
		return
	case r == '[' && s.hash >= 2:
		s.hash = 0
		if style == JSON {
			b.WriteString(`\u005b`)
		} else {
			b.WriteString(" [")
		}
		return
	}
	switch {
	case r == '#':
		s.hash = min(s.hash%3+1, 2)
	case s.hash >= 2 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'):
		s.hash = 3
	default:
		s.hash = 0
	}
	s.colon = r == ':' && !s.text && !s.colon
	s.text = s.text || !s.colon
	switch {
	case Printable(r) && (r != utf8.RuneError || len(as) > 1):
		b.WriteString(as)
	case style == JSON && r != utf8.RuneError:
		b.WriteString(jsonEscaped(r))
	default:
		b.WriteString(escape(as, false))
	}
}

// jsonEscaped is a rune within a JSON string.
func jsonEscaped(r rune) string {
	const digits = "0123456789abcdef"
	unit := func(u rune) string {
		return `\u` + string([]byte{digits[u>>12&15], digits[u>>8&15], digits[u>>4&15], digits[u&15]})
	}
	if r >= 0x10000 {
		r -= 0x10000
		return unit(0xd800+r>>10) + unit(0xdc00+r&0x3ff)
	}
	return unit(r)
}

// colourAt is the sequence that text begins with, if it only changes the colour or weight of what follows: of those that exist, the ones
// this program uses (bold, faint, reverse, the eight colours), never one that hides.
func colourAt(text string) string {
	body, found := strings.CutPrefix(text, "\x1b[")
	end := strings.IndexByte(body, 'm')
	if !found || end < 0 || end > 12 {
		return ""
	}
	for part := range strings.SplitSeq(body[:end], ";") {
		switch part {
		case "", "0", "1", "2", "4", "7", "22", "24", "27", "39",
			"30", "31", "32", "33", "34", "35", "36", "37", "90", "91", "92", "93", "94", "95", "96", "97":
		default:
			return ""
		}
	}
	return text[:len("\x1b[")+end+1]
}
