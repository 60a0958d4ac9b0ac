package trace

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/internal/moment"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/observed"
	"github.com/scalehist/scalehist/recorder/history/snapshot"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// Window is a part of a recording. Zero bounds are the recording's own.
type Window struct {
	From, To time.Time
}

// FromHistory reads the causes out of a window of a history. It is an error when the history has no state at the
// start, or a gap inside the window touches pods or nodes.
func FromHistory(ctx context.Context, db *history.DB, w Window) (*Input, error) {
	return Of(db).Input(ctx, w)
}

// Recording reads windows of one history. What takes all of it is read once.
type Recording struct {
	db    *history.DB
	whole *recorded
}

// Of is the recording in a history, which stays open as long as it is read.
func Of(db *history.DB) *Recording { return &Recording{db: db} }

// Input reads a window as FromHistory does.
func (r *Recording) Input(ctx context.Context, w Window) (*Input, error) {
	from, to := r.db.Span()
	if w.From.IsZero() {
		w.From = from
	}
	if w.To.IsZero() {
		w.To = to
	}
	if w.From.Before(from) || w.To.After(to) {
		return nil, fmt.Errorf("window %s to %s is not inside the recording, which runs from %s to %s",
			moment.Stamp(w.From), moment.Stamp(w.To), moment.Stamp(from), moment.Stamp(to))
	}
	in, err := r.read(ctx, w)
	if err != nil {
		return nil, err
	}
	hash, err := r.db.Hash(ctx)
	if err != nil {
		return nil, fmt.Errorf("hash the history: %w", err)
	}
	in.Hashes = []scalehist.InputHash{{Name: "history", SHA256: hash}}
	return in, nil
}

// Instant reads the state at an instant, for one decision. The failures of the whole history to deliver nodes are in it: what a
// decision asks for comes later.
func (r *Recording) Instant(ctx context.Context, at time.Time) (*Input, error) {
	in, err := r.read(ctx, Window{From: at.Add(-time.Nanosecond), To: at})
	if err != nil {
		return nil, err
	}
	known := groupNames(in.AllGroups())
	in.Faults = slices.DeleteFunc(r.whole.faults(), func(f cloudprovider.Fault) bool { return f.Group != "" && !slices.Contains(known, f.Group) })
	return in, nil
}

// read is Input without the hash.
func (r *Recording) read(ctx context.Context, w Window) (*Input, error) {
	db := r.db
	in := &Input{Name: historyName(db.Path()), Start: w.From.UTC(), End: w.To.UTC()}
	if !in.Start.Before(in.End) {
		return nil, in.Check()
	}
	var err error
	if in.Warnings, err = watched(ctx, db, w); err != nil {
		return nil, err
	}
	rec, err := readWindow(ctx, db, w)
	if err != nil {
		return nil, err
	}
	if err := checkSizes(rec.groups); err != nil { // before anything is made for each node
		return nil, err
	}
	if r.whole == nil {
		if r.whole, err = loadWhole(ctx, db, rec); err != nil {
			return nil, err
		}
	}
	if in.SettingsChanges, err = db.SettingsChanges(ctx, in.Start, in.End); err != nil {
		return nil, fmt.Errorf("read autoscaler settings: %w", err)
	}
	in.Settings = rec.initial.CASettings
	in.WorkerPools, in.MachineDeployments = rec.initial.WorkerPools, rec.initial.MachineDeployments
	if err := rec.read(ctx, in, r.whole); err != nil {
		return nil, err
	}
	if in.Origin, err = db.Origin(ctx); err != nil {
		return nil, fmt.Errorf("read origin: %w", err)
	}
	return in, in.Check()
}

