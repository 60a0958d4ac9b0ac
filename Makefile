# scalehist. Everything is Go: the tools below come through the Go module proxy, pinned in tools/go.mod.

GO       ?= go
TOOL      = $(GO) tool -modfile=tools/go.mod
GINKGO    = $(GO) run github.com/onsi/ginkgo/v2/ginkgo
GEN       = gen
MODULE    = github.com/scalehist/scalehist
PROCS    ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
FUZZTIME ?= 20s
COUNT    ?= 6
# The first of the seeds of make attack.
SEED     ?= 1
# What takes longest is begun first: go test keeps the order of its arguments.
LONGEST   = ./scenarios ./cmd/scalehist/cli ./recorder ./harness/kvcl/crosscheck
# What the race detector makes ten times slower and sees nothing in, because one goroutine works, or other programs do: packages, and tests of others,
# which say //scalehist:unraced. They run without it; the scenarios run in memory with it, and on real control planes without.
UNRACED       = backtest/contest|doctor|engines|harness/(kvcl/crosscheck|trace)|cmd/internal/(attack|mutation|release)|internal/(deps|docstest)|virtualca/conformance
UNRACED_TESTS = $(shell grep -rhA1 --include='*_test.go' '^//scalehist:unraced$$' . | grep -oE '^func Test\w+' | cut -c6- | sort -u | paste -sd '|')
# What make quick leaves out: packages that boot API servers, run programs or build them, and half a minute of replays each.
SLOW      = scenarios|deploy|engines|load/emulate|virtualca/conformance|recorder(/history/redact)?|engines/realca|cmd/scalehist/cli|fixtures/workload/live|harness/kvcl(/virtual|/crosscheck)?|recommender/(horizontal/elasti|vertical)/operator|cmd/internal/(attack|mutation|release)|internal/(deps|docstest)
BENCH    ?= .
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS   = -X $(MODULE)/cmd/scalehist/console.Version=$(VERSION)

.DEFAULT_GOAL := help
.PHONY: help quick models recommender-tables scenarios test test-json record record-check golden lint crosscheck bench bench-keep fuzz mutation attack build image release-extras release-check install gitdiff clean assets web web-test web-shots proto truth

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

scenarios: assets ## Run the regression suite: one line per scenario, reports and JUnit under gen/
	@mkdir -p $(GEN)
	$(GINKGO) run --procs=$(PROCS) --randomize-all --keep-going $$(test -t 1 || echo --no-color) ./scenarios

test: assets ## Run every test, the scenarios included; JUnit under gen/
	@mkdir -p $(GEN)
	$(TOOL) gotestsum --format=pkgname --format-hide-empty-pkg --junitfile=$(GEN)/test.xml --raw-command -- $(MAKE) --no-print-directory --silent test-json

# What go test -json prints of all tests. The scenarios in memory run beside the others. One package more than there are cores: some wait for processes.
test-json:
	@failed=0; run() { $(GO) test -json -timeout=30m -p=$$(($(PROCS) + 1)) "$$@" || failed=1; }; \
	packages=$$($(GO) list $(LONGEST) ./...); \
	SCALEHIST_CONTROL_PLANE=memory $(GO) test -json -timeout=30m -race ./scenarios -ginkgo.label-filter='!unraced' >$(GEN)/memory.json & memory=$$!; \
	run -race -skip '^($(UNRACED_TESTS))$$' $$(echo "$$packages" | grep -vxE '$(MODULE)/(scenarios|$(UNRACED))'); \
	wait $$memory || failed=1; cat $(GEN)/memory.json; \
	run ./scenarios $$(echo "$$packages" | grep -xE '$(MODULE)/($(UNRACED))'); \
	run -run '^($(UNRACED_TESTS))$$' $$(grep -rl --include='*_test.go' '^//scalehist:unraced$$' . | xargs -n1 dirname | sort -u); \
	exit $$failed

quick: ## Run the tests that need no API server, browser or other program: about two minutes on two cores
	KUBEBUILDER_ASSETS=/nowhere $(GO) test -short $$($(GO) list ./... | grep -vxE '$(MODULE)/($(SLOW))')

record: gitdiff ## Record a fixture again: make record FIXTURE=name, or all that are scripted: FIXTURE=all [KUBECONFIG=cluster to record instead [FOR=10m]]
	@test -n "$(FIXTURE)" || { echo "make record: FIXTURE is not set: name a directory of fixtures/" >&2; exit 2; }
	$(GO) run ./fixtures/workload/record -fixture $(FIXTURE) $(if $(filter command line,$(origin KUBECONFIG)),-kubeconfig $(KUBECONFIG)) $(if $(FOR),-for $(FOR))

models: ## Train the models of vertical recommenders that are built in again, with their learning curves: two minutes
	$(GO) run ./cmd/scalehist train boosted -o recommender/vertical/models/boosted.json --plot docs/images/learning-boosted.svg --curve docs/learning-boosted.csv
	$(GO) run ./cmd/scalehist train policy --loads 2 -o recommender/vertical/models/policy.json --plot docs/images/learning-policy.svg --curve docs/learning-policy.csv

