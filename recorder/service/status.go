package service

import (
	"time"

	"github.com/scalehist/scalehist/recorder"
)

// State says what becomes of a cluster now.
type State string

// The states of a cluster.
const (
	// StateConnecting: the cluster is asked for its first lists.
	StateConnecting State = "connecting"
	// StateRecording: its changes are written; Status.Reason says if some watches are down.
	StateRecording State = "recording"
	// StateFailed: it could not be recorded, Status.Reason says why; the next attempt is at Status.NextTry.
	StateFailed State = "failed"
	// StateStopping: what was queued is being written, then the recording ends.
	StateStopping State = "stopping"
)

// States are all of them, in the order in which a cluster goes through them.
func States() []State {
	return []State{StateConnecting, StateRecording, StateFailed, StateStopping}
}

// Status is what is known of a cluster.
type Status struct {
	Name  string
	State State
	// Reason says why it failed, or which watches are down while it records; "" if all is well.
	Reason string
	// Since is when it came into the state, NextTry when a failed one is tried again.
	Since, NextTry time.Time
	// Path is the history, Server the host of the API server once the kubeconfig was read.
	Path, Server string
	// Tried: one attempt has begun to record, or has failed.
	Tried bool
	// Attempts were made, Starts of them began to record, Failures ended with an error.
	Attempts, Starts, Failures int64
	// Changes have been seen and Written of them are in the file, over all attempts.
	Changes, Written int64
	// Recorder are the counts of the present attempt.
	Recorder recorder.Stats
	// Refused says which kinds are not recorded and what to do, a line each.
	Refused []string
}

// ConfigStatus says what became of the configuration.
type ConfigStatus struct {
	// Path is the file that is read.
	Path string
	// LoadedAt is when the configuration in force was read, Clusters how many it has.
	LoadedAt time.Time
	Clusters int
	// Problem says why the file as it is now is not in force, since FailedAt; "" if it is.
	Problem  string
	FailedAt time.Time
	// Reloads took effect, Refused did not.
	Reloads, Refused int64
	// Unwatched says why changes of the file are not noticed by themselves; "" if they are.
	Unwatched string
}