// read fills in what the recording shows. Each part looks at all changes, of which a history may have millions, so ctx is looked at between
// them.
func (r *recorded) read(ctx context.Context, in *Input, whole *recorded) (err error) {
	for _, part := range []func(){
		func() { r.resize(whole) },
		func() { r.guessBounds(whole) },
		func() {
			in.NodeGroups = r.groups
			in.GroupChanges = r.groupChanges()
			in.Warnings = append(in.Warnings, r.groupNews(in.GroupChanges)...)
		},
		func() { in.Warnings = append(in.Warnings, r.annotationWarnings()...) },
		func() { in.Initial, in.Changes, err = r.causes(ctx, in) },
		func() {
			// How long nodes take is a trait of the group, and a short window may show none that came.
			in.ProvisionDelays = whole.provisionDelays()
			known := in.AllGroups()
			maps.DeleteFunc(in.ProvisionDelays, func(name string, _ time.Duration) bool {
				return !slices.ContainsFunc(known, func(g scalehist.NodeGroup) bool { return g.Name == name }) // it is of another time
			})
		},
		func() {
			if d, ok := whole.deletionDelay(); ok {
				in.DeletionDelay = &d
			}
		},
		func() { in.Terminations = terminations(whole.lives()) },
		func() { in.LoopsSeen, in.AutoscalerStarted = r.seenLoops() },
		func() { _, in.Requested = whole.deliveries(in.Start) },
		func() {
			in.Faults = r.faults()
			for _, f := range in.Faults {
				in.Warnings = append(in.Warnings, describeFault(f))
			}
		},
		func() { in.StaticPods = r.staticPods() },
		func() {
			if in.Truth = r.truth(); in.Truth != nil {
				in.waits = r.waitsOf(r.demands())
				in.recordWaits(in.Truth, in.End)
			}
		},
	} {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if part(); err != nil {
			return err
		}
	}
	return nil
}

// load reads a window of a history.
func readWindow(ctx context.Context, db *history.DB, w Window) (*recorded, error) {
	rec := &recorded{start: w.From.UTC(), end: w.To.UTC()}
	var err error
	if rec.initial, err = db.SnapshotAt(ctx, rec.start); err != nil {
		return nil, fmt.Errorf("snapshot at %s: %w", moment.Stamp(rec.start), err)
	}
	for change, err := range db.Changes(ctx, rec.start, rec.end) {
		if err != nil {
			return nil, fmt.Errorf("read changes: %w", err)
		}
		rec.changes = append(rec.changes, change)
	}
	if rec.events, err = db.Events(ctx, history.EventFilter{To: rec.end}); err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	rec.departed = observed.Departed(rec.initial)
	rec.groups = rec.initialGroups()
	rec.lifetimes()
	return rec, nil
}

// loadWhole reads the whole history, which is rec itself if that is all of it.
func loadWhole(ctx context.Context, db *history.DB, rec *recorded) (*recorded, error) {
	from, to := db.Span()
	if rec.start.Equal(from) && rec.end.Equal(to) {
		return rec, nil
	}
	return readWindow(ctx, db, Window{From: from, To: to})
}

// resize sets the sizes at the start of the window where target sizes were not recorded: by the steps that events
// stated before it.
func (r *recorded) resize(whole *recorded) {
	if len(whole.sizeSteps()) > 0 {
		return
	}
	size := map[string]int{}
	for _, s := range whole.eventSteps() {
		if !s.At.After(r.start) {
			size[s.NodeGroup] = s.To
		}
	}
	for i := range r.groups {
		// What is there was asked for, whatever the events stated.
		r.groups[i].TargetSize = max(r.groups[i].TargetSize, size[r.groups[i].Name])
	}
}

func historyName(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if name != "recording" {
		return name
	}
	if abs, err := filepath.Abs(path); err == nil { // fixtures/<name>/recording.db
		name = filepath.Base(filepath.Dir(abs))
	}
	return name
}

// initialGroups are the node groups at the start. A target size ahead of the nodes is kept: those nodes are on their way.
func (r *recorded) initialGroups() []scalehist.NodeGroup {
	groups := slices.Clone(r.initial.NodeGroups)
	sizes := observed.SizesAt(r.initial)
	for i := range groups {
		groups[i].TargetSize = sizes[groups[i].Name]
	}
	return groups
}

