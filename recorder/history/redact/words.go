package redact

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// piece is a word of a text or what lies between two.
type piece struct {
	text string
	word bool
	// octet: one of four or more numbers in a row, "10-250-3-17": an address or an account, not ordinals.
	octet bool
}

// pieces takes a text apart. Every character below '0' lies between words. That makes order simple: a word ends where
// a smaller character than any of a word follows, so texts compare as their words do.
func pieces(s string) []piece {
	var out []piece
	for i := 0; i < len(s); {
		j, word := i, s[i] >= '0'
		for j < len(s) && (s[j] >= '0') == word {
			j++
		}
		out = append(out, piece{text: s[i:j], word: word})
		i = j
	}
	markOctets(out)
	return out
}

// markOctets finds runs of four numbers of up to three digits joined by one '-' or '.' each.
func markOctets(ps []piece) {
	for i := 0; i < len(ps); i++ {
		j := i
		for j < len(ps) && isOctet(ps[j]) {
			if j+2 < len(ps) && (ps[j+1].text == "-" || ps[j+1].text == ".") && isOctet(ps[j+2]) {
				j += 2
				continue
			}
			j++
			break
		}
		if n := (j - i + 1) / 2; n >= 4 {
			for k := i; k < j; k += 2 {
				ps[k].octet = true
			}
			i = j
		}
	}
}

func isOctet(p piece) bool { return p.word && isNumber(p.text) && len(p.text) <= 3 }

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// isPublic says whether a word stays: it is of the vocabulary, or an ordinal.
func (d *dictionary) isPublic(word string) bool {
	return len(word) <= 3 && isNumber(word) || d.public[word]
}

// dictionary holds the pseudonyms of one history.
type dictionary struct {
	salt   []byte
	public map[string]bool
	words  map[string]string
	octets map[string]string
}

// digits are in byte order, so that numbers written with them sort by value.
const digits = "0123456789abcdefghijklmnopqrstuv"

var encoding32 = base32.NewEncoding(digits).WithPadding(base32.NoPadding)

// mac is a keyed hash. what keeps uses apart.
func mac(salt []byte, what, s string) []byte {
	h := hmac.New(sha256.New, salt)
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(what)))
	h.Write(n[:])
	h.Write([]byte(what))
	h.Write([]byte(s))
	return h.Sum(nil)
}

// build gives every word a pseudonym. Public words stay where they are; the words between two neighbours of them
// share a beginning that lies there too, then comes the rank among them, then hashLen characters of the keyed hash.
func (d *dictionary) build(words, octets map[string]bool, hashLen int) error {
	anchors := slices.AppendSeq(make([]string, 0, len(d.public)+1110), maps.Keys(d.public))
	for n := range 1000 {
		for _, form := range []string{"%d", "%02d", "%03d"} {
			anchors = append(anchors, fmt.Sprintf(form, n))
		}
	}
	slices.Sort(anchors)
	anchors = slices.Compact(anchors)
	d.words = make(map[string]string, len(words))
	all := slices.Sorted(maps.Keys(words))
	for len(all) > 0 {
		at, _ := slices.BinarySearch(anchors, all[0])
		low, high, n := "", "", len(all)
		if at > 0 {
			low = anchors[at-1]
		}
		if at < len(anchors) {
			high = anchors[at]
			n, _ = slices.BinarySearch(all, high)
		}
		prefix, err := between(low, high)
		if err != nil {
			return err
		}
		for i, w := range all[:n] {
			d.words[w] = prefix + rank(i, n) + encoding32.EncodeToString(mac(d.salt, "word", w))[:hashLen]
		}
		all = all[n:]
	}
	// Addresses sort among each other and before letters; numbers that stay leave no room between them.
	d.octets = make(map[string]string, len(octets))
	numbers := slices.Sorted(maps.Keys(octets))
	for i, o := range numbers {
		d.octets[o] = "0x" + rank(i, len(numbers)) + encoding32.EncodeToString(mac(d.salt, "octet", o))[:hashLen]
	}
	return nil
}

// rank writes i of n with as many digits as the last one needs.
func rank(i, n int) string {
	width := 1
	for limit := len(digits); limit < n; limit *= len(digits) {
		width++
	}
	out := make([]byte, width)
	for p := width - 1; p >= 0; p-- {
		out[p] = digits[i%len(digits)]
		i /= len(digits)
	}
	return string(out)
}

// between finds a beginning such that everything that begins with it sorts after low and before high ("" is no
// bound): letters and digits only, as short as can be, and a letter first unless the bounds do not allow one.
func between(low, high string) (string, error) {
	const order = "nopqrstuvwxyzmlkjihgfedcba" + "5678943210"
	fits := func(p string) bool {
		return p > low && (high == "" || p < high && !strings.HasPrefix(high, p)) && strings.Trim(p, order) == ""
	}
	for _, first := range []string{"letter", "any"} {
		for length := 1; length <= max(len(low), len(high))+2; length++ {
			for _, base := range []string{low, high} {
				for len(base) < length-1 {
					base += "n"
				}
				for _, c := range order {
					if p := base[:length-1] + string(c); fits(p) && (first == "any" || p[0] > '9') {
						return p, nil
					}
				}
			}
		}
	}
	return "", fmt.Errorf("no word lies between the public words %q and %q: keep one of them less", low, high)
}

// rename replaces the words of a name. An unknown word is an error of this package: every word was collected before.
func (d *dictionary) rename(s string) (string, error) {
	var b strings.Builder
	for _, p := range pieces(s) {
		switch {
		case p.octet:
			o, ok := d.octets[p.text]
			if !ok {
				return "", fmt.Errorf("number %q has no pseudonym", p.text)
			}
			b.WriteString(o)
		case !p.word || d.isPublic(p.text):
			b.WriteString(p.text)
		default:
			w, ok := d.words[p.text]
			if !ok {
				return "", fmt.Errorf("word %q has no pseudonym", p.text)
			}
			b.WriteString(w)
		}
	}
	return b.String(), nil
}

// hexOf is n characters of the keyed hash in hexadecimal.
func hexOf(salt []byte, what, s string, n int) string {
	return hex.EncodeToString(mac(salt, what, s))[:n]
}
