package history

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// A keyframe says which versions held after some change: state at an instant is the last keyframe before it and what
// changed since, so it costs what lived then. One is written whenever as much has changed as lives, which keeps both
// the way from a keyframe and the room for keyframes within a constant of the rest.

// minKeyframe is the least number of changes between keyframes: reading fewer rows costs nothing. Tests lower it.
var minKeyframe = int64(2000)

// encodeSeqs writes ascending seqs as the differences between them, each a varint.
func encodeSeqs(seqs []int64) []byte {
	out := make([]byte, 0, 2*len(seqs))
	last := int64(0)
	for _, s := range seqs {
		out = binary.AppendUvarint(out, uint64(s-last))
		last = s
	}
	return out
}

func decodeSeqs(b []byte) ([]int64, error) {
	var out []int64
	last := int64(0)
	for len(b) > 0 {
		d, n := binary.Uvarint(b)
		if n <= 0 || d > maxInt || last+int64(d) < last {
			return nil, errors.New("a keyframe cannot be read: the file is damaged")
		}
		last += int64(d)
		out = append(out, last)
		b = b[n:]
	}
	return out, nil
}

// base is where a history begins whose past was forgotten; at is -1 for one that has all of it.
type base struct{ seq, at int64 }

func readBase(ctx context.Context, q queryer) (base, error) {
	b := base{at: -1}
	err := q.QueryRowContext(ctx, `SELECT seq, at FROM base`).Scan(&b.seq, &b.at)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return b, err
}

// sinceBase is a window's start, not before the history's: what Retain has yet to delete is not read.
func sinceBase(ctx context.Context, q queryer, after position) (position, error) {
	b, err := readBase(ctx, q)
	if err != nil || after.at >= b.at {
		return after, err
	}
	return position{at: b.at, seq: maxInt}, nil
}

// keyframeAt is the last keyframe at or before an instant; its seq is 0 and it is empty if there is none.
func keyframeAt(ctx context.Context, q queryer, at int64) (seq int64, live []int64, err error) {
	var blob []byte
	err = q.QueryRowContext(ctx, keyframeQuery, at).Scan(&seq, &blob)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	live, err = decodeSeqs(blob)
	return seq, live, err
}

const keyframeQuery = `SELECT seq, live FROM keyframe WHERE at <= ? ORDER BY at DESC, seq DESC LIMIT 1`

// journalQuery is what changed after a keyframe.
const journalQuery = `SELECT seq, at, object_id, ends IS NOT NULL FROM version WHERE seq > ? ORDER BY seq`

// liveSeqs are the versions that hold at an instant, ascending, and how many rows were read to know. of says of which
// objects those since the keyframe are; a version in seqs that is not its object's there is no longer the one that holds.
type liveSeqs struct {
	seqs    []int64
	since   int64           // rows after the keyframe
	upTo    int64           // the last of them, or the keyframe
	changed map[int64]int64 // object: its last version since the keyframe, 0 if it was deleted
}

func liveAt(ctx context.Context, q queryer, at int64) (liveSeqs, error) {
	out := liveSeqs{changed: map[int64]int64{}}
	b, err := readBase(ctx, q)
	if err != nil || at < b.at {
		return out, err
	}
	if out.upTo, out.seqs, err = keyframeAt(ctx, q, at); err != nil {
		return out, err
	}
	rows, err := q.QueryContext(ctx, journalQuery, out.upTo)
	if err != nil {
		return out, err
	}
	defer rows.Close()
	for rows.Next() {
		var seq, when, object int64
		var gone bool
		if err := rows.Scan(&seq, &when, &object, &gone); err != nil {
			return out, err
		}
		if when > at {
			break
		}
		out.since, out.upTo = out.since+1, seq
		if out.changed[object] = seq; gone {
			out.changed[object] = 0
		}
	}
	for _, seq := range out.changed {
		if seq != 0 {
			out.seqs = append(out.seqs, seq)
		}
	}
	slices.Sort(out.seqs)
	return out, errors.Join(rows.Err(), rows.Close())
}

// holds says whether a version of liveSeqs still is the one of its object.
func (l *liveSeqs) holds(object, seq int64) bool {
	last, changed := l.changed[object]
	return !changed || last == seq
}

// fetchSize is how many versions are read at once by their seqs.
const fetchSize = 5000

// seqsJSON are seqs as a parameter of json_each.
func seqsJSON(seqs []int64) string {
	if len(seqs) == 0 {
		return "[]" // not null, which would be one element
	}
	b, err := json.Marshal(seqs)
	if err != nil {
		panic(fmt.Sprintf("marshal integers: %v", err)) // cannot fail
	}
	return string(b)
}

// keyframe writes one when it is due. It belongs to the transaction of the changes before it.
func (t *txWriter) keyframe() error {
	w := t.w
	if w.since < max(minKeyframe, int64(len(w.live))) {
		return nil
	}
	if _, err := t.exec(w.stmts.insertKeyframe, w.seq, w.last, encodeSeqs(w.liveSeqs())); err != nil {
		return fmt.Errorf("keyframe: %w", err)
	}
	w.since = 0
	return nil
}

func (w *Writer) liveSeqs() []int64 {
	seqs := make([]int64, 0, len(w.live))
	for l := range maps.Values(w.live) {
		seqs = append(seqs, l.seq)
	}
	slices.Sort(seqs)
	return seqs
}