recommender-tables: ## Write the tables of docs/recommenders.md again: a minute
	$(GO) test ./backtest/contest -run Tables -count=1 -update

record-check: assets ## Play every script again, and fail if a recording differs from the one checked in: make record-check [STALE=1: only if what recordings are made by changed since]
	$(GO) run ./fixtures/workload/record -fixture all -check $(if $(STALE),-stale)

golden: assets ## Accept what everything does now as what it should do: timelines, pages, schemas, examples; read the diff before you commit it
	$(GO) test ./scenarios -count=1 -args -update
	$(GO) test ./harness/trace -run AnnotationsPage -update
	$(GO) test ./virtualca/config -run Flags -update
	$(GO) test ./engines -run Verdict -update
	$(GO) test ./doctor ./report ./report/gate ./report/metrics ./report/ci ./report/compare ./backtest/foresight ./cmd/scalehist/view -update
	$(GO) test ./recommender/api ./recommender/vertical/remote/serve ./virtualca/nodemanager ./virtualca/discovery -run OpenAPI -update
	$(GO) test ./cmd/scalehist/cli -run Conformance -update-conformance
	SCALEHIST_UPDATE=1 $(GO) test ./harness/scenario ./recorder/service -run Schema
	SCALEHIST_UPDATE=1 $(GO) test ./cmd/scalehist/cli -run 'GoScaffolds|WhatAUserReads|ViewPage'
	$(GO) test ./internal/docstest -update

lint: ## Fail on anything gofmt, go mod tidy, go vet or golangci-lint would change or complain about
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l); \
	  test -z "$$unformatted" || { echo "gofmt: not formatted: run gofmt -w on:"; echo "$$unformatted"; exit 1; }
	$(GO) mod tidy -diff
	$(GO) -C tools mod tidy -diff
	$(TOOL) golangci-lint run ./...

crosscheck: ## Play random programs of changes on two control planes: make crosscheck [SEEDS=200] [PLANES=envtest,memory] [SEED=7 for one, printed]
	$(GO) test ./harness/kvcl/crosscheck -count=1 -timeout=24h -run PlanesAgree -v -args -planes $(or $(PLANES),envtest,memory) $(if $(filter command line,$(origin SEED)),-seed $(SEED),-seeds $(or $(SEEDS),200))

bench: assets ## Measure: make bench [BENCH=Day] [PKG=./harness] [COUNT=6] [LONG=1: minutes on envtest] [PROFILE=1]; writes bench/latest/bench.txt and table.md
	@mkdir -p bench/latest
	@{ echo "# version: $(VERSION)"; echo "# go version: $$($(GO) env GOVERSION)"; echo "# kubernetes: $$($(GO) list -m -f '{{.Version}}' k8s.io/kubernetes)"; \
	  echo "# cores: $(PROCS)"; echo "# load before: $$(cut -d' ' -f1-3 /proc/loadavg 2>/dev/null || echo unknown)"; } > bench/latest/bench.txt
	$(if $(LONG),SCALEHIST_BENCH_LONG=1) $(if $(PROFILE),SCALEHIST_BENCH_HEAPS=$(CURDIR)/bench/latest) \
	  $(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count=$(COUNT) -timeout=$(if $(LONG),8h,3h) \
	  $(if $(PROFILE),-cpuprofile bench/latest/cpu.prof -memprofile bench/latest/mem.prof -o bench/latest/bench.test $(or $(PKG),./harness),$(or $(PKG),./...)) | tee -a bench/latest/bench.txt
	@$(GO) run ./cmd/internal/benchtable -published bench/published.yaml bench/latest/bench.txt > bench/latest/table.md
	@if test -f bench/baseline.txt -a '$(BENCH)' = .; then $(TOOL) benchstat bench/baseline.txt bench/latest/bench.txt; fi
	@echo "bench/latest/table.md"$(if $(PROFILE),; echo "profiles: go tool pprof bench/latest/bench.test bench/latest/cpu.prof (mem.prof, heap-day1.prof)")

bench-keep: ## Keep the last measurement as that of a release: make bench-keep [VERSION=v1.2.0]; writes bench/VERSION.txt and .md
	@case "$(VERSION)" in v[0-9]*-g*|*-dirty) echo "make bench-keep: $(VERSION) is no release: check out a tag, or give VERSION" >&2; exit 2;; v[0-9]*) ;; \
	  *) echo "make bench-keep: $(VERSION) is no release: check out a tag, or give VERSION" >&2; exit 2;; esac
	@test -s bench/latest/bench.txt || { echo "make bench-keep: there is no bench/latest/bench.txt: run make bench first" >&2; exit 2; }
	sed 's/^# version: .*/# version: $(VERSION)/' bench/latest/bench.txt > bench/$(VERSION).txt
	$(GO) run ./cmd/internal/benchtable -published bench/published.yaml bench/$(VERSION).txt > bench/$(VERSION).md

