package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// kind says what an input is: which sources and which mutators it has.
type kind string

const (
	historyKind  kind = "history"
	logKind      kind = "log"
	reportKind   kind = "report"
	requestKind  kind = "request"
	truthKind    kind = "truth"
	scenarioKind kind = "scenario"
	policyKind   kind = "policy"
	pricesKind   kind = "prices"
	faultsKind   kind = "faults"
	configKind   kind = "config"
	clustersKind kind = "clusters"
	// answerKind and strategiesKind are what a recommender answers to POST /v1/recommend and GET /v1/strategies.
	answerKind     kind = "answer"
	strategiesKind kind = "strategies"
)

// goodHistory is the history that other inputs are tried with.
const goodHistory = "fixtures/aws-burst/recording.db"

// good are the reports that other inputs are tried with.
const good = "report/gate/testdata/baseline"

// files lists the sources of each kind, from the module's root. Small ones: what is found in a large history is found in a small one.
var files = map[kind][]string{
	historyKind: {goodHistory, "fixtures/from-zero/recording.db", "fixtures/pdb-blocks-drain/recording.db", "fixtures/gpu-taints/recording.db",
		"fixtures/zone-bound-volumes/recording.db", "fixtures/ca-scale-from-zero/recording.db", "fixtures/stockout-fallback/recording.db"},
	reportKind: {good + "/two-machine-sizes/report.json", "report/testdata/explain/idle.json"},
	truthKind:  {"fixtures/ca-pdb-blocks-drain/truth.json", "fixtures/ca-balance-zones/truth.json"},
	scenarioKind: {"examples/scenarios/basic.yaml", "examples/scenarios/faults.yaml", "examples/scenarios/flags-and-prices.yaml",
		"examples/scenarios/real.yaml"},
	policyKind:   {"examples/gate/gate.yaml"},
	pricesKind:   {"examples/gate/prices.yaml", "cmd/internal/attack/testdata/sources/prices.yaml"},
	faultsKind:   {"cmd/internal/attack/testdata/sources/faults.yaml"},
	configKind:   {"cmd/internal/attack/testdata/sources/config.yaml"},
	clustersKind: {"cmd/internal/attack/testdata/sources/clusters.yaml"},
}

// name is how a file of the kind is called where a command is given it.
func (k kind) name() string {
	switch k {
	case historyKind:
		return "input.db"
	case logKind:
		return "input.jsonl"
	case reportKind:
		return "two-machine-sizes/report.json" // as a set of reports has it, with a name that the other set has
	case requestKind, truthKind, answerKind, strategiesKind:
		return "input.json"
	}
	return "input.yaml"
}

// sources holds the bytes of all sources, by kind.
type sources map[kind][]source

type source struct {
	name string
	data []byte
}

// load reads the sources, and makes those that scalehist itself makes: logs of the histories, and a request and a report of the good history.
// What it makes is the same on every run.
func load(ctx context.Context, root, scalehist string) (sources, error) {
	all := sources{strategiesKind: {{"what a recommender says it is", []byte(askedStrategies)}}, answerKind: {{"nothing to do", []byte(askedAnswer)}}}
	for k, names := range files {
		for _, name := range names {
			data, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				return nil, err
			}
			all[k] = append(all[k], source{name, data})
		}
	}
	generated, exported, err := generate(ctx, root, scalehist)
	if err != nil {
		return nil, err
	}
	all[historyKind] = append(all[historyKind], source{"generate diurnal", generated})
	all[logKind] = append(all[logKind], source{"export of generate diurnal", exported})
	for _, name := range files[historyKind] {
		data, err := output(ctx, root, scalehist, "export", name)
		if err != nil {
			return nil, err
		}
		all[logKind] = append(all[logKind], source{"export " + name, data})
		request, err := output(ctx, root, scalehist, "recommend", "--history", name, "-o", "request")
		if err != nil {
			return nil, err
		}
		all[requestKind] = append(all[requestKind], source{"request of " + name, request})
	}
	for k, args := range map[kind][]string{
		reportKind: {"replay", goodHistory, "--control-plane", "memory", "--full-snapshots", "-o", "json"},
		answerKind: {"recommend", "--history", goodHistory, "--at", "+60s", "--scale-down", "-o", "json"},
	} {
		data, err := output(ctx, root, scalehist, args...)
		if err == nil {
			data, err = withoutRun(data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", k, goodHistory, err)
		}
		all[k] = append(all[k], source{fmt.Sprintf("%s of %s", k, goodHistory), data})
	}
	return all, nil
}

// generate makes a history with usage, which those of the fixtures have not, and exports it.
func generate(ctx context.Context, root, scalehist string) (data, log []byte, err error) {
	dir, err := os.MkdirTemp("", "attack-generated-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "generated.db")
	if _, err := output(ctx, root, scalehist, "generate", "diurnal", "--for", "30m", "--limit", "1,1Gi", "-o", path); err != nil {
		return nil, nil, err
	}
	if log, err = output(ctx, root, scalehist, "export", path); err != nil {
		return nil, nil, err
	}
	data, err = os.ReadFile(path)
	return data, log, err
}

// withoutRun leaves out wall time and memory, which differ from run to run.
func withoutRun(text []byte) ([]byte, error) {
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return nil, err
	}
	delete(fields, "run")
	return json.Marshal(fields)
}

// output runs scalehist on good input.
func output(ctx context.Context, root, scalehist string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, scalehist, args...)
	cmd.Dir = root
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == 1: // it differs from the recording
		return out, nil
	case errors.As(err, &exit):
		return nil, fmt.Errorf("scalehist %q: %w: %s", args, err, exit.Stderr)
	case err != nil:
		return nil, fmt.Errorf("scalehist %q: %w", args, err)
	}
	return out, nil
}
