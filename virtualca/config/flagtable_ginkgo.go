package config

import "strings"

// ginkgoFlags are those of a test framework that is linked into the released program: name without "ginkgo.", type, default.
const ginkgoFlags = `
	always-emit-ginkgo-writer bool false
	debug bool false
	dry-run bool false
	dryRun bool false
	fail-fast bool false
	fail-on-empty bool false
	fail-on-pending bool false
	failFast bool false
	failOnPending bool false
	flake-attempts int 0
	flakeAttempts int 0
	focus stringSliceVar
	focus-file stringSliceVar
	force-newlines bool false
	github-output bool false
	gojson-report string
	grace-period duration 30s
	json-report string
	junit-report string
	label-filter string
	no-color bool false
	noColor bool false
	noisyPendings bool false
	noisySkippings bool false
	output-interceptor-mode string
	parallel.host string
	parallel.process int 1
	parallel.total int 1
	poll-progress-after duration 0s
	poll-progress-interval duration 0s
	progress bool false
	randomize-all bool false
	randomizeAllSpecs bool false
	regexScansFilePath bool false
	reportFile string
	seed int random
	sem-ver-filter string
	show-node-events bool false
	silence-skips bool false
	skip stringSliceVar
	skip-file stringSliceVar
	slow-spec-threshold duration 0s
	slowSpecThreshold float 0
	source-root stringSliceVar
	succinct bool false
	teamcity-report string
	timeout duration 1h0m0s
	trace bool false
	v bool false
	vv bool false
`

// flagsOfGinkgo are the rows of ginkgoFlags.
func flagsOfGinkgo() []Flag {
	var out []Flag
	for line := range strings.Lines(strings.TrimSpace(ginkgoFlags)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		kind, value, _ := strings.Cut(rest, " ")
		out = append(out, Flag{"ginkgo." + name, kind, value, WithoutInfluence, "of a test framework that is linked into the program"})
	}
	return out
}
