package histories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/observed"
	"github.com/scalehist/scalehist/recorder/sources"
)

// inspection is what inspect shows; its JSON is the output of -o json.
type inspection struct {
	File       string                     `json:"file"`
	Meta       map[string]string          `json:"meta"`
	Origin     scalehist.Origin           `json:"origin"`
	From       time.Time                  `json:"from"`
	To         time.Time                  `json:"to"`
	Hash       string                     `json:"sha256"`
	Recordings []history.Recording        `json:"recordings"`
	Gaps       []history.Gap              `json:"gaps"`
	Stats      history.Stats              `json:"stats"`
	NodeGroups []inspectedGroup           `json:"nodeGroups"`
	Settings   scalehist.CASettings       `json:"settings"`
	Changes    []scalehist.SettingsChange `json:"settingsChanges"`
	StepsFrom  string                     `json:"stepsFrom"`
	Steps      []scalehist.RecordedStep   `json:"steps"`
	// Notes are what the recorder noted about its own work.
	Notes    recorderNotes `json:"notes"`
	Warnings []string      `json:"warnings"`
}

type inspectedGroup struct {
	Name        string `json:"name"`
	MachineType string `json:"machineType,omitempty"`
	Zone        string `json:"zone,omitempty"`
	MinSize     int    `json:"minSize"`
	MaxSize     int    `json:"maxSize"`
	Initial     int    `json:"initial"`
	Peak        int    `json:"peak"`
	Final       int    `json:"final"`
	HasTemplate bool   `json:"hasTemplate"`
	// BoundsFrom and TargetSizeFrom say where the sizes come from ("nodes": counted); empty if the source did not say.
	BoundsFrom     string `json:"boundsFrom,omitempty"`
	TargetSizeFrom string `json:"targetSizeFrom,omitempty"`
}

func newInspectCommand(s console.IO) *cobra.Command {
	var format console.Format
	cmd := &cobra.Command{
		Use:   "inspect FILE.db",
		Short: "Show what a history holds",
		Long: `Show what a history holds: its span, its origin, recordings and gaps, how much of which kind, the node groups, the autoscaler's
settings, the scale-ups and scale-downs that were seen, and what the recorder noted about itself: measurements, a wrong
clock, deletions that nobody saw. Of a group it tells where its bounds and its size come from: "nodes" means counted.

For more, open it with sqlite3: a view per kind (pod, node, node_group, ca_settings, scale_up, ...) reads as tables.`,
		Example: `  # What is in the file?
  scalehist inspect prod.db

  # Every column, flags included
  scalehist inspect prod.db -o wide

  # For a script
  scalehist inspect prod.db -o json | jq '.nodeGroups[] | {name, initial, final}'`,
		Args:              console.ExactArgs("FILE.db"),
		ValidArgsFunction: console.CompleteHistory,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			db, err := history.Open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			v, err := inspect(cmd.Context(), db)
			if err != nil {
				return err
			}
			if format == console.FormatJSON {
				return s.PrintJSON(v)
			}
			v.print(s, format)
			return nil
		},
	}
	console.AddFormatFlag(cmd, &format)
	return cmd
}

func inspect(ctx context.Context, db *history.DB) (*inspection, error) {
	v := &inspection{File: db.Path(), Recordings: []history.Recording{}, Gaps: []history.Gap{}, NodeGroups: []inspectedGroup{},
		Changes: []scalehist.SettingsChange{}, Steps: []scalehist.RecordedStep{}, Warnings: []string{}}
	v.From, v.To = db.Span()
	var err error
	if v.Meta, err = db.Meta(ctx); err != nil {
		return nil, err
	}
	if v.Origin, err = db.Origin(ctx); err != nil {
		return nil, err
	}
	if v.Hash, err = db.Hash(ctx); err != nil {
		return nil, err
	}
	recordings, err := db.Recordings(ctx)
	if err != nil {
		return nil, err
	}
	v.Recordings = append(v.Recordings, recordings...)
	gaps, err := db.Gaps(ctx, time.Time{}, time.Time{})
	if err != nil {
		return nil, err
	}
	v.Gaps = append(v.Gaps, gaps...)
	if v.Stats, err = db.Stats(ctx); err != nil {
		return nil, err
	}
	if err := v.groups(ctx, db); err != nil {
		return nil, err
	}
	changes, err := db.SettingsChanges(ctx, time.Time{}, time.Time{})
	if err != nil {
		return nil, err
	}
	if len(changes) > 0 {
		v.Settings = changes[0].Settings
		v.Changes = append(v.Changes, changes[1:]...)
	}
	steps, from, err := observed.Steps(ctx, db)
	if err != nil {
		return nil, err
	}
	v.Steps, v.StepsFrom = append(v.Steps, steps...), from
	if from == observed.StepsFromEvents {
		v.followEvents()
	}
	if v.Notes, err = readNotes(ctx, db); err != nil {
		return nil, err
	}
	v.warn()
	return v, nil
}

