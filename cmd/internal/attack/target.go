package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// target is a command, and how it is given an input.
type target struct {
	// command is the path of the command, without the program's name.
	command string
	kind    kind
	// args follow the command. {in} is the input, {out} a name in an empty folder, {root} the module's root, {server} a server's address.
	args string
	// makes is the name below {out} of a file that is only there after exit code 0.
	makes string
	// then is what an input that exit code 0 was said of must pass too.
	then []target
	// changes: it is there to change its input.
	changes bool
	// compares: exit code 1 is an answer.
	compares bool
	// answers: it may not refuse its input.
	answers bool
	// reports: what is wrong is its result, and exit code 2 comes without a message.
	reports bool
	// about is what a refusal may speak of in place of the input.
	about string
	// serves: it is a server, and the input is a body that is sent to this path.
	serves string
	// asks: it asks a server, at {server}, whose answer to requests of this method is the input.
	asks string
}

// history are the targets that a history is given to, wherever it comes from.
var history = []target{
	{command: "inspect", args: "{in}"},
	{command: "inspect", args: "{in} -o json"},
	{command: "doctor", args: "{in}", compares: true, reports: true, then: replayed},
	{command: "doctor", args: "{in} -o json", compares: true, reports: true, then: replayed},
	{command: "replay", args: "{in} --report-dir {out}/r", compares: true},
	{command: "replay", args: "{in} --playback per-event -o json", compares: true},
	{command: "replay", args: "{in} --autoscaler recommender:optimal --optimal", compares: true},
	{command: "replay", args: "{in} --full-snapshots --ties creation -o json", compares: true},
	{command: "export", args: "{in} -o {out}/x.jsonl.gz", makes: "x.jsonl.gz"},
	{command: "cut", args: "{in} --from +10s --to -10s -f {out}/x.db", makes: "x.db"},
	{command: "redact", args: "{in} -f {out}/x.db", makes: "x.db"},
	{command: "retain", args: "{in} --keep 30s", changes: true},
	{command: "compact", args: "{in}", changes: true},
	{command: "recommend", args: "--history {in} --scale-down"},
	{command: "recommend", args: "--history {in} --strategy optimal --at +10s -o json"},
	// A time that is wrong by a year makes a window of a year, which a sweep replays more than once: minutes of honest work.
	{command: "sweep", args: "{in} --for 10m --set expander=least-waste,most-pods", compares: true},
	{command: "backtest", args: "{in} --vertical vpa --vertical max-usage --interval 1h --html {out}/x.html"},
	{command: "horizontal forecast", args: "{in} --season 20s --lead 5s --step 1s --html {out}/x.html"},
	{command: "new scenario", args: "{in} -f {out}/x.yaml", makes: "x.yaml", about: "replay x"},
}

// replayed is what may not be refused when doctor has nothing to say.
var replayed = []target{{command: "replay", args: "{in}", compares: true, answers: true}}

// targets lists how every command is attacked. A command that is not here is in excused: a test holds both against the command tree.
func targets() []target {
	var all []target
	for _, t := range history {
		t.kind = historyKind
		all = append(all, t)
		// A history that was made of a log reaches further than one whose bytes were changed: its hashes are right.
		all = append(all, target{command: "import", kind: logKind, args: "{in} -o {out}/x.db", makes: "x.db", then: []target{t}})
	}
	reports := "{root}/" + good
	return append(all, []target{
		{command: "report", kind: reportKind, args: "{in} -o {out}/x.html", makes: "x.html"},
		{command: "compare", kind: reportKind, args: reports + "/two-machine-sizes/report.json {in} --force", compares: true},
		{command: "explain", kind: reportKind, args: "{in} --node-group shoot--demo--aws-p2-z1", about: "unknown node group"},
		{command: "view", kind: reportKind, args: "{in}"},
		{command: "replay", kind: reportKind, args: "{in} --playback snapshots", compares: true},
		{command: "recommend", kind: reportKind, args: "--report {in}"},
		{command: "gate", kind: reportKind, args: "--baseline " + reports + " --candidate {dir} --policy {root}/examples/gate/gate.yaml", compares: true, about: "no scenario is on both sides"},
		{command: "gate", kind: policyKind, args: "--baseline " + reports + " --candidate " + reports + "/../candidate --policy {in}", compares: true},
		{command: "recommend", kind: requestKind, args: "--snapshot {in}"},
		{command: "recommend", kind: requestKind, args: "--snapshot {in} --strategy optimal --scale-down -o json"},
		{command: "recommender serve", kind: requestKind, args: "--listen 127.0.0.1:0", serves: "POST /v1/recommend"},
		{command: "recommender serve", kind: requestKind, args: "--listen 127.0.0.1:0", serves: "POST /v1/recommend"},
		{command: "replay", kind: answerKind, args: "{root}/" + goodHistory + " --autoscaler http://{server} --autoscaler-flag --remote-timeout=3s", asks: "POST", compares: true, about: "recommender at"},
		{command: "replay", kind: answerKind, args: "{root}/" + goodHistory + " --autoscaler http://{server}#any --playback per-event -o json --autoscaler-flag --remote-timeout=3s", asks: "POST", compares: true, about: "recommender at"},
		{command: "replay", kind: strategiesKind, args: "{root}/" + goodHistory + " --autoscaler http://{server} --autoscaler-flag --remote-timeout=3s", asks: "GET", compares: true, about: "recommender at"},
		{command: "sweep", kind: answerKind, args: "{root}/" + goodHistory + " --engine http://{server} --set scan-interval=10s,20s --autoscaler-flag --remote-timeout=3s", asks: "POST", compares: true, about: "recommender at"},
		{command: "recommend", kind: answerKind, args: "--history {root}/" + goodHistory + " --server http://{server} --timeout 3s -o json", asks: "POST", about: "recommender at"},
		{command: "recommend", kind: answerKind, args: "--history {root}/" + goodHistory + " --server http://{server} --timeout 3s --scale-down", asks: "POST", about: "recommender at"},
		{command: "serve", kind: historyKind, args: "--config {root}/cmd/internal/attack/testdata/sources/none.yaml --dir {out}/h --listen 127.0.0.1:0", serves: "PUT /api/histories/x"},
		{command: "serve", kind: clustersKind, args: "--check --config {in}", compares: true},
		{command: "replay", kind: truthKind, args: "{root}/fixtures/ca-pdb-blocks-drain/recording.db --truth {in}", compares: true},
		{command: "test", kind: scenarioKind, args: "{in} --artifacts {out}", compares: true, reports: true},
		{command: "test", kind: scenarioKind, args: "{in} --list", compares: true},
		{command: "replay", kind: pricesKind, args: "{root}/" + goodHistory + " --prices {in} --region eu-west-1", compares: true, about: "price"},
		{command: "recommend", kind: pricesKind, args: "--history {root}/" + goodHistory + " --prices {in}", about: "price"},
		{command: "replay", kind: faultsKind, args: "{root}/" + goodHistory + " --faults {in}", compares: true, about: "aws-burst"},
		{command: "replay", kind: configKind, args: "{root}/" + goodHistory + " --config-file {in}", compares: true, about: "aws-burst"},
		{command: "config show", kind: configKind, args: "replay --config-file {in}"},
	}...)
}

