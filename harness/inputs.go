package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/load"
)

// nodeFaultList is nil for none, so that it is left out of the hash.
func nodeFaultList(f []trace.NodeFault) any {
	if len(f) == 0 {
		return nil
	}
	return f
}

// inputs are the hashes of what went in: the recording's, and of the settings and options that shape a replay.
func (r *run) inputs() []scalehist.InputHash {
	scenario := struct {
		Engine     string
		Start, End time.Time
		Batch      scalehist.Duration
		Flags      []string
		Settings   scalehist.CASettings
		Faults     any
		NodeFaults any   `json:",omitempty"`
		Seed       int64 `json:",omitempty"`
		Delays     map[string]time.Duration
		Default    *time.Duration
		Deletion   *time.Duration
		Bounds     map[string][2]int
		Prices     any
		Scoring    string
		// What controllers are, are configured with, and have to do.
		Controllers []string           `json:",omitempty"`
		Objects     []scalehist.Object `json:",omitempty"`
		Load        []load.Series      `json:",omitempty"`
		Speed       float64            `json:",omitempty"`
		// What is wrong with the metrics that they read.
		MetricFaults []load.Fault `json:",omitempty"`
	}{
		r.engine.Name(), r.in.Start, r.end, scalehist.Duration(r.batch), r.opts.Flags, r.ledger.FirstSettings(), r.in.Faults, nodeFaultList(r.in.NodeFaults), r.opts.Seed,
		r.in.ProvisionDelays, r.opts.ProvisionDelay, r.in.DeletionDelay, r.opts.bounds(), r.opts.prices, string(r.opts.Scheduler),
		r.controllerNames(), r.opts.objects, r.load, r.opts.Speed, r.in.MetricFaults,
	}
	if r.opts.recordedLoad {
		scenario.Load = nil // it is in the history
	}
	b, err := json.Marshal(scenario)
	if err != nil {
		b = []byte(err.Error()) // plain data; cannot happen, and must not hide the rest of a report
	}
	sum := sha256.Sum256(b)
	return append(append([]scalehist.InputHash{}, r.in.Hashes...),
		scalehist.InputHash{Name: "scenario", SHA256: hex.EncodeToString(sum[:])})
}
