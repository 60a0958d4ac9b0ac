package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"
)

// jsonValue matches a scalar of JSON after its key, and the key before it.
var jsonValue = regexp.MustCompile(`"([^"\\]*)":\s*("(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null)`)

// hostileScalar is a hostile value as JSON. Half of them are not quoted as JSON would have it.
func hostileScalar(r *rand.Rand) string {
	switch r.IntN(6) {
	case 0, 1:
		return pick(r, hostileNumbers)
	case 2:
		return pick(r, []string{"null", "true", "[]", "{}", `[[]]`, `{"":{}}`, `""`, "NaN", "[1,2", `{"a":1,"a":2}`})
	case 3:
		return `"` + pick(r, hostileText) + `"`
	}
	quoted, err := json.Marshal(pick(r, hostileText))
	if err != nil {
		return `""`
	}
	return string(quoted)
}

// sameType is a hostile value of the type that a value of JSON has.
func sameType(r *rand.Rand, old []byte) string {
	switch old[0] {
	case '"':
		quoted, err := json.Marshal(pick(r, hostileText))
		if err != nil {
			return `""`
		}
		return string(quoted)
	case 't':
		return "false"
	case 'f':
		return "true"
	case 'n':
		return "{}"
	}
	return pick(r, hostileNumbers)
}

// hostileJSON replaces the value of a key.
func hostileJSON(r *rand.Rand, in []byte) ([]byte, string) {
	found := jsonValue.FindAllSubmatchIndex(in, -1)
	if len(found) == 0 {
		return in, "no value to replace"
	}
	at := pick(r, found)
	value := hostileScalar(r)
	if r.IntN(3) > 0 { // a value of another type is refused early; one of the same type gets further
		value = sameType(r, in[at[4]:at[5]])
	}
	return splice(in, at[4], at[5], []byte(value)), fmt.Sprintf("%s is %s", in[at[2]:at[3]], short(value))
}

func deepJSON(r *rand.Rand, in []byte) ([]byte, string) {
	depth := pick(r, []int{50, 5_000, 100_000, 2_000_000})
	what := fmt.Sprintf("%d levels of JSON", depth)
	deep := []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
	if r.IntN(2) == 0 {
		deep = []byte(strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth))
	}
	return atValue(r, in, deep), what
}

// wideJSON puts many small elements in the place of a value.
func wideJSON(r *rand.Rand, in []byte) ([]byte, string) {
	n, element := pick(r, []int{1_000, 100_000, 3_000_000}), pick(r, []string{"{}", "[]", "0", "null", `""`})
	return atValue(r, in, []byte("["+strings.Repeat(element+",", n)+element+"]")), fmt.Sprintf("%d times %s", n, element)
}

// jsonList matches the beginning of a list or an object behind a key.
var jsonList = regexp.MustCompile(`"[^"\\]*":\s*([\[{])`)

// atValue puts value before what a key has, or in its place where that is a scalar.
func atValue(r *rand.Rand, in, value []byte) []byte {
	if found := jsonList.FindAllSubmatchIndex(in, -1); len(found) > 0 && r.IntN(2) == 0 {
		at := pick(r, found)
		return splice(in, at[2], at[2], append(bytes.Clone(value), `,"x":`...))
	}
	found := jsonValue.FindAllSubmatchIndex(in, -1)
	if len(found) == 0 {
		return value
	}
	at := pick(r, found)
	return splice(in, at[4], at[5], value)
}

// lines are the lines of a log, each with its end.
func lines(in []byte) [][]byte { return bytes.SplitAfter(in, []byte("\n")) }

func dropLines(r *rand.Rand, in []byte) ([]byte, string) {
	all := lines(in)
	from := r.IntN(len(all))
	to := min(len(all), from+1+r.IntN(10))
	return append(bytes.Join(all[:from], nil), bytes.Join(all[to:], nil)...), fmt.Sprintf("drop lines %d to %d", from+1, to)
}

func doubleLines(r *rand.Rand, in []byte) ([]byte, string) {
	all := lines(in)
	from, times := r.IntN(len(all)), pick(r, []int{1, 100, 3_000})
	out := bytes.Join(all[:from], nil)
	out = append(out, bytes.Repeat(all[from], 1+times)...)
	return append(out, bytes.Join(all[from+1:], nil)...), fmt.Sprintf("line %d comes %d times", from+1, 1+times)
}

func reorderLines(r *rand.Rand, in []byte) ([]byte, string) {
	all := lines(bytes.Clone(in))
	if r.IntN(2) == 0 {
		a, b := r.IntN(len(all)), r.IntN(len(all))
		all[a], all[b] = all[b], all[a]
		return bytes.Join(all, nil), fmt.Sprintf("swap lines %d and %d", a+1, b+1)
	}
	r.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	return bytes.Join(all, nil), "shuffle lines"
}

var instant = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z`)

// moveTimes moves a time, or all times of a line, by much.
func moveTimes(r *rand.Rand, in []byte) ([]byte, string) {
	found := instant.FindAllIndex(in, -1)
	if len(found) == 0 {
		return in, "no time to move"
	}
	by := pick(r, []time.Duration{-time.Nanosecond, time.Nanosecond, -time.Hour, time.Hour, 24 * time.Hour, -24 * time.Hour, 365 * 24 * time.Hour, -365 * 24 * time.Hour, 9 * 365 * 24 * time.Hour, 200 * 365 * 24 * time.Hour})
	at := pick(r, found)
	old, err := time.Parse(time.RFC3339Nano, string(in[at[0]:at[1]]))
	if err != nil {
		return in, "a time that is none"
	}
	moved := old.Add(by).Format(time.RFC3339Nano)
	return splice(in, at[0], at[1], []byte(moved)), fmt.Sprintf("%s is %s", in[at[0]:at[1]], moved)
}

// hostileLine replaces a value of a line of a log, kept whole otherwise.
func hostileLine(r *rand.Rand, in []byte) ([]byte, string) {
	all := lines(in)
	at := r.IntN(len(all))
	changed, what := hostileJSON(r, all[at])
	out := append(bytes.Join(all[:at], nil), changed...)
	return append(out, bytes.Join(all[at+1:], nil)...), fmt.Sprintf("line %d: %s", at+1, what)
}

// swapTypes gives a value of one key the value of another.
func swapTypes(r *rand.Rand, in []byte) ([]byte, string) {
	found := jsonValue.FindAllSubmatchIndex(in, -1)
	if len(found) < 2 {
		return in, "no values to swap"
	}
	at, of := pick(r, found), pick(r, found)
	return splice(in, at[4], at[5], in[of[4]:of[5]]), fmt.Sprintf("%s is the %s of another", in[at[2]:at[3]], in[of[2]:of[3]])
}