// recorded is a window of a history in memory, as the analyses below want it.
type recorded struct {
	start, end time.Time
	initial    *scalehist.ClusterSnapshot
	changes    []scalehist.Change
	events     []history.Event
	groups     []scalehist.NodeGroup
	// late are groups that came after the start, went when those that were removed were.
	late map[string]lateGroup
	went map[string]time.Time
	// along names the nodes that were there before their group was, and so are fed in.
	along map[string]bool
	// departed nodes stood at the start, but their removal was decided before it.
	departed map[string]bool
	// demanded are the demands, once they were asked for.
	demanded *demands
	// seenAtOnce are the most nodes that the whole history shows of each group whose limit is a guess.
	seenAtOnce map[string]int
}

// groupOf is the node group a recorded node belongs to, "" if none that is known.
func (r *recorded) groupOf(n *corev1.Node) string {
	name := n.Annotations[v1alpha1.NodeGroupAnnotation]
	if slices.ContainsFunc(r.groups, func(g scalehist.NodeGroup) bool { return g.Name == name }) {
		return name
	}
	if _, ok := r.late[name]; ok {
		return name
	}
	return ""
}

// groupChanges are recorded changes of bounds, templates and options, and groups that come and go; target sizes are effects,
// but for the one a group comes with.
func (r *recorded) groupChanges() []GroupChange {
	last := map[string]scalehist.NodeGroup{}
	for _, g := range r.groups {
		last[g.Name] = g
	}
	var out []GroupChange
	for _, ch := range r.changes {
		o, ok := ch.Object.(*v1alpha1.NodeGroup)
		if !ok {
			continue
		}
		was, known := last[o.Name]
		switch {
		case ch.Op == scalehist.OpDelete && known:
			delete(last, o.Name)
			out = append(out, GroupChange{At: ch.At, Op: scalehist.OpDelete, Group: was, Keep: r.standingIn(o.Name, ch.At)})
			continue
		case ch.Op == scalehist.OpDelete:
			continue
		case !known:
			last[o.Name] = snapshot.NodeGroup(o)
			out = append(out, GroupChange{At: ch.At, Op: scalehist.OpAdd, Group: last[o.Name]})
			continue
		}
		next := was
		now := snapshot.NodeGroup(o)
		next.MinSize, next.MaxSize, next.GuessedMax, next.Options = now.MinSize, now.MaxSize, now.GuessedMax, now.Options
		if next.GuessedMax {
			next.MaxSize = max(next.MaxSize, r.seenAtOnce[o.Name])
		}
		if o.Spec.Template != nil {
			next.Template = now.Template
		}
		if next.MinSize == was.MinSize && next.MaxSize == was.MaxSize && next.GuessedMax == was.GuessedMax &&
			equality.Semantic.DeepEqual(next.Template, was.Template) && equality.Semantic.DeepEqual(next.Options, was.Options) {
			continue
		}
		last[o.Name] = next
		out = append(out, GroupChange{At: ch.At, Group: next})
	}
	return out
}

// staticPods are the mirror pods every node of a group runs, taken from the first node of the group that has any.
func (r *recorded) staticPods() map[string][]*corev1.Pod {
	out := map[string][]*corev1.Pod{}
	from := map[string]string{}
	group := map[string]string{}
	for _, n := range r.initial.Objects.Nodes {
		group[n.Name] = r.groupOf(n)
	}
	for _, p := range r.initial.Objects.Pods {
		g := group[p.Spec.NodeName]
		if g == "" || ownerKind(p) != "Node" {
			continue
		}
		if from[g] == "" {
			from[g] = p.Spec.NodeName
		}
		if from[g] == p.Spec.NodeName {
			out[g] = append(out[g], p)
		}
	}
	return out
}

// isAutoscalerSetting says whether the object only carries the recorded autoscaler's settings.
func isAutoscalerSetting(o scalehist.Object) bool {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return o.Name == "cluster-autoscaler"
	case *corev1.ConfigMap:
		return true // only the autoscaler's own are recorded
	}
	return false
}
