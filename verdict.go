package scalehist

import "time"

// SizeStep is what one autoscaler loop changed of the target sizes, taken together; or what changed at one instant
// between two loops, when a drain ended there.
type SizeStep struct {
	At time.Time `json:"at"`
	// Loop is the autoscaler's loop (Decision.Loop), 0 between loops.
	Loop int `json:"loop,omitempty"`
	// Changes has one entry per node group, in the order the autoscaler asked; a group that ended where it began is
	// left out.
	Changes []SizeChange `json:"changes"`
}

// SizeChange is a change of one node group's target size, in nodes.
type SizeChange struct {
	NodeGroup string `json:"nodeGroup"`
	From      int    `json:"from"`
	To        int    `json:"to"`
}

// TruthVerdict holds a replay against everything a real autoscaler was seen to do with the same load. The real thing is
// not deterministic, so the truth is a set of outcomes, and steps that all its runs took alike.
type TruthVerdict struct {
	// Scenario is the truth's name for it.
	Scenario string `json:"scenario"`
	// Agreed: the replay's outcome is one of those seen, and its steps begin as all runs began.
	Agreed bool `json:"agreed"`
	// Replayed is the outcome of the replay.
	Replayed Outcome `json:"replayed"`
	// Outcomes and Runs count what was seen; Outcome is the one the replay shows, from 1, or 0.
	Outcomes int `json:"outcomes"`
	Runs     int `json:"runs"`
	Outcome  int `json:"outcome"`
	// Nearest is set when the replay shows none of the outcomes.
	Nearest *NearestOutcome `json:"nearest,omitempty"`
	// FirstSteps counts the steps that all runs took alike; FirstDifference is the first the replay did not take.
	FirstSteps      int             `json:"firstSteps"`
	FirstDifference *StepDifference `json:"firstDifference,omitempty"`
}

// Outcome is where a run ended: nodes per node group, groups that did not move included.
type Outcome struct {
	ScaledUp           map[string]int `json:"scaledUp"`
	ScaledDown         map[string]int `json:"scaledDown"`
	FinalSizes         map[string]int `json:"finalSizes"`
	UnschedulableAtEnd int            `json:"unschedulableAtEnd"`
}

// NearestOutcome is the seen outcome that parts least from the replay's.
type NearestOutcome struct {
	// Number counts from 1.
	Number  int     `json:"number"`
	Outcome Outcome `json:"outcome"`
	Parts   []Part  `json:"parts"`
}

// Part is one number in which two outcomes part.
type Part struct {
	// What is "scaled up", "scaled down", "final size" or "unschedulable at end".
	What      string `json:"what"`
	NodeGroup string `json:"nodeGroup,omitempty"`
	Seen      int    `json:"seen"`
	Replayed  int    `json:"replayed"`
}

// StepDifference is a step that all runs took alike and the replay did not.
type StepDifference struct {
	// Number counts from 1.
	Number int `json:"number"`
	// Kind is "missing" (the replay has fewer steps), "sizes" or "time".
	Kind     string    `json:"kind"`
	Seen     SizeStep  `json:"seen"`
	Replayed *SizeStep `json:"replayed,omitempty"`
	// Reason says how they part; Decision is the one behind ours, or the one that was due when there is no step.
	Reason   string    `json:"reason"`
	Decision *Decision `json:"decision,omitempty"`
}