fuzz: ## Run every fuzz target for FUZZTIME (20s)
	@set -e; for pkg in $$($(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "== $$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; \
	done

mutation: ## Break one rule of the virtual autoscaler at a time; fails when nothing notices; writes fixtures/conformance/mutations.md
	$(GO) run ./cmd/internal/mutation

attack: ## Give scalehist broken input of all kinds, and fail on what it does wrong: make attack [FOR=10m] [SEED=1] [RUNS=1: that seed again]; inputs under gen/attack
	$(GO) run ./cmd/internal/attack -seed $(SEED) $(if $(RUNS),-runs $(RUNS)) -for $(or $(FOR),10m) -procs $(PROCS)

WEB = report/html/web

web: ## Bundle the HTML report's page again after a change under report/html/web (needs node and npm)
	cd $(WEB) && npm ci --no-audit --no-fund && npm run --silent build

web-test: ## Click through the HTML report in headless Chromium (Playwright)
	$(GO) test ./report/html
	$(GO) test ./cmd/scalehist/cli -run 'TestReportInBrowser' -count=1 -v

web-shots: ## Take the pictures of the HTML report that docs/report.md shows
	SCALEHIST_SCREENSHOTS=$(CURDIR)/docs/images $(GO) test ./cmd/scalehist/cli -run 'TestReportInBrowser' -count=1 -v

truth: build ## Replay every recording of a real autoscaler, and the conformance cases, with 20 seeds; writes bench/truth.md, fixtures/real/agreement.md and docs/side-by-side.md: the share that agrees
	@{ sed '/^| recording/,$$d' bench/truth.md; echo '| recording | before | now | real runs that ended as another did |'; echo '|---|---|---|---|'; \
	  for t in fixtures/*/truth.json; do d=$$(dirname $$t); n=$$(basename $$d); \
	    now=$$(bin/scalehist replay $$d/recording.db --truth $$t --seeds 20 --min-agreement 0 | \
	      awk '/ agree with the truth/ {seeds = $$2} /^of the real runs/ {real = $$5 " of " $$7} END {print seeds " of 20 | " real}') || exit 1; \
	    echo "| $$n | $$(sed -n "s/^<!-- before $$n \(.*\) -->/\1/p" bench/truth.md) | $$now |"; done; \
	  printf '\n## Conformance cases\n\n```console\n$$ scalehist conformance --seeds 20\n'; bin/scalehist conformance --seeds 20; echo '```'; } > bench/truth.new
	$(GO) test ./engines -run RealRuns -update
	@mv bench/truth.new bench/truth.md; sed -n '/^| recording/,$$p' bench/truth.md

build: gitdiff ## Build bin/scalehist
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/scalehist ./cmd/scalehist

image: assets ## Make dist/scalehist-image.tar: scalehist with the control plane inside, for docker load, podman load, crane push
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w $(LDFLAGS)' -o dist/linux/scalehist ./cmd/scalehist
	$(GO) run ./cmd/internal/release image -binary dist/linux/scalehist -o dist/scalehist-image.tar -version '$(VERSION)'
	$(GO) run ./cmd/internal/release sbom -version '$(VERSION)' -o dist/scalehist.cdx.json dist/linux/scalehist $$($(GO) run ./cmd/internal/assetsbuild | sed 's/.*: //' | awk '{print $$0"/kube-apiserver "$$0"/etcd"}')

release-extras: ## Make the man pages and completion scripts that archives have, under dist-extras/
	@mkdir -p dist-extras/completion
	$(GO) run ./cmd/scalehist man --dir dist-extras/man
	for shell in bash zsh fish; do $(GO) run ./cmd/scalehist completion $$shell > dist-extras/completion/scalehist.$$shell; done

release-check: ## Hold .goreleaser.yaml against goreleaser, which is built for it (minutes the first time), and make a release without publishing it
	$(GO) run github.com/goreleaser/goreleaser/v2@v2.12.7 check
	$(GO) run github.com/goreleaser/goreleaser/v2@v2.12.7 release --snapshot --clean --skip=publish

install: ## Install scalehist into the Go bin directory
	$(GO) install -trimpath -ldflags '$(LDFLAGS)' ./cmd/scalehist

gitdiff: ## Let git show histories (*.db) as text in this checkout
	@git config diff.scalehist.textconv '$(GO) run ./cmd/scalehist export' && git config diff.scalehist.cachetextconv true

clean: ## Remove what was built or generated here (not the cached kube-apiserver and etcd)
	rm -rf bin dist dist-extras $(GEN) bench/latest

assets: ## Find kube-apiserver and etcd, or build them once (minutes)
	@$(GO) run ./cmd/internal/assetsbuild

proto: ## Write the Go code of .proto files again after a change of them
	$(GO) -C tools run ./protogen $(abspath $(shell git ls-files '*.proto'))
