package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scalehist/scalehist"
)

// askedFor is the input that says what was asked of a replay: flags, prices, faults. To compare these is what a comparison
// is for.
const askedFor = "scenario"

// Comparable says why two replays are not of the same thing: another recording, window or playback. Empty: they are.
func Comparable(a, b *scalehist.ReplayReport) string {
	for _, name := range inputNames(a, b) {
		if x, y := hash(a, name), hash(b, name); name != askedFor && x != y {
			return fmt.Sprintf("they replay different recordings (%s is %s and %s)", name, short(x), short(y))
		}
	}
	switch {
	case a.Playback != b.Playback:
		return fmt.Sprintf("one is a %s playback, the other %s", a.Playback, b.Playback)
	case !a.StartTime.Equal(b.StartTime):
		return fmt.Sprintf("they begin at different instants (%s and %s)", stamp(a.StartTime), stamp(b.StartTime))
	case !a.EndTime.Equal(b.EndTime):
		return fmt.Sprintf("they end at different instants (after %s and %s)", a.EndTime.Sub(a.StartTime), b.EndTime.Sub(b.StartTime))
	}
	return ""
}

// AskedAlike says whether the same was asked of two replays: flags, prices, delays, faults.
func AskedAlike(a, b *scalehist.ReplayReport) bool {
	return hash(a, askedFor) == hash(b, askedFor) && slices.Equal(a.Settings.Flags, b.Settings.Flags)
}

func inputNames(reports ...*scalehist.ReplayReport) []string {
	var names []string
	for _, r := range reports {
		for _, in := range r.Inputs {
			names = append(names, in.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// hash is the input's SHA-256, empty when there is none.
func hash(r *scalehist.ReplayReport, name string) string {
	for _, in := range r.Inputs {
		if in.Name == name {
			return in.SHA256
		}
	}
	return ""
}

func short(hash string) string {
	if hash == "" {
		return "absent"
	}
	return "sha256:" + hash[:min(12, len(hash))]
}

func inputs(sides []Side) []Input {
	var reports []*scalehist.ReplayReport
	for _, s := range sides {
		reports = append(reports, s.Report)
	}
	out := []Input{}
	for _, name := range inputNames(reports...) {
		in := Input{Name: name}
		for _, r := range reports {
			h := hash(r, name)
			in.Differs = in.Differs || len(in.SHA256) > 0 && h != in.SHA256[0]
			in.SHA256 = append(in.SHA256, h)
		}
		out = append(out, in)
	}
	return out
}

// settings are what was asked for that differs.
func settings(sides []Side) []Setting {
	out := []Setting{}
	add := func(what string, of func(*scalehist.ReplayReport) string) {
		s := Setting{What: what}
		for _, side := range sides {
			s.Values = append(s.Values, of(side.Report))
		}
		if slices.ContainsFunc(s.Values, func(v string) bool { return v != s.Values[0] }) {
			out = append(out, s)
		}
	}
	add("scenario", func(r *scalehist.ReplayReport) string { return r.Scenario })
	add("autoscaler", func(r *scalehist.ReplayReport) string { return r.Autoscaler })
	add("controllers", controllers)
	common := commonFlags(sides)
	add("flags", func(r *scalehist.ReplayReport) string {
		var own []string
		for _, f := range r.Settings.Flags {
			if !common[f] {
				own = append(own, f)
			}
		}
		return cmp.Or(strings.Join(own, " "), "(none of these)")
	})
	add("priorities", func(r *scalehist.ReplayReport) string {
		return cmp.Or(strings.TrimSpace(r.Settings.Priorities), "(none)")
	})
	add("batch interval", func(r *scalehist.ReplayReport) string { return r.BatchInterval.String() })
	add("faults", func(r *scalehist.ReplayReport) string { return cmp.Or(strings.Join(r.Faults, "; "), "(none)") })
	for _, name := range groupNames(sides) {
		add("bounds of "+name, func(r *scalehist.ReplayReport) string {
			for _, g := range r.NodeGroups {
				if g.Name == name {
					return fmt.Sprintf("%d:%s", g.MinSize, g.Bounds().MaxText())
				}
			}
			return "(no such group)"
		})
		add("provision delay of "+name, func(r *scalehist.ReplayReport) string {
			for _, g := range r.NodeGroups {
				if g.Name == name {
					return g.ProvisionDelay.String()
				}
			}
			return "(no such group)"
		})
	}
	return out
}

// commonFlags are the flags that all sides have.
func commonFlags(sides []Side) map[string]bool {
	count := map[string]int{}
	for _, s := range sides {
		flags := slices.Clone(s.Report.Settings.Flags)
		slices.Sort(flags)
		for _, f := range slices.Compact(flags) {
			count[f]++
		}
	}
	common := map[string]bool{}
	for f, n := range count {
		common[f] = n == len(sides)
	}
	return common
}

func groupNames(sides []Side) []string {
	var names []string
	for _, s := range sides {
		for _, g := range s.Report.NodeGroups {
			names = append(names, g.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
