# scalehist. Everything is Go: the tools below come through the Go module proxy, pinned in tools/go.mod.

GO       ?= go
TOOL      = $(GO) tool -modfile=tools/go.mod
GINKGO    = $(GO) run github.com/onsi/ginkgo/v2/ginkgo
GEN       = gen
PROCS    ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
FUZZTIME ?= 20s
COUNT    ?= 6
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS   = -X github.com/scalehist/scalehist/cmd/scalehist/cli.Version=$(VERSION)

.DEFAULT_GOAL := help
.PHONY: help scenarios test record golden lint bench fuzz mutation build install gitdiff clean assets

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

scenarios: assets ## Run the regression suite: one line per scenario, reports and JUnit under gen/
	@mkdir -p $(GEN)
	$(GINKGO) run --procs=$(PROCS) --randomize-all --keep-going $$(test -t 1 || echo --no-color) --output-dir=$(GEN) --junit-report=scenarios.xml ./scenarios

test: assets ## Run every test with the race detector, the scenarios included; JUnit under gen/
	@mkdir -p $(GEN)
	$(TOOL) gotestsum --format=pkgname --format-hide-empty-pkg --junitfile=$(GEN)/test.xml -- -race -timeout=30m ./...

record: gitdiff ## Record a fixture again: make record FIXTURE=name [KUBECONFIG=cluster to record instead [FOR=10m]]
	@test -n "$(FIXTURE)" || { echo "make record: FIXTURE is not set: name a directory of fixtures/" >&2; exit 2; }
	$(GO) run ./fixtures/workload/record -fixture $(FIXTURE) $(if $(filter command line,$(origin KUBECONFIG)),-kubeconfig $(KUBECONFIG)) $(if $(FOR),-for $(FOR))

golden: assets ## Accept what the scenarios do now as what they should do; read the diff before you commit it
	$(GO) test ./scenarios -count=1 -args -update

lint: ## Fail on anything gofmt, go mod tidy, go vet or golangci-lint would change or complain about
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l); \
	  test -z "$$unformatted" || { echo "gofmt: not formatted: run gofmt -w on:"; echo "$$unformatted"; exit 1; }
	$(GO) mod tidy -diff
	$(GO) -C tools mod tidy -diff
	$(TOOL) golangci-lint run ./...

bench: assets ## Measure against the budgets; writes bench/latest/bench.txt, compared with bench/baseline.txt where there is one
	@mkdir -p bench/latest
	$(GO) test -run '^$$' -bench . -benchmem -count=$(COUNT) -timeout=60m ./... | tee bench/latest/bench.txt
	@if test -f bench/baseline.txt; then $(TOOL) benchstat bench/baseline.txt bench/latest/bench.txt; fi

fuzz: ## Run every fuzz target for FUZZTIME (20s)
	@set -e; for pkg in $$($(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "== $$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; \
	done

mutation: ## Break one rule of the virtual autoscaler at a time; fails when nothing notices; writes fixtures/conformance/mutations.md
	$(GO) run ./internal/mutation

build: gitdiff ## Build bin/scalehist
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/scalehist ./cmd/scalehist

install: ## Install scalehist into the Go bin directory
	$(GO) install -trimpath -ldflags '$(LDFLAGS)' ./cmd/scalehist

gitdiff: ## Let git show histories (*.db) as text in this checkout
	@git config diff.scalehist.textconv '$(GO) run ./cmd/scalehist export' && git config diff.scalehist.cachetextconv true

clean: ## Remove what was built or generated here (not the cached kube-apiserver and etcd)
	rm -rf bin $(GEN) bench/latest

assets: ## Find kube-apiserver and etcd, or build them once (minutes)
	@$(GO) run ./internal/assetsbuild
