package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// mutator breaks an input. It gives the broken input and says what it did; it may not change what it is given, and depends on nothing
// but r and the input. One that finds nothing to break gives the input back.
type mutator func(r *rand.Rand, in []byte) (out []byte, what string)

// mutators lists what breaks an input of each kind.
func mutators(k kind) []mutator {
	anything := []mutator{flipBytes, truncate, insertHostile, doubleRange, empty}
	switch k {
	case historyKind:
		return []mutator{flipBytes, truncate, shufflePages, hostileRow, hostileRow, hostileRow, hostileRow, hostileRow, dropRows, otherSchema, otherSchema, headerField}
	case logKind:
		return append(anything, dropLines, doubleLines, reorderLines, moveTimes, hostileLine, hostileLine, hostileLine, hostileLine, hostileLine, swapTypes, swapTypes)
	case reportKind, requestKind, truthKind, answerKind, strategiesKind:
		return append(anything, hostileJSON, hostileJSON, hostileJSON, hostileJSON, hostileJSON, deepJSON, wideJSON)
	}
	return append(anything, hostileYAML, hostileYAML, hostileYAML, hostileYAML, aliasBomb, deepYAML, longScalar, duplicateKey)
}

// mutate breaks an input once, twice or three times. Mostly once: what is broken in several ways is refused for the coarsest.
func mutate(r *rand.Rand, k kind, in []byte) (out []byte, what []string) {
	out = in
	ways := mutators(k)
	for range pick(r, []int{1, 1, 1, 1, 2, 3}) {
		var did string
		out, did = ways[r.IntN(len(ways))](r, out)
		what = append(what, did)
		if len(out) == 0 {
			break
		}
	}
	return out, what
}

// hostileText are values of text that no cluster has.
var hostileText = []string{
	"", " ", "\x00", "a\x00b", "\xff\xfe", "\x1b[2J\x1b[31mred", "line\n::error::injected", "\u202Eevil\u202C", "../../etc/passwd", "null", "~", "%s%n%d", "-1", "=cmd|' /C calc'!A0",
	strings.Repeat("long", 20_000), strings.Repeat("/", 300), "9999999999999999999999", "NaN", "1e999", "0x7fffffffffffffff", "-0", "1Ei", "-5", "100000000000Gi", "1n", "9223372036854775807", "2026-13-45T99:99:99Z", "9999-12-31T23:59:59Z",
	"0001-01-01T00:00:00Z", "1677-01-01T00:00:00Z", "2400-01-01T00:00:00Z", "2147483647h", "-1ns", "1ns", "<script>alert(1)</script>", "'; DROP TABLE object; --", "[", "{", "(a+)+$", "\ufeff",
}

// hostileNumbers are numbers that no cluster has, as they are written in JSON, YAML and SQL.
var hostileNumbers = []string{"-1", "0", "1", "2147483647", "2147483648", "-2147483648", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e308", "1e999", "1e-300",
	"0.5", "-0", "100000", "100001", "4294967296", "1000000000000000000"}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// short cuts a text for the line that says what was done.
func short(s string) string {
	if len(s) > 40 {
		return fmt.Sprintf("%q... (%d bytes)", s[:40], len(s))
	}
	return fmt.Sprintf("%q", s)
}

func flipBytes(r *rand.Rand, in []byte) ([]byte, string) {
	out := bytes.Clone(in)
	n := 1 + r.IntN(8)
	for range n {
		if len(out) > 0 {
			out[r.IntN(len(out))] ^= byte(1 + r.IntN(255))
		}
	}
	return out, fmt.Sprintf("flip %d bytes", n)
}

func truncate(r *rand.Rand, in []byte) ([]byte, string) {
	n := r.IntN(len(in) + 1)
	return bytes.Clone(in[:n]), fmt.Sprintf("truncate to %d bytes", n)
}

func empty(*rand.Rand, []byte) ([]byte, string) { return nil, "empty" }

func insertHostile(r *rand.Rand, in []byte) ([]byte, string) {
	at, text := r.IntN(len(in)+1), pick(r, hostileText)
	return splice(in, at, at, []byte(text)), fmt.Sprintf("insert %s at %d", short(text), at)
}

func doubleRange(r *rand.Rand, in []byte) ([]byte, string) {
	from := r.IntN(len(in) + 1)
	to := min(len(in), from+r.IntN(4096))
	return splice(in, to, to, in[from:to]), fmt.Sprintf("double bytes %d to %d", from, to)
}

// splice is in with its bytes from..to replaced.
func splice(in []byte, from, to int, by []byte) []byte {
	out := make([]byte, 0, len(in)-(to-from)+len(by))
	out = append(out, in[:from]...)
	out = append(out, by...)
	return append(out, in[to:]...)
}
