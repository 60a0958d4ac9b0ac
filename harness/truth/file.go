package truth

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/decode"
)

// File is a truth file, NAME.truth.json. Offsets are seconds from a run's start.
type File struct {
	Scenario string `json:"scenario"`
	// What says in one sentence what happens.
	What string `json:"what"`
	// RecordedWith names what ran, and its version.
	RecordedWith map[string]string `json:"recordedWith"`
	// Flags are those of the cluster-autoscaler.
	Flags      []string    `json:"flags"`
	NodeGroups []NodeGroup `json:"nodeGroups"`
	// SameSizeHistoryInAllRuns: each group went through the same sizes in the same order, times aside.
	SameSizeHistoryInAllRuns bool `json:"sameSizeHistoryInAllRuns"`
	// FirstStepsInAllRuns are the leading steps that every run took alike, at the times of the first run.
	FirstStepsInAllRuns []Step `json:"firstStepsInAllRuns"`
	// Outcomes are the distinct ends of all runs.
	Outcomes []scalehist.Outcome `json:"outcomes"`
	// Runs has one entry for each time the scenario was run; the recording is the first.
	Runs []Run `json:"runs"`
}

// NodeGroup is a node group as the scenario began.
type NodeGroup struct {
	Name        string `json:"name"`
	MachineType string `json:"machineType"`
	Zone        string `json:"zone"`
	MinSize     int    `json:"minSize"`
	MaxSize     int    `json:"maxSize"`
	InitialSize int    `json:"initialSize"`
	// ProvisionDelaySeconds is the time from a request to the Ready node.
	ProvisionDelaySeconds float64 `json:"provisionDelaySeconds"`
	// StockOutSeconds are windows [from, to) from the workload's start in which creation fails, StockOutAnswer says how:
	// "instance" (the instance answers with an error).
	StockOutSeconds [][2]float64 `json:"stockOutSeconds,omitempty"`
	StockOutAnswer  string       `json:"stockOutAnswer,omitempty"`
}

// Step is what one loop changed: the size each group had before and after it.
type Step struct {
	At    float64           `json:"at"`
	Sizes map[string][2]int `json:"sizes"`
}

// Run is one run of the scenario.
type Run struct {
	Run int `json:"run"`
	// Log is the recording of this run; only the first has one.
	Log             string    `json:"log,omitempty"`
	Start           time.Time `json:"start"`
	DurationSeconds float64   `json:"durationSeconds"`
	// WorkloadStartSeconds is when the workload began.
	WorkloadStartSeconds float64 `json:"workloadStartSeconds"`
	// Loops are the instants at which autoscaler loops began.
	Loops []float64 `json:"loops"`
	// TargetSizes per group: [offset, size], the first at 0.
	TargetSizes map[string][][2]float64 `json:"targetSizes"`
	// ProviderCalls are the size changes asked of the provider, and creation failures.
	ProviderCalls      []ProviderCall `json:"providerCalls"`
	ScaledUp           map[string]int `json:"scaledUp"`
	ScaledDown         map[string]int `json:"scaledDown"`
	FinalSizes         map[string]int `json:"finalSizes"`
	PeakSizes          map[string]int `json:"peakSizes"`
	UnschedulableAtEnd []string       `json:"unschedulableAtEnd"`
	// ScheduledAtEnd counts pods with a node, DaemonSet pods included.
	ScheduledAtEnd int `json:"scheduledAtEnd"`
	NodesAtEnd     int `json:"nodesAtEnd"`
	// Reasons are what the autoscaler's log says of its decisions, where it was read.
	Reasons []Reason `json:"reasons,omitempty"`
}

// Reason is why a loop grew a group, or began to remove a node of it. At is when the loop began.
type Reason struct {
	At    float64 `json:"at"`
	Group string  `json:"group"`
	Text  string  `json:"text"`
}

// ProviderCall is something asked of, or answered by, the provider.
type ProviderCall struct {
	At    float64 `json:"at"`
	What  string  `json:"what"`
	Group string  `json:"group"`
	// Delta is set for "increase", Nodes for "delete", Instance for "instance-out-of-stock".
	Delta    int      `json:"delta,omitempty"`
	Nodes    []string `json:"nodes,omitempty"`
	Instance string   `json:"instance,omitempty"`
}

