// Package near finds what somebody meant by a name that is not known: the known names that differ least. It knows
// nothing of what the names are of.
package near

import (
	"cmp"
	"slices"
	"strings"
)

// Names are at most n of the known names that could be meant by name, the nearest first, equals in name order. A name
// could be meant when it takes few edits to get there, or when one begins with the other. Empty when nothing is near.
func Names(name string, known []string, n int) []string {
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	lower := strings.ToLower(name)
	for _, k := range known {
		other := strings.ToLower(k)
		far := Distance(lower, other)
		begins := len(lower) > 2 && len(other) > 2 && (strings.HasPrefix(other, lower) || strings.HasPrefix(lower, other))
		if far <= max(2, len(name)/3) || begins {
			found = append(found, candidate{k, far})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.name, b.name)) })
	var out []string
	for _, c := range found[:min(n, len(found))] {
		out = append(out, c.name)
	}
	return out
}

// Suggest ends a message: `; did you mean "a" or "b"?`, or nothing.
func Suggest(name string, known []string) string {
	names := Names(name, known, 3)
	if len(names) == 0 {
		return ""
	}
	return `; did you mean "` + strings.Join(names, `" or "`) + `"?`
}

// longest bounds the names that are compared, in bytes: a longer one is nobody's typing mistake.
const longest = 200

// Distance is Levenshtein's, twenty lines that no module of the build has and that cobra keeps to itself: the fewest bytes to insert, drop or replace. Of a name of more than 200 bytes it is as far as can be.
func Distance(a, b string) int {
	if len(a) > longest || len(b) > longest {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