func (v *inspection) groups(ctx context.Context, db *history.DB) error {
	sizes, err := observed.NodeGroupSizes(ctx, db, time.Time{}, time.Time{})
	if err != nil {
		return err
	}
	index := map[string]int{}
	for _, z := range sizes {
		i, ok := index[z.NodeGroup]
		if !ok {
			i = len(v.NodeGroups)
			index[z.NodeGroup] = i
			v.NodeGroups = append(v.NodeGroups, inspectedGroup{Name: z.NodeGroup, Initial: z.TargetSize})
		}
		g := &v.NodeGroups[i]
		g.MinSize, g.MaxSize, g.Final = z.MinSize, z.MaxSize, z.TargetSize
		if z.Deleted {
			g.Final = 0
		}
		g.Peak = max(g.Peak, z.TargetSize)
	}
	snapshot, err := db.SnapshotAt(ctx, v.To)
	if err != nil {
		return err
	}
	for _, n := range snapshot.NodeGroups {
		if i, ok := index[n.Name]; ok {
			g := &v.NodeGroups[i]
			g.MachineType, g.Zone, g.HasTemplate = n.MachineType, n.Zone, n.Template != nil
		}
	}
	objects, err := db.ObjectsAt(ctx, v.To, "NodeGroup")
	if err != nil {
		return err
	}
	for _, o := range objects {
		if i, ok := index[o.GetName()]; ok {
			from := o.GetAnnotations()
			v.NodeGroups[i].BoundsFrom, v.NodeGroups[i].TargetSizeFrom = from[sources.BoundsFrom], from[sources.TargetSizeFrom]
		}
	}
	slices.SortFunc(v.NodeGroups, func(a, b inspectedGroup) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// followEvents gives the groups the sizes that the events state. It is for histories in which no target size was ever
// seen to change: what they say of a group then is what some source took it for.
func (v *inspection) followEvents() {
	seen := map[string]bool{}
	for _, step := range v.Steps {
		i := slices.IndexFunc(v.NodeGroups, func(g inspectedGroup) bool { return g.Name == step.NodeGroup })
		if i < 0 {
			continue
		}
		g := &v.NodeGroups[i]
		if !seen[g.Name] {
			seen[g.Name] = true
			g.Initial, g.Peak = step.From, step.From
		}
		g.Peak, g.Final = max(g.Peak, step.From, step.To), step.To
	}
}

// warn says what a replay of this history will miss.
func (v *inspection) warn() {
	if len(v.NodeGroups) == 0 {
		v.Warnings = append(v.Warnings, "no node groups were recorded: a replay needs them; record with a node-group source or a mapping file")
	}
	for _, g := range v.NodeGroups {
		if !g.HasTemplate {
			v.Warnings = append(v.Warnings, fmt.Sprintf("node group %s has no template: it can grow only from a node it has", g.Name))
		}
	}
	if len(v.Settings.Flags) == 0 {
		v.Warnings = append(v.Warnings, "no cluster-autoscaler settings were recorded: a replay uses upstream's defaults")
	}
	for _, g := range trace.JoinGaps(v.Gaps) {
		v.Warnings = append(v.Warnings, fmt.Sprintf("nothing is known of %s from %s to %s: %s", kindsText(g.Kinds), stamp(g.From), stamp(g.To), g.Why))
	}
	for _, r := range v.Recordings {
		if r.To.IsZero() {
			v.Warnings = append(v.Warnings, fmt.Sprintf("the recording of %s is still open, or its recorder died", stamp(r.From)))
		}
	}
}

// originText says what a history is evidence of.
func originText(o scalehist.Origin) string {
	switch o {
	case scalehist.OriginScripted:
		return string(o) + " (scalehist's own autoscaler on a virtual cluster)"
	case scalehist.OriginImported:
		return string(o) + " (an object log)"
	case scalehist.OriginRecorded:
		return string(o) + " (a live cluster)"
	}
	return string(o)
}

func kindsText(kinds []string) string {
	if len(kinds) == 0 {
		return "anything"
	}
	return strings.Join(kinds, ", ")
}

func (v *inspection) print(s console.IO, f console.Format) {
	name := v.File
	if c := v.Meta["cluster"]; c != "" {
		name += " (cluster " + c + ")"
	}
	s.Printf("%s: %s to %s (%s), %s\n", name, stamp(v.From), stamp(v.To), v.To.Sub(v.From).Round(time.Millisecond), bytesText(v.Stats.FileBytes))
	if src := v.Meta["source"]; src != "" {
		s.Printf("source: %s\n", src)
	}
	s.Printf("origin: %s\n", originText(v.Origin))
	if f == console.FormatWide {
		s.Printf("sha256: %s\n", v.Hash)
	}
	if len(v.Recordings) > 1 || f == console.FormatWide {
		t := console.Table{Title: "\nRecordings", Columns: []console.Column{{Name: "from"}, {Name: "to"}, {Name: "kinds", Wide: true}}}
		for _, r := range v.Recordings {
			t.Rows = append(t.Rows, []string{stamp(r.From), stamp(r.To), kindsText(r.Kinds)})
		}
		s.PrintTable(t, f)
	}
	kinds := console.Table{Title: "\nContent", Columns: []console.Column{{Name: "kind"}, {Name: "objects", Right: true}, {Name: "versions", Right: true}, {Name: "contents", Right: true}}}
	for _, k := range v.Stats.Kinds {
		kinds.Rows = append(kinds.Rows, []string{k.Kind, console.Count(k.Objects), console.Count(k.Versions), console.Count(k.Contents)})
	}
	s.PrintTable(kinds, f)
	if len(v.Stats.Events) > 0 {
		events := console.Table{Title: "\nEvents", Columns: []console.Column{{Name: "reason"}, {Name: "events", Right: true}, {Name: "occurrences", Right: true}}}
		for _, e := range v.Stats.Events {
			events.Rows = append(events.Rows, []string{e.Reason, console.Count(e.Events), console.Count(e.Occurrences)})
		}
		s.PrintTable(events, f)
	}
	if len(v.NodeGroups) > 0 {
		groups := console.Table{Title: "\nNode groups", Columns: []console.Column{{Name: "name"}, {Name: "machine"}, {Name: "zone"}, {Name: "min", Right: true}, {Name: "max", Right: true},
			{Name: "initial", Right: true}, {Name: "peak", Right: true}, {Name: "final", Right: true}}}
		known := slices.ContainsFunc(v.NodeGroups, func(g inspectedGroup) bool { return g.BoundsFrom != "" || g.TargetSizeFrom != "" })
		if known {
			groups.Columns = append(groups.Columns, console.Column{Name: "bounds from"}, console.Column{Name: "size from"})
		}
		for _, g := range v.NodeGroups {
			row := []string{g.Name, g.MachineType, g.Zone, strconv.Itoa(g.MinSize), strconv.Itoa(g.MaxSize),
				strconv.Itoa(g.Initial), strconv.Itoa(g.Peak), strconv.Itoa(g.Final)}
			if known {
				row = append(row, cmp.Or(g.BoundsFrom, "-"), cmp.Or(g.TargetSizeFrom, "-"))
			}
			groups.Rows = append(groups.Rows, row)
		}
		s.PrintTable(groups, f)
	}
	v.printSettings(s, f)
	v.printSteps(s, f)
	v.Notes.print(s, f, v.Stats.Usages)
	for _, w := range v.Warnings {
		s.Printf("\nwarning: %s", w)
	}
	if len(v.Warnings) > 0 {
		s.Printf("\n")
	}
}

func (v *inspection) printSettings(s console.IO, f console.Format) {
	if len(v.Settings.Flags) == 0 {
		return
	}
	s.Printf("\nAutoscaler settings (%s later)\n", plural.Of(len(v.Changes), "change"))
	for _, flag := range v.Settings.Flags {
		s.Printf("%s\n", flag)
	}
	if v.Settings.Priorities != "" {
		s.Printf("priorities: %s\n", strings.TrimSpace(v.Settings.Priorities))
	}
	if f != console.FormatWide {
		return
	}
	for _, c := range v.Changes {
		s.Printf("at %s: %s\n", stamp(c.At), strings.Join(c.Settings.Flags, " "))
	}
}

// shownPods is how many pods of a scale-up a table names; -o wide names all.
const shownPods = 3

func (v *inspection) printSteps(s console.IO, f console.Format) {
	if len(v.Steps) == 0 {
		return
	}
	t := console.Table{Title: "\nScaling, read from " + v.StepsFrom, Columns: []console.Column{{Name: "offset", Right: true}, {Name: "at", Wide: true}, {Name: "node group"}, {Name: "size"}, {Name: "pods"}}}
	for _, step := range v.Steps {
		pods := step.Pods
		more := ""
		if f != console.FormatWide && len(pods) > shownPods {
			more = fmt.Sprintf(" and %d more", len(pods)-shownPods)
			pods = pods[:shownPods]
		}
		t.Rows = append(t.Rows, []string{"+" + step.At.Sub(v.From).Round(time.Millisecond).String(), stamp(step.At), step.NodeGroup,
			fmt.Sprintf("%d->%d", step.From, step.To), strings.Join(pods, " ") + more})
	}
	s.PrintTable(t, f)
}

func bytesText(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}