// excused lists the commands that are not attacked, and why.
var excused = map[string]string{
	"record":               "needs a cluster; what a hostile API server says to it is for the tests of package recorder",
	"conformance":          "reads no input",
	"completion":           "reads no input",
	"version":              "reads no input",
	"man":                  "reads no input",
	"gate init":            "reads no input",
	"gate schema":          "reads no input",
	"config":               "is a group of commands",
	"new":                  "is a group of commands",
	"recommender":          "is a group of commands",
	"emulate":              "is a group of commands",
	"emulate serve":        "waits for workers; broken requests are for the tests of load/emulate, broken histories for those of other commands",
	"emulate worker":       "waits for a server; broken requests are for the tests of load/emulate",
	"vertical":             "is a group of commands",
	"vertical recommend":   "needs a cluster; what is wrong with it is for the tests of recommender/vertical/operator",
	"vertical serve":       "requests and answers that are wrong are for the tests of recommender/vertical/remote/serve",
	"horizontal":           "is a group of commands",
	"horizontal crd":       "reads no input",
	"horizontal serve":     "needs a cluster; what broken triggers and answers of Prometheus do is for the tests of recommender/horizontal/elasti",
	"generate":             "reads no input",
	"train":                "reads a history as backtest does; models that are wrong are for the fuzzer of recommender/vertical/boosted and the tests of recommender/vertical",
	"env":                  "reads a history as backtest does; requests that are wrong are for the tests of recommender/vertical/env",
	"prometheus":           "is a group of commands",
	"prometheus serve":     "reads a history as export does; requests are for the fuzz test of recorder/promserve",
	"provider":             "is a group of commands",
	"truth":                "is a group of commands",
	"truth record":         "reads a history as replay does, and runs a cluster-autoscaler for minutes",
	"discovery":            "is a group of commands",
	"discovery serve":      "needs an encryption key; requests that are wrong are for the tests of virtualca/discovery",
	"nodemanager":          "is a group of commands",
	"nodemanager serve":    "reads a history as provider serve does; requests that are wrong are for the tests of virtualca/nodemanager",
	"provider calls":       "reads a history as export does, and one object a call; other objects are refused in the tests of package engines/calls",
	"provider record":      "forwards messages as they are, and writes a new history; what a hostile provider answers is for the tests of package virtualca/nodegroups",
	"provider serve":       "speaks gRPC, whose messages package externalgrpc is fuzzed with; its files are read as by import and record",
	"provider conformance": "reads no input; what a hostile provider answers is for the tests of package virtualca/nodegroups",
}

// commands walks the command tree of a binary: the names of its manual pages are the paths, with hyphens for spaces.
func commands(ctx context.Context, scalehist, dir string) ([]string, error) {
	if _, err := output(ctx, dir, scalehist, "man", "--dir", filepath.Join(dir, "man")); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(dir, "man"))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
		if command, ok := strings.CutPrefix(name, "scalehist-"); ok {
			all = append(all, command)
		}
	}
	return all, nil
}

// uncovered gives an error that names the commands that are neither attacked nor excused, and those that are and do not exist.
func uncovered(commands []string) error {
	known, seen := map[string]bool{}, map[string]bool{}
	for _, t := range targets() {
		known[strings.ReplaceAll(t.command, " ", "-")] = true
	}
	for c := range excused {
		known[strings.ReplaceAll(c, " ", "-")] = true
	}
	for _, c := range commands {
		if !known[c] {
			return fmt.Errorf("scalehist %s is not attacked: add a target, or say in excused why not", strings.ReplaceAll(c, "-", " "))
		}
		seen[c] = true
	}
	maps.DeleteFunc(known, func(c string, _ bool) bool { return seen[c] })
	for _, c := range slices.Sorted(maps.Keys(known)) {
		return fmt.Errorf("scalehist %s does not exist: take it out of targets and excused", strings.ReplaceAll(c, "-", " "))
	}
	return nil
}