// required are the fields a truth cannot be judged by without.
var required = []string{"scenario", "flags", "nodeGroups", "firstStepsInAllRuns", "outcomes", "runs"}

// Read reads a truth file.
func Read(path string) (*File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("truth file %s does not exist", path)
		}
		return nil, fmt.Errorf("read truth file: %w", err)
	}
	f, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s is not a truth file: %w", path, err)
	}
	return f, nil
}

// Parse reads a truth. Unknown fields, missing ones, and what contradicts itself are errors that name the place.
func Parse(b []byte) (*File, error) {
	var keys map[string]json.RawMessage
	if err := decode.JSON(b, &keys); err != nil {
		return nil, fmt.Errorf("want one JSON object: %w", err)
	}
	for _, name := range required {
		if v, ok := keys[name]; !ok || string(v) == "null" {
			return nil, fmt.Errorf("field %q is missing", name)
		}
	}
	var f File
	if err := decode.StrictJSON(b, &f); err != nil {
		return nil, err
	}
	return &f, f.check()
}

func (f *File) check() error {
	if f.Scenario == "" {
		return errors.New(`field "scenario" is empty`)
	}
	if len(f.NodeGroups) == 0 {
		return errors.New(`field "nodeGroups" is empty`)
	}
	names := f.groupNames()
	for i, name := range names {
		if name == "" || i > 0 && names[i-1] == name {
			return fmt.Errorf("nodeGroups: the name %q is empty or comes twice", name)
		}
	}
	if len(f.Runs) == 0 || len(f.Outcomes) == 0 {
		return errors.New(`fields "runs" and "outcomes" need one entry at least`)
	}
	for i, r := range f.Runs {
		if r.Start.IsZero() {
			return fmt.Errorf(`runs[%d]: field "start" is missing`, i)
		}
		if r.DurationSeconds <= 0 {
			return fmt.Errorf(`runs[%d]: field "durationSeconds" is missing or not positive`, i)
		}
	}
	for i, o := range f.Outcomes {
		for what, sizes := range map[string]map[string]int{"scaledUp": o.ScaledUp, "scaledDown": o.ScaledDown, "finalSizes": o.FinalSizes} {
			if got := slices.Sorted(maps.Keys(sizes)); !slices.Equal(got, names) {
				return fmt.Errorf("outcomes[%d].%s: want an entry for each of %s, got %s", i, what, strings.Join(names, ", "), strings.Join(got, ", "))
			}
		}
	}
	last := 0.0
	for i, s := range f.FirstStepsInAllRuns {
		if len(s.Sizes) == 0 || s.At < last {
			return fmt.Errorf("firstStepsInAllRuns[%d]: no sizes, or before the one in front of it", i)
		}
		last = s.At
		for name := range s.Sizes {
			if !slices.Contains(names, name) {
				return fmt.Errorf("firstStepsInAllRuns[%d]: unknown node group %q: there are %s", i, name, strings.Join(names, ", "))
			}
		}
	}
	_, err := f.scanInterval()
	return err
}

func (f *File) groupNames() []string {
	names := make([]string, len(f.NodeGroups))
	for i, g := range f.NodeGroups {
		names[i] = g.Name
	}
	slices.Sort(names)
	return names
}

// defaultScanInterval is upstream's --scan-interval.
const defaultScanInterval = 10 * time.Second

// scanInterval is how far apart the recorded loops were.
func (f *File) scanInterval() (time.Duration, error) {
	out := defaultScanInterval
	for _, flag := range f.Flags {
		text, ok := strings.CutPrefix(strings.TrimLeft(flag, "-"), "scan-interval=")
		if !ok {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return 0, fmt.Errorf("flags: %s is no positive duration", flag)
		}
		out = d
	}
	return out, nil
}

// seconds turns an offset into an instant of the first run.
func (f *File) seconds(s float64) time.Time {
	return f.Runs[0].Start.Add(time.Duration(s * float64(time.Second))).Round(time.Millisecond).UTC()
}
