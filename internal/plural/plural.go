// Package plural writes numbers with their nouns: "1 pod", "2 pods".
package plural

import (
	"strconv"
	"strings"
)

// Of is a number with a noun: "1 pod", "0 pods", "2 pods". The noun is in the singular and may end in other words, of which the
// last takes the plural: "update event", "2 update events".
func Of[N int | int64 | int32](n N, noun string) string {
	return strconv.FormatInt(int64(n), 10) + " " + Noun(n, noun)
}

// Noun is the noun alone: "pod" for 1, else "pods". Regular English nouns of the field are enough: y after a consonant becomes ies,
// and s, x and ch take es.
func Noun[N int | int64 | int32](n N, noun string) string {
	if n == 1 {
		return noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok && stem != "" && !strings.ContainsRune("aeiou", rune(stem[len(stem)-1])) {
		return stem + "ies"
	}
	for _, end := range []string{"s", "x", "ch"} {
		if strings.HasSuffix(noun, end) {
			return noun + "es"
		}
	}
	return noun + "s"
}

// Verb is one for 1 and many for any other number: "was" and "were".
func Verb[N int | int64 | int32](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Or is "a or b", "a, b or c".
func Or(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
