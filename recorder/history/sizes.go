package history

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// NodeGroupSizes are the bounds and target sizes of the node groups over time: first those at from (if set), in name
// order, then every change with from < At <= to in recorded order.
func (db *DB) NodeGroupSizes(ctx context.Context, from, to time.Time) ([]NodeGroupSize, error) {
	var out []NodeGroupSize
	err := db.read(ctx, "node group sizes", func(q queryer) error {
		l := newLoader(q)
		last := map[string]NodeGroupSize{}
		note := func(at time.Time, o scalehist.Object, deleted bool) {
			g := o.(*v1alpha1.NodeGroup)
			s := NodeGroupSize{NodeGroup: g.Name, MinSize: int(g.Spec.MinSize), MaxSize: int(g.Spec.MaxSize),
				TargetSize: int(g.Spec.TargetSize), Deleted: deleted}
			if old, ok := last[g.Name]; ok && old == s {
				return
			}
			last[g.Name] = s
			s.At = at
			out = append(out, s)
		}
		if !from.IsZero() {
			err := objectsAt(ctx, q, l, from, []string{"NodeGroup"}, func(o scalehist.Object, _ *versionRow) error {
				note(from.UTC(), o, false)
				return nil
			})
			if err != nil {
				return err
			}
			slices.SortStableFunc(out, func(a, b NodeGroupSize) int { return strings.Compare(a.NodeGroup, b.NodeGroup) })
		}
		after, end, err := window(from, to)
		if err != nil {
			return err
		}
		rows, err := groupRows(ctx, q, after.at, end)
		if err != nil {
			return err
		}
		for i := range rows {
			o, err := l.load(ctx, &rows[i].version)
			if err != nil {
				return err
			}
			note(fromNS(rows[i].version.at), o, rows[i].op == scalehist.OpDelete)
		}
		return nil
	})
	return out, err
}

const groupVersionsQuery = `SELECT ` + versionColumns + `, v.ends IS NOT NULL FROM scope k CROSS JOIN object x ON x.scope_id = k.id AND x.few = 1
	CROSS JOIN version v ON v.object_id = x.id AND v.few = 1 AND v.at > ?1 AND v.at <= ?2` + versionJoins + `WHERE k.kind = 'NodeGroup' ORDER BY v.seq`

// groupRows are the changes of node groups; of a history whose past was forgotten, first those that lived at its base.
func groupRows(ctx context.Context, q queryer, after, end int64) ([]changeRow, error) {
	var out []changeRow
	b, err := readBase(ctx, q)
	if err != nil {
		return nil, err
	}
	if after < b.at {
		initial, err := fewAt(ctx, q, b.at, []string{"NodeGroup"})
		if err != nil {
			return nil, err
		}
		slices.SortFunc(initial, byCreation)
		for _, v := range initial {
			v.at = b.at
			out = append(out, changeRow{version: v, op: scalehist.OpAdd})
		}
		after = b.at
	}
	rows, err := q.QueryContext(ctx, groupVersionsQuery, after, end)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r changeRow
		var deleted bool
		if r.version, err = scanVersion(rows, &deleted); err != nil {
			return nil, err
		}
		if r.op = scalehist.OpUpdate; deleted {
			r.op = scalehist.OpDelete
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// The sources of Steps.
const (
	StepsFromSizes  = "target sizes"
	StepsFromEvents = "events"
)

// Steps are the recorded changes of target sizes with from < At <= to, in time order, with the pods that
// TriggeredScaleUp events name for them. They are read from the node groups; where no group's size was seen to change,
// from the events. source says which.
func (db *DB) Steps(ctx context.Context, from, to time.Time) (steps []scalehist.RecordedStep, source string, err error) {
	sizes, err := db.NodeGroupSizes(ctx, from, to)
	if err != nil {
		return nil, "", err
	}
	events, err := db.Events(ctx, EventFilter{From: from, To: to, Reasons: []string{"TriggeredScaleUp"}})
	if err != nil {
		return nil, "", err
	}
	triggered := stepsOfEvents(events)
	size := map[string]int{}
	for _, s := range sizes {
		old, known := size[s.NodeGroup]
		if s.Deleted {
			delete(size, s.NodeGroup)
			continue
		}
		size[s.NodeGroup] = s.TargetSize
		if !known || old == s.TargetSize {
			continue
		}
		step := scalehist.RecordedStep{At: s.At, NodeGroup: s.NodeGroup, From: old, To: s.TargetSize}
		for _, t := range triggered {
			if t.NodeGroup == step.NodeGroup && t.From == step.From && t.To == step.To && near(t.At, step.At) {
				step.Pods = append(step.Pods, t.Pods...)
			}
		}
		slices.Sort(step.Pods)
		step.Pods = slices.Compact(step.Pods)
		steps = append(steps, step)
	}
	if len(steps) > 0 {
		return steps, StepsFromSizes, nil
	}
	if len(triggered) > 0 {
		return triggered, StepsFromEvents, nil
	}
	return nil, StepsFromSizes, nil
}

// near: the event is written within the same loop, cut to seconds; a scan interval (10 s by default) lies between loops.
func near(a, b time.Time) bool { return a.Sub(b).Abs() < 10*time.Second }

// scaledGroup is upstream's notation in TriggeredScaleUp: "pod triggered scale-up: [{p3 1->3 (max: 3)}]".
var scaledGroup = regexp.MustCompile(`\{(\S+) (\d+)->(\d+) \(max: (\d+)\)\}`)

// stepsOfEvents gathers the events of one scale-up, one per pod, into one step per node group.
func stepsOfEvents(events []Event) []scalehist.RecordedStep {
	var out []scalehist.RecordedStep
	for _, e := range events {
		pod := fmt.Sprintf("%s/%s", e.Regarding.Namespace, e.Regarding.Name)
		for _, m := range scaledGroup.FindAllStringSubmatch(e.Message, -1) {
			from, err1 := strconv.Atoi(m[2])
			to, err2 := strconv.Atoi(m[3])
			if err1 != nil || err2 != nil || max(from, to) > v1alpha1.MaxNodes {
				continue // more than a size is
			}
			i := slices.IndexFunc(out, func(s scalehist.RecordedStep) bool {
				return s.NodeGroup == m[1] && s.From == from && s.To == to && near(s.At, e.At)
			})
			if i < 0 {
				out = append(out, scalehist.RecordedStep{At: e.At, NodeGroup: m[1], From: from, To: to})
				i = len(out) - 1
			}
			out[i].Pods = append(out[i].Pods, pod)
		}
	}
	slices.SortStableFunc(out, func(a, b scalehist.RecordedStep) int { return a.At.Compare(b.At) })
	for i := range out {
		slices.Sort(out[i].Pods)
		out[i].Pods = slices.Compact(out[i].Pods)
	}
	return out
}
