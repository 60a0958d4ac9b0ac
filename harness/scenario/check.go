package scenario

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/kvcl/profile"
	"github.com/scalehist/scalehist/harness/truth"
	"github.com/scalehist/scalehist/prices"
)

// check finds what is wrong beyond types, before anything is replayed.
func (s *Scenario) check(d *decoder, engines Engines) {
	at := func(path, format string, args ...any) { d.atf(s.pos(path), format, args...) }
	if s.Name != "" && s.Slug() == "" {
		at("name", "name: %q has no letter and no digit", s.Name)
	}
	if s.History == "" {
		at("history", "history is missing: the recording (.db) to replay")
	} else if _, err := os.Stat(s.Path(s.History)); err != nil {
		at("history", "history: %v", err)
	}
	s.oneOf(d, "playback", s.Playback, string(scalehist.PlaybackContinuous), string(scalehist.PlaybackPerEvent))
	s.oneOf(d, "scheduler", string(s.Scheduler), string(profile.ScoringDefault), string(profile.ScoringBinPacking))
	s.oneOf(d, "ties", string(s.Ties), string(harness.TiesUpstream), string(harness.TiesByHash), string(harness.TiesByCreation))
	s.oneOf(d, "controlPlane", s.ControlPlane, harness.ControlPlanes...)
	if _, err := engines.Engine(s.engine(engines)); err != nil {
		at("autoscaler", "autoscaler: %v%s", err, suggest(s.Autoscaler, engines.Names()))
	} else {
		for i, f := range s.Flags {
			if err := engines.CheckFlags(s.engine(engines), []string{f}); err != nil {
				at(fmt.Sprintf("flags[%d]", i), "flags: %v", err)
			}
		}
	}
	s.checkRealTime(d, engines)
	if _, given := s.at["for"]; given && s.For == 0 {
		at("for", "for: nothing would be played")
	}
	if s.perEvent() && s.For != 0 {
		at("for", "for: a per-event playback ends each event when its nodes have joined; choose the events with window")
	}
	s.checkGroups(d)
	s.checkFaults(d)
	if _, err := s.PriceTable(s.Path); err != nil {
		at("prices", "prices: %v", err)
	}
	if _, err := engines.Controls(&s.Settings, s.Path); err != nil {
		key := "horizontal"
		for _, k := range []string{"objects", "load"} {
			if strings.HasPrefix(err.Error(), k+":") {
				key = k
			}
		}
		at(key, "%v", err)
	}
	s.checkExpect(d)
}

// checkRealTime: what goes with an engine in real time alone, and what does not.
func (s *Scenario) checkRealTime(d *decoder, engines Engines) {
	at := func(path, format string, args ...any) { d.atf(s.pos(path), format, args...) }
	if !engines.RealTime(s.engine(engines)) {
		if s.Speed != 0 {
			at("speed", "speed goes with autoscaler exec:PATH: others are played in virtual time")
		}
		return
	}
	if s.ControlPlane == harness.Memory {
		at("controlPlane", "controlPlane: a program needs an API server: leave it out, or write %s", harness.EnvTest)
	}
	if s.perEvent() {
		at("playback", "playback: an autoscaler in real time cannot be put back to single moments; replay continuously")
	}
}

func (s *Scenario) engine(engines Engines) string {
	if s.Autoscaler == "" {
		return engines.Names()[0]
	}
	return s.Autoscaler
}

func (s *Scenario) perEvent() bool { return s.Playback == string(scalehist.PlaybackPerEvent) }

func (s *Scenario) checkGroups(d *decoder) {
	for _, name := range slices.Sorted(maps.Keys(s.NodeGroups)) {
		g, path := s.NodeGroups[name], "nodeGroups."+name
		at := func(key, format string, args ...any) { d.atf(s.pos(path+key), path+": "+format, args...) }
		switch {
		case (g.MinSize == nil) != (g.MaxSize == nil):
			at("", "minSize and maxSize go together")
		case g.MinSize != nil && (*g.MinSize < 0 || *g.MaxSize < *g.MinSize):
			at(".minSize", "minSize %d and maxSize %d: want 0 <= minSize <= maxSize", *g.MinSize, *g.MaxSize)
		}
		if g.PriceModel == "" {
			continue
		}
		if _, err := prices.ParseModel(g.PriceModel); err != nil {
			at(".priceModel", "priceModel: %v", err)
		} else if s.Prices == nil {
			at(".priceModel", "priceModel goes with prices")
		}
	}
}

func (s *Scenario) checkFaults(d *decoder) {
	if _, err := s.AllFaults(s.Path); err != nil {
		d.atf(s.pos("faultFile"), "faultFile: %v", err)
	}
}

