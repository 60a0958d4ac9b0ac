package fsck

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// contents compares every content with its address. SQLite's own check does not: a byte of JSON may be any other.
func (c *checker) contents() {
	var altered []int64
	c.each(`SELECT id, hash, json FROM content ORDER BY id`, func(scan func(...any) error) error {
		var id int64
		var hash, json []byte
		if err := scan(&id, &hash, &json); err != nil {
			return err
		}
		if sum := sha256.Sum256(json); !bytes.Equal(hash, sum[:hashLength]) {
			altered = append(altered, id)
		}
		return nil
	})
	if len(altered) > most {
		altered = altered[:most]
	}
	if len(altered) == 0 {
		return
	}
	users := `SELECT v.seq, v.at, v.content_id, v.state_id, ` + who + ` FROM version v` + named
	in := strings.Trim(strings.ReplaceAll(fmt.Sprint(altered), " ", ","), "[]")
	found := map[int64]Problem{} // by content: its first user
	c.each(users+` WHERE v.content_id IN (`+in+`) OR v.state_id IN (`+in+`) ORDER BY v.seq`, func(scan func(...any) error) error {
		var seq, at int64
		var content, state *int64
		var kind, namespace, name string
		if err := scan(&seq, &at, &content, &state, &kind, &namespace, &name); err != nil {
			return err
		}
		for what, id := range map[string]*int64{"content": content, "state": state} {
			if id == nil || found[*id].What != "" || !slices.Contains(altered, *id) {
				continue
			}
			found[*id] = Problem{Class: Altered, At: instant(at), Object: object(kind, namespace, name),
				What: fmt.Sprintf("its %s (row %d of table content) is not what was recorded: it does not match its hash", what, *id)}
		}
		return nil
	})
	for _, id := range altered {
		p, ok := found[id]
		if !ok {
			p = Problem{Class: Altered, What: fmt.Sprintf("row %d of table content, which no version uses, does not match its hash", id)}
		}
		c.add(p)
	}
}

// hashLength is how many bytes of the SHA-256 are kept.
const hashLength = 16
