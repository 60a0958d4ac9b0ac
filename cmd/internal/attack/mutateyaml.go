package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

// yamlValue matches a key of YAML and its scalar, in block or in flow.
var yamlValue = regexp.MustCompile(`(?m)([A-Za-z][A-Za-z0-9.-]*): ([^\s{}\[\],#&*|>][^{}\[\],\n#]*)`)

func hostileYAML(r *rand.Rand, in []byte) ([]byte, string) {
	found := yamlValue.FindAllSubmatchIndex(in, -1)
	if len(found) == 0 {
		return in, "no value to replace"
	}
	at := pick(r, found)
	value := pick(r, []string{"!!binary AAAA", "!!timestamp 2026", "*nobody", "&a [*a]", "|\n  x", "? a", "{}", "[]", "[[]]", ".nan", ".inf", "-.inf", "~", "!!set {a}", "<<", "0b1", "1:20", "..", "@", "yes", "{<<: {}}"})
	switch r.IntN(3) {
	case 0:
		value = pick(r, hostileNumbers)
	case 1:
		value = hostileScalar(r)
	}
	return splice(in, at[4], at[5], []byte(value)), fmt.Sprintf("%s is %s", in[at[2]:at[3]], short(value))
}

// aliasBomb is a list of aliases of lists of aliases: nine to the power of its depth, when it is followed.
func aliasBomb(r *rand.Rand, in []byte) ([]byte, string) {
	depth := 2 + r.IntN(8)
	var b strings.Builder
	b.WriteString("[&a0 [x, x, x, x, x, x, x, x, x]")
	for i := 1; i <= depth; i++ {
		fmt.Fprintf(&b, ", &a%d [%s]", i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	b.WriteString("]")
	return atYAML(r, in, b.String()), fmt.Sprintf("aliases %d deep", depth)
}

func deepYAML(r *rand.Rand, in []byte) ([]byte, string) {
	depth := pick(r, []int{50, 2_000, 20_000, 200_000})
	return atYAML(r, in, strings.Repeat("[", depth)+strings.Repeat("]", depth)), fmt.Sprintf("%d levels of YAML", depth)
}

func longScalar(r *rand.Rand, in []byte) ([]byte, string) {
	n := pick(r, []int{10_000, 1_000_000, 20_000_000})
	return atYAML(r, in, strings.Repeat("a", n)), fmt.Sprintf("a scalar of %d bytes", n)
}

func duplicateKey(r *rand.Rand, in []byte) ([]byte, string) {
	all := lines(in)
	at := r.IntN(len(all))
	return splice(in, len(in), len(in), all[at]), fmt.Sprintf("line %d again at the end", at+1)
}

// atYAML puts text in the place of a value, or behind a key of its own.
func atYAML(r *rand.Rand, in []byte, text string) []byte {
	found := yamlValue.FindAllSubmatchIndex(in, -1)
	if len(found) == 0 || r.IntN(4) == 0 {
		return []byte("x: " + text + "\n" + string(in))
	}
	at := pick(r, found)
	return splice(in, at[4], at[5], []byte(text))
}
