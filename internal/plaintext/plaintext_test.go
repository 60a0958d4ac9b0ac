package plaintext_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist/internal/plaintext"
)

func TestEscape(t *testing.T) {
	for s, want := range map[string]string{
		"":       "",
		"web-0":  "web-0",
		`C:\new`: `C:\new`,
		"ノード　群 é 👩\u200d👩\u200d👧\u200d👦 می\u200cخواهم": "ノード　群 é 👩\u200d👩\u200d👧\u200d👦 می\u200cخواهم",
		"a\nb\r\tc":              `a\nb\r\tc`,
		"\x1b[31mred\x7f":        `\x1b[31mred\x7f`,
		"\u009b31m\u0085":        `\u009b31m\u0085`,
		"\u202egpj.exe\u2066":    `\u202egpj.exe\u2066`,
		"\u2028\ufeff\U000e0041": `\u2028\ufeff\U000e0041`,
		"\xff\xc3":               `\xff\xc3`,
		"\ufffd":                 "\ufffd",
		"##[error]x ##vso[a]b":   "## [error]x ##vso [a]b",
		"## a [link]":            "## a [link]",
	} {
		if got := plaintext.Escape(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	if got, want := plaintext.Lines("a\tb\nc\r\n\x1b"), "a\tb\nc\\r\n\\x1b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSprintf(t *testing.T) {
	got := plaintext.Sprintf("%-6s|%q|%*d|%.1f|%s|%v|%d|%v\n", "a\n", "b\n", 4, 7, 1.25, errors.New("c\x1b"), []string{"d\r"}, time.Second, 90*time.Second)
	if want := `a\n    |"b\n"|   7|1.2|c\x1b|[d\r]|1000000000|1m30s` + "\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

type word string

type leaf struct {
	Name   string
	hidden string
}

type tree struct {
	Leaf  leaf
	Next  *tree
	Words []word
	Sizes map[string]int
	Any   any
	At    time.Time
	Bytes []byte
	Pair  [2]string
}

func TestValues(t *testing.T) {
	plain := &tree{Leaf: leaf{Name: "a"}, Words: []word{"b"}, Sizes: map[string]int{"c": 1}, Any: "d", Bytes: []byte("\x1b")}
	if plaintext.Values(plain) != plain {
		t.Error("a value that is inert was copied")
	}
	now := time.Unix(1, 0)
	make := func() *tree {
		return &tree{Leaf: leaf{"a\n", "h\n"}, Next: &tree{Leaf: leaf{Name: "\x1b"}}, Words: []word{"ok", "b\r"}, Sizes: map[string]int{"c\t": 1, "d": 2},
			Any: []any{"e\u202e", 3}, At: now, Bytes: []byte("\x1b"), Pair: [2]string{"x", "y\n"}}
	}
	v := make()
	got := plaintext.Values(v)
	want := &tree{Leaf: leaf{`a\n`, "h\n"}, Next: &tree{Leaf: leaf{Name: `\x1b`}}, Words: []word{"ok", `b\r`}, Sizes: map[string]int{`c\t`: 1, "d": 2},
		Any: []any{`e\u202e`, 3}, At: now, Bytes: []byte("\x1b"), Pair: [2]string{"x", `y\n`}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(leaf{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(make(), v, cmp.AllowUnexported(leaf{})); diff != "" {
		t.Errorf("the value itself was changed (-want +got)\n%s", diff)
	}
}

func TestWriter(t *testing.T) {
	for _, tt := range []struct {
		name, text, want string
		colour           bool
		style            plaintext.Style
	}{
		{name: "layout", text: "a  b\tc\n\nd", want: "a  b\tc\n\nd"},
		{name: "escapes", text: "\x1b[31mred\x1b]0;title\x07\r\u009b\u202e\xff\n", want: `\x1b[31mred\x1b]0;title\x07\r\u009b\u202e\xff` + "\n"},
		{name: "colours of ours", text: "\x1b[31;1merror\x1b[0m \x1b[1mNAME\x1b[22m", want: "\x1b[31;1merror\x1b[0m \x1b[1mNAME\x1b[22m", colour: true},
		{name: "colours where there are none", text: "\x1b[1mNAME", want: `\x1b[1mNAME`},
		{name: "what hides, moves or asks", text: "\x1b[8m\x1b[2J\x1b[6n\x1b[1", want: `\x1b[8m\x1b[2J\x1b[6n\x1b[1`, colour: true},
		{name: "commands", text: "::error::x\n \t::set x\na ::b\n: x\n:::\n", want: ": :error::x\n \t: :set x\na ::b\n: x\n: ::\n"},
		{name: "older commands", text: "a ##[error]\n##vso[x]\n### [a](b)\n# [x]\n#[x]", want: "a ## [error]\n##vso [x]\n### [a](b)\n# [x]\n#[x]"},
		{name: "a command behind a colour", text: "\x1b[1m::error::x", want: "\x1b[1m: :error::x", colour: true},
		{name: "annotations", text: "::error file=a::##[x]\x1b\n", want: "::error file=a::## [x]\\x1b\n", style: plaintext.Commands},
		{name: "JSON", text: "{\"a\": \"\x7f\u009b\u202e\U000e0041##[x] é\"}", want: `{"a": "\u007f\u009b\u202e\udb40\udc41##\u005bx] é"}`, style: plaintext.JSON},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			w := plaintext.New(&b, tt.colour)
			if n, err := w.As(tt.style).Write([]byte(tt.text)); n != len(tt.text) || err != nil {
				t.Errorf("%d, %v", n, err)
			}
			if err := w.Flush(); err != nil || b.String() != tt.want {
				t.Errorf("%q, %v; want %q", b.String(), err, tt.want)
			}
		})
	}
}

// texts are made of what matters here.
var texts = rapid.Map(rapid.SliceOf(rapid.SampledFrom([]string{"a", "[", "]", ":", "::", "#", "##", "##[", "\n", " ", "\t", "\r", "\x1b", "\x1b[1m", "\xc3", "\xa9", "é", "\u009b", "\u202e", `\`, "vso", `"`})),
	func(parts []string) string { return strings.Join(parts, "") })

// TestWriterWhateverComes: however a text is cut into writes, the same comes out, and nothing in it acts.
func TestWriterWhateverComes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := texts.Draw(rt, "text")
		var whole, parts bytes.Buffer
		w := plaintext.New(&whole, false)
		fmt.Fprint(w, text)
		p := plaintext.New(&parts, false)
		for i := range len(text) {
			fmt.Fprint(p, text[i:i+1])
		}
		if err := errors.Join(w.Flush(), p.Flush()); err != nil || whole.String() != parts.String() {
			rt.Errorf("%v: %q at once, %q byte by byte", err, whole.String(), parts.String())
		}
		for _, got := range []string{whole.String(), plaintext.Lines(text)} {
			for _, r := range got {
				if r != '\n' && r != '\t' && !plaintext.Printable(r) {
					rt.Errorf("%U in %q", r, got)
				}
			}
			if !utf8.ValidString(got) || strings.Contains(got, "##[") || strings.Contains(got, "##vso[") {
				rt.Errorf("%q", got)
			}
		}
		for line := range strings.SplitSeq(whole.String(), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "::") {
				rt.Errorf("%q", line)
			}
		}
		if once := plaintext.Escape(text); strings.ContainsAny(once, "\n\t") || plaintext.Escape(once) != once {
			rt.Errorf("%q again: %q", once, plaintext.Escape(once))
		}
	})
}

// TestJSONSaysTheSame: a reader of JSON gets what was encoded.
func TestJSONSaysTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := map[string]string{strings.ToValidUTF8(texts.Draw(rt, "key"), ""): strings.ToValidUTF8(rapid.String().Draw(rt, "value"), "")}
		var b bytes.Buffer
		enc := json.NewEncoder(plaintext.New(&b, true).As(plaintext.JSON))
		enc.SetEscapeHTML(false)
		var got map[string]string
		if err := errors.Join(enc.Encode(want), json.Unmarshal(b.Bytes(), &got)); err != nil || cmp.Diff(want, got) != "" {
			rt.Errorf("%v: %q", err, b.String())
		}
	})
}
