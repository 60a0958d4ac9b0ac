package redact

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
)

// rewriter goes over all objects twice by the same rules: first it collects the words, then it replaces them.
type rewriter struct {
	options        Options
	keepLabels     map[string]bool
	words          dictionary
	collecting     bool
	seen, octets   map[string]bool
	limited        map[string]limit // by text
	numeric        map[string]bool  // label keys compared as numbers
	groups         map[string]bool  // node group names
	long           map[string]bool  // numbers of more than 32 bits that others are compared with
	longSorted     []*big.Int
	hashLen        int
	mapping        *Mapping
	err            error
	priorityGroups []string
}

// limit is the length a text may have, and what it is.
type limit struct {
	class string
	max   int
}

// redactedText begins every text that was replaced whole.
const redactedText = "redacted-"

// maxHash is how many characters of the hash are in a pseudonym where there is room: 20 bits.
const maxHash = 4

func newRewriter(o Options) *rewriter {
	public := maps.Clone(publicWords)
	for _, ns := range o.KeepNamespaces {
		for _, p := range pieces(ns) {
			if p.word {
				public[p.text] = true
			}
		}
	}
	r := &rewriter{options: o, keepLabels: map[string]bool{}, collecting: true, seen: map[string]bool{}, octets: map[string]bool{},
		limited: map[string]limit{}, numeric: map[string]bool{}, groups: map[string]bool{}, long: map[string]bool{},
		words:   dictionary{salt: o.Salt, public: public},
		mapping: &Mapping{Names: map[string]map[string]string{}, Texts: map[string]string{}}}
	for _, k := range o.KeepLabels {
		r.keepLabels[k] = true
	}
	return r
}

// settle ends the first pass: the pseudonyms are made, with as much of the hash as the longest names leave room for.
func (r *rewriter) settle() error {
	for r.hashLen = maxHash; ; r.hashLen-- {
		if err := r.words.build(r.seen, r.octets, r.hashLen); err != nil {
			return err
		}
		long, err := r.tooLong()
		if err != nil {
			return err
		}
		if long == nil {
			break
		}
		if r.hashLen == 0 {
			return fmt.Errorf("a %s of many short words would be longer than %d characters: keep it with --keep or --keep-namespaces", long.class, long.max)
		}
	}
	r.collecting = false
	r.sortNumbers()
	r.priorityGroups = slices.Sorted(maps.Keys(r.groups))
	r.mapping.Words, r.mapping.Octets = r.words.words, r.words.octets
	return nil
}

func (r *rewriter) tooLong() (*limit, error) {
	for _, s := range slices.Sorted(maps.Keys(r.limited)) {
		now, err := r.words.rename(s)
		if err != nil {
			return nil, err
		}
		if l := r.limited[s]; len(now) > l.max {
			return &l, nil
		}
	}
	return nil, nil
}

// lengths are the limits of the API by class; names have 253 characters else.
var lengths = map[string]int{"namespace": 63, "label value": 63, "label key": 63, "container": 63, "volume": 63, "service": 63, "statefulset": 63}

// name rewrites a name, or any text that is made of names.
func (r *rewriter) name(class, s string) string {
	if s == "" || r.err != nil {
		return s
	}
	if r.collecting {
		for _, p := range pieces(s) {
			switch {
			case p.octet:
				r.octets[p.text] = true
			case p.word && !r.words.isPublic(p.text):
				r.seen[p.text] = true
			}
		}
		most, ok := lengths[class]
		if !ok {
			most = 253
		}
		if l, ok := r.limited[s]; len(s) <= most && (!ok || most < l.max) {
			r.limited[s] = limit{class, most}
		}
		return s
	}
	now, err := r.words.rename(s)
	if err != nil {
		r.err = fmt.Errorf("%s: %w", class, err)
		return s
	}
	r.mapping.note(class, s, now)
	return now
}

// open rewrites a name unless it is one of those that stay.
func (r *rewriter) open(class, s string, stay map[string]bool) string {
	if stay[s] {
		return s
	}
	return r.name(class, s)
}

// text replaces a text whole. It separates equal texts from others, no more.
func (r *rewriter) text(s string) string {
	if s == "" || r.collecting {
		return s
	}
	now := redactedText + hexOf(r.options.Salt, "text", s, 12)
	r.mapping.Texts[now] = s
	return now
}

// uid replaces a UID by another one. Those that imports make up ("Pod/default/web-1#1") keep their form, which says that
// they are.
func (r *rewriter) uid(u types.UID) types.UID {
	if u == "" {
		return u
	}
	if body, life, ok := strings.Cut(string(u), "#"); ok && isSmall(life) {
		if kind, name, ok := strings.Cut(body, "/"); ok {
			return types.UID(r.open("kind", kind, openKinds) + "/" + r.name("uid", name) + "#" + life)
		}
	}
	if r.collecting {
		return u
	}
	h := hexOf(r.options.Salt, "uid", string(u), 32)
	now := h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
	r.mapping.note("uid", string(u), now)
	return types.UID(now)
}

// object rewrites an object in place.
func (r *rewriter) object(o scalehist.Object) {
	if r.err != nil {
		return
	}
	r.rewrite(o)
	if r.err != nil {
		r.err = fmt.Errorf("%T: %w", o, r.err)
	}
}
