package fsck

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
)

// named joins a version's object and its scope, where they are there.
const named = ` LEFT JOIN object o ON o.id = v.object_id LEFT JOIN scope s ON s.id = o.scope_id `

// who is the object of a row, as far as it is known.
const who = `coalesce(s.kind, ''), coalesce(s.namespace, ''), coalesce(s.prefix, '') || coalesce(o.name, '')`

var journalQueries = []query{
	{Dangling, "a version belongs to an object that is not there", `SELECT v.at, '', '', '' FROM version v` + named + `WHERE o.id IS NULL ORDER BY v.seq LIMIT %d`},
	{Dangling, "an object belongs to a scope (kind and namespace) that is not there", `SELECT NULL, '', '', '' FROM object o LEFT JOIN scope s ON s.id = o.scope_id
		WHERE s.id IS NULL ORDER BY o.id LIMIT %d`},
	{Dangling, "a version has a content that is not there", `SELECT v.at, ` + who + ` FROM version v` + named + `LEFT JOIN content c ON c.id = v.content_id
		WHERE v.content_id IS NOT NULL AND c.id IS NULL ORDER BY v.seq LIMIT %d`},
	{Dangling, "a version has a state that is not there", `SELECT v.at, ` + who + ` FROM version v` + named + `LEFT JOIN content c ON c.id = v.state_id
		WHERE v.state_id IS NOT NULL AND c.id IS NULL ORDER BY v.seq LIMIT %d`},
	{Dangling, "a version is on a node whose name is not there", `SELECT v.at, ` + who + ` FROM version v` + named + `LEFT JOIN word w ON w.id = v.node_id
		WHERE v.node_id IS NOT NULL AND w.id IS NULL ORDER BY v.seq LIMIT %d`},
	{Dangling, "an end names a version that is not there", `SELECT v.at, ` + who + ` FROM version v` + named + `LEFT JOIN version l ON l.seq = v.ends AND l.object_id = v.object_id
		WHERE v.ends IS NOT NULL AND l.seq IS NULL ORDER BY v.seq LIMIT %d`},
	{Dangling, "a version says nothing: it has no content and ends nothing", `SELECT v.at, ` + who + ` FROM version v` + named + `WHERE v.content_id IS NULL AND v.ends IS NULL
		ORDER BY v.seq LIMIT %d`},
	{Order, "it has no version", `SELECT o.first_seen, ` + who + ` FROM object o LEFT JOIN scope s ON s.id = o.scope_id
		WHERE o.id NOT IN (SELECT object_id FROM version) AND NOT EXISTS (SELECT 1 FROM base) ORDER BY o.id LIMIT %d`},
}

// keyframe is the set of versions that the file says held after seq.
type keyframe struct {
	seq, at int64
	live    []byte
}

// journal walks the versions in order of change: time never goes back, nothing follows an object's end, and each
// keyframe is what the walk comes to. What lies before the base was forgotten, and may be there in part only.
func (c *checker) journal() {
	base := int64(-1)
	c.each(`SELECT seq FROM base`, func(scan func(...any) error) error { return scan(&base) })
	var keyframes []keyframe
	c.each(`SELECT seq, at, live FROM keyframe ORDER BY seq`, func(scan func(...any) error) error {
		var k keyframe
		err := scan(&k.seq, &k.at, &k.live)
		keyframes = append(keyframes, k)
		return err
	})
	live, ended := map[int64]int64{}, map[int64]bool{} // by object
	object := map[int64]int64{}                        // of a version
	last := int64(0)
	pass := func(upTo int64) { // the keyframes before a row
		for len(keyframes) > 0 && keyframes[0].seq < upTo {
			k := keyframes[0]
			keyframes = keyframes[1:]
			c.keyframe(k, live, object, k.seq <= base)
		}
	}
	problems := 0
	report := func(at, id int64, what string) {
		if problems++; problems <= most {
			c.add(Problem{Class: Order, At: instant(at), Object: c.objects()[id], What: what})
		}
	}
	type row struct {
		seq, at, object int64
		gone            bool
	}
	var rows []row
	c.each(`SELECT seq, at, object_id, ends IS NOT NULL FROM version ORDER BY seq`, func(scan func(...any) error) error {
		var r row
		err := scan(&r.seq, &r.at, &r.object, &r.gone)
		rows = append(rows, r)
		return err
	})
	for _, r := range rows {
		pass(r.seq)
		if r.seq > base {
			if r.at < last {
				report(r.at, r.object, "a version was seen before the one recorded ahead of it")
			}
			if ended[r.object] {
				report(r.at, r.object, "a version comes after its end")
			}
		}
		last = max(last, r.at)
		object[r.seq] = r.object
		if live[r.object] = r.seq; r.gone {
			delete(live, r.object)
			ended[r.object] = true
		}
	}
	pass(math.MaxInt64)
	c.twins(live)
}

// twins finds objects that live under one name at the end.
func (c *checker) twins(live map[int64]int64) {
	names := c.objects()
	seen := map[string]bool{}
	reported := 0
	for _, id := range slices.Sorted(maps.Keys(live)) {
		name := names[id]
		if seen[name] && name != "" && reported < most {
			reported++
			c.add(Problem{Class: Order, Object: name, What: "it lives twice under one name"})
		}
		seen[name] = true
	}
}

// keyframe compares one with the walk, or starts the walk from one that lies at or before the base.
func (c *checker) keyframe(k keyframe, live, object map[int64]int64, start bool) {
	seqs, ok := decodeSeqs(k.live)
	switch {
	case !ok:
		c.add(Problem{Class: Damage, At: instant(k.at), What: "a keyframe cannot be read"})
	case start:
		clear(live)
		for _, seq := range seqs {
			live[object[seq]] = seq
		}
	case !slices.Equal(seqs, slices.Sorted(maps.Values(live))):
		c.add(Problem{Class: Order, At: instant(k.at), What: fmt.Sprintf("a keyframe says that %d versions hold, the versions come to %d or to others", len(seqs), len(live))})
	}
}

// decodeSeqs reads ascending numbers, each the difference to the one before as a varint.
func decodeSeqs(b []byte) ([]int64, bool) {
	var out []int64
	last := int64(0)
	for len(b) > 0 {
		d, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, false
		}
		last += int64(d)
		out = append(out, last)
		b = b[n:]
	}
	return out, true
}

// objects names every object by its number. It is read when the first problem wants one.
func (c *checker) objects() map[int64]string {
	if c.names == nil {
		c.names = map[int64]string{}
		c.each(`SELECT o.id, s.kind, s.namespace, s.prefix || o.name FROM object o JOIN scope s ON s.id = o.scope_id`, func(scan func(...any) error) error {
			var id int64
			var kind, namespace, name string
			err := scan(&id, &kind, &namespace, &name)
			c.names[id] = object(kind, namespace, name)
			return err
		})
	}
	return c.names
}