func (s *Scenario) checkExpect(d *decoder) {
	at := func(path, format string, args ...any) { d.atf(s.pos(path), format, args...) }
	e := s.Expect
	if len(s.expectations(Judging{})) == 0 {
		at("expect", "expect is missing or empty: it would pass whatever happens. 'scalehist new scenario' writes what happens today")
	}
	if e.Cost != nil && s.Prices == nil {
		at("expect.cost", "expect.cost goes with prices: without a table there is no cost")
	}
	if e.Truth != "" {
		if _, err := truth.Read(s.Path(e.Truth)); err != nil {
			at("expect.truth", "expect.truth: %v", err)
		}
		for _, key := range []string{"window", "for"} {
			if _, given := s.at[key]; given {
				at("expect.truth", "expect.truth is of the whole recording: leave out %s", key)
			}
		}
		if s.perEvent() {
			at("expect.truth", "expect.truth: a per-event playback has no outcome; replay continuously")
		}
	}
	for i, w := range e.Decisions {
		path := fmt.Sprintf("expect.decisions[%d]", i)
		s.oneOf(d, path+".first", w.First, scaleUp, scaleDown)
		s.oneOf(d, path+".last", w.Last, scaleUp, scaleDown)
		s.oneOf(d, path+".outcome", w.Outcome, outcomes...)
		switch {
		case w.First != "" && w.Last != "":
			at(path, "%s: first and last: give one of them", path)
		case w.First == "" && w.Last == "" && !w.At.Set && w.Loop == 0 && w.NodeGroup == "" && w.Because == "" && w.Outcome == "" && w.Nodes == nil &&
			w.Controller == "" && w.Workload == "" && w.Replicas == nil:
			at(path, "%s is empty: which decision, and what of it?", path)
		case w.Loop < 0:
			at(path+".loop", "%s.loop: loops count from 1", path)
		}
		s.checkControlled(d, path, w)
	}
	s.checkWorkloads(d)
	if s.perEvent() {
		for _, key := range []string{"finalSizes", "unschedulable", "keepNodes", "cost"} {
			if _, given := s.at["expect."+key]; given {
				at("expect."+key, "expect.%s: each event of a per-event playback has an end of its own; expect recording, scaledUp or decisions", key)
			}
		}
		for _, q := range e.Recording.Questions {
			if q != scalehist.QuestionScaledUp {
				at("expect.recording", "expect.recording: no time passes in a per-event playback, so %s has no answer; it has one for %s", q, scalehist.QuestionScaledUp)
			}
		}
	}
}

// checkControlled finds keys of a decision that do not go together: those of node autoscalers and those of controllers.
func (s *Scenario) checkControlled(d *decoder, path string, w Decision) {
	at := func(key, format string, args ...any) { d.atf(s.pos(path+key), path+key+": "+format, args...) }
	if w.Controller == "" && w.Workload == "" {
		if w.Replicas != nil {
			at(".replicas", "a node autoscaler sets none: name a controller or a workload")
		}
		return
	}
	for _, x := range []struct {
		key   string
		given bool
	}{{".loop", w.Loop != 0}, {".nodeGroup", w.NodeGroup != ""}, {".nodes", w.Nodes != nil}, {".outcome", w.Outcome != ""}} {
		if x.given {
			at(x.key, "a controller of workloads has none: leave out controller and workload, or this")
		}
	}
	if !s.withWorkloads() {
		at("", "no controller of workloads runs: name one (vertical, horizontal)")
	}
}

// withWorkloads says whether reports have workloads: where something sets their replicas, or gives them load.
func (s *Scenario) withWorkloads() bool {
	acts := func(name string) bool { return name != "" && name != harness.Recorded }
	return s.Load != "" || acts(s.Horizontal) || acts(s.Vertical)
}

func (s *Scenario) checkWorkloads(d *decoder) {
	if s.Expect.Workloads != nil && !s.withWorkloads() {
		d.atf(s.pos("expect.workloads"), "expect.workloads goes with vertical, horizontal or load: without them a report has no workloads")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Expect.Workloads)) {
		path := "expect.workloads." + name
		w := s.Expect.Workloads[name]
		if reflect.ValueOf(w).IsZero() && !s.keysBelow(path) {
			d.atf(s.pos(path), "%s is empty: what of its replicas?", path)
		}
		s.checkAmounts(d, path+".requests.", w.Requests)
		s.checkAmounts(d, path+".peakRequests.", w.PeakRequests)
	}
}

func (s *Scenario) checkAmounts(d *decoder, path string, want map[string]Amounts) {
	for _, container := range slices.Sorted(maps.Keys(want)) {
		if at := path + container; want[container] == (Amounts{}) && !s.keysBelow(at) {
			d.atf(s.pos(at), "%s is empty: name cpu or memory, or both", at)
		}
	}
}

// keysBelow says whether the file has any key, known or not, below a path.
func (s *Scenario) keysBelow(path string) bool {
	for at := range s.at {
		if strings.HasPrefix(at, path+".") {
			return true
		}
	}
	return false
}

var outcomes = []string{
	string(scalehist.ScaleUpSuccessful), string(scalehist.ScaleUpError), string(scalehist.ScaleUpNoOptionsAvailable), string(scalehist.ScaleUpNotNeeded),
	string(scalehist.ScaleUpNotTried), string(scalehist.ScaleUpInCooldown), string(scalehist.ScaleUpLimitedByMaxNodesTotal),
}

// Decision reasons are words of the file; these are the kinds first and last know.
const (
	scaleUp   = "scale-up"
	scaleDown = "scale-down"
	agrees    = "agrees"
	differs   = "differs"
)

// command quotes an argument for a shell where it must be.
func command(arg string) string {
	if arg != "" && !strings.ContainsFunc(arg, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("./_-:@%+=,", r)
	}) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
