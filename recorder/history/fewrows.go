package history

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
)

const kindVersionsQuery = `SELECT ` + versionColumns + `, v.ends IS NOT NULL FROM scope k CROSS JOIN object x ON x.scope_id = k.id AND x.few = 1
	CROSS JOIN version v ON v.object_id = x.id AND v.few = 1 AND v.at > ?1 AND v.at <= ?2` + versionJoins + `WHERE k.kind = ?3 ORDER BY v.seq`

// fewRows are the changes of kinds other than Pod, in recorded order; of a history whose past was forgotten, first the objects
// that lived at its base. They cost what there is of these kinds, however long the history is.
func fewRows(ctx context.Context, q queryer, after, end int64, kinds []string) ([]changeRow, error) {
	var out []changeRow
	b, err := readBase(ctx, q)
	if err != nil {
		return nil, err
	}
	if after < b.at && b.at <= end {
		initial, err := fewAt(ctx, q, b.at, kinds)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(initial, byCreation)
		for _, v := range initial {
			v.at, v.objectAt = b.at, time.Time{}
			out = append(out, changeRow{version: v, op: scalehist.OpAdd})
		}
	}
	after = max(after, b.at)
	n := len(out)
	for _, kind := range kinds {
		rows, err := readRows(ctx, q, scanChange, kindVersionsQuery, after, end, kind)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	slices.SortFunc(out[n:], func(a, b changeRow) int { return cmp.Compare(a.version.seq, b.version.seq) })
	return out, nil
}
