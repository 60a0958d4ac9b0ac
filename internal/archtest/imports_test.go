package archtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/scalehist/scalehist"

// layers lists the families of packages: imports point down the list, never up. A package belongs to the longest
// prefix. Packages of one family may import each other unless a rule below says no.
var layers = []string{
	"scenarios",
	"examples", // tests that new scenario wrote, nobody imports them
	"deploy",   // manifests, held against the command line, the recorder and a real API server
	"cmd",
	"fixtures",
	"doctor",   // judges histories with all that replays them
	"backtest", // tries vertical recommenders on recorded usage
	"engines",  // puts autoscalers behind the harness's interface
	"harness",
	"report", // judges and shows results, and knows nobody who makes them
	"recommender",
	"virtualca",
	"simulator", // what every node autoscaler needs: fit, drain, node templates, a cloud provider
	"load",      // the work of workloads, which controllers see as metrics
	"recorder",
	".", // the domain: package scalehist
	"api",
	"prices", // what nodes cost, from a file or the shipped list
	"internal",
}

// rule forbids a package (and, with /..., all below it) some packages, directly or through others.
type rule struct {
	from   string
	forbid []string
	why    string
}

var rules = []rule{
	{"cmd/scalehist/console", []string{"cmd/scalehist/cli", "cmd/scalehist/clusters", "cmd/scalehist/histories", "cmd/scalehist/replays", "engines", "virtualca"},
		"what commands have in common knows none of them"},
	{"cmd/scalehist/histories", []string{"cmd/scalehist/cli", "cmd/scalehist/replays", "engines", "virtualca", "recommender/..."},
		"a history is made without a replay of it"},
	{"cmd/scalehist/clusters", []string{"cmd/scalehist/cli"}, "commands do not know the root"},
	{"cmd/scalehist/replays", []string{"cmd/scalehist/cli", "cmd/scalehist/histories"},
		"a replay needs a file, and nobody who makes one"},
	{"harness/...", []string{"virtualca", "recommender/...", "engines", "cmd/..."},
		"the harness judges any autoscaler; it meets them in engines"},
	{"harness/trace", []string{"harness", "harness/expect/...", "report/...", "virtualca/..."},
		"a recording is read without knowing who replays it"},
	{"harness/ledger", []string{"harness", "harness/agreement", "report/..."},
		"the ledger is written by the loop, and moves nothing itself"},
	{"harness/kvcl/kubelet", []string{"harness/kvcl", "harness/kvcl/virtual", "harness/kvcl/podlife", "simulator/..."},
		"a kubelet's answers are functions of pods and nodes"},
	{"harness/kvcl/podlife", []string{"harness/kvcl", "harness/kvcl/virtual", "k8s.io/kubernetes/...", "simulator/..."},
		"who reads a recording asks it, and has no cluster"},
	{"harness/intake", []string{"harness", "harness/ledger", "report/..."},
		"what a server refuses is asked before there is a replay"},
	{"harness/gpu", []string{"harness", "harness/kvcl/...", "harness/trace", "simulator/..."},
		"flags, groups and nodes show the rule"},
	{"harness/nodefaults", []string{"harness", "harness/agreement", "report/..."},
		"nodes fail whoever moves the clock"},
	{"harness/signs", []string{"harness", "harness/kvcl/...", "harness/trace", "harness/ledger"},
		"signs are written of any loop"},
	{"harness/runinfo", []string{"harness", "harness/kvcl/...", "harness/trace", "harness/ledger"},
		"what is measured has a name and no more"},
	{"harness/agreement", []string{"harness/...", "simulator/...", "recorder/..."},
		"steps and decisions are compared without a cluster at hand"},
	{"harness/kvcl/...", []string{"harness", "harness/trace/...", "report/...", "harness/expect/...", "recorder/...", "virtualca", "virtualca/externalgrpc/..."},
		"the virtual cluster knows nothing of histories, reports and autoscalers"},
	{"report/...", []string{"recommender/...", "virtualca/...", "simulator/...", "recorder/..."},
		"a report is judged and printed without the cluster at hand"},
	{"harness/expect/...", []string{"harness/kvcl/...", "recorder/..."},
		"matchers judge saved reports and never touch a cluster"},
	{"doctor/...", []string{"engines", "harness/expect/...", "recorder", "recorder/web/..."},
		"the doctor reads a history and what a replay says of it; it starts nothing"},
	{"simulator/...", []string{"recorder/..."},
		"autoscalers and the replay loop share it, and decide on a bare snapshot too"},
	{"virtualca/externalgrpc/...", []string{"virtualca", "simulator/cloudprovider/...", "k8s.io/client-go/...", "k8s.io/kubernetes/..."},
		"the contract is served over an interface; whose node groups they are is its caller's to know"},
	{"virtualca/expander", []string{"virtualca", "virtualca/listing", "simulator/cloudprovider"},
		"options are weighed by what they hold"},
	{"virtualca/estimator", []string{"virtualca", "virtualca/config", "simulator/cloudprovider"},
		"pods are packed onto nodes that are given"},
	{"virtualca/quota", []string{"virtualca", "simulator/cloudprovider"},
		"limits count the nodes of a snapshot"},
	{"virtualca/status", []string{"virtualca", "virtualca/config", "simulator/..."},
		"a status is words and numbers"},
	{"virtualca/config", []string{"virtualca", "virtualca/listing", "simulator/cloudprovider"},
		"settings are read without a cluster at hand"},
	{"virtualca/...", []string{"recorder/..."},
		"the virtual cluster autoscaler decides on a bare snapshot too"},
	{"recommender/...", []string{"virtualca/..."},
		"autoscalers do not know each other"},
	{"recommender", []string{"recommender/api"},
		"a recommendation is made without knowing who asks"},
	{"recommender/horizontal/...", []string{"recommender", "recommender/api", "recommender/vertical/...", "simulator/...", "recorder/...", "harness/..."},
		"the size of a workload is decided on its pods and metrics alone"},
	{"recommender/horizontal/elasti", []string{"k8s.io/client-go/...", "k8s.io/kubernetes/..."},
		"a handler on a real cluster and a replay follow one policy, which knows neither"},
	{"recommender/bound", []string{".", "simulator/...", "k8s.io/..."},
		"a linear program is about numbers"},
	{"recommender/vertical/...", []string{"harness/...", "recorder/...", "recommender", "recommender/api", "cmd/..."},
		"a vertical autoscaler is functions of objects and instants; who replays it brings both"},
	{"backtest", []string{"harness", "engines", "virtualca/...", "recommender"},
		"usage is tried without a replay of the cluster"},
	{"load/...", []string{"recorder", "recorder/history", "modernc.org/sqlite"},
		"a load is lines of a log; who stores them is its caller's to know"},
	{"load/emulate", []string{"recorder/...", "recommender/...", "cmd/..."},
		"processes use what they are asked to; who keeps what they measured is its caller's to know"},
	{"recommender/api", []string{"recorder/...", "cmd/..."},
		"the API knows requests; histories become requests in the command line"},
	{"recorder/history/...", []string{"recorder", "recorder/sources/...", "recorder/web/...", "k8s.io/client-go/kubernetes"},
		"the store has no cluster to talk to"},
	{"recorder/history/internal/stored", []string{"recorder/history", "recorder/history/dbfile", "database/sql"},
		"an object is taken apart without knowing which columns its parts are in"},
	{"recorder/history/dbfile", []string{"recorder/history", "recorder/history/internal/stored", "recorder/history/objectlog"},
		"a file is named, locked and replaced without knowing what is in it"},
	{"recorder/history", []string{"recorder/history/transfer", "recorder/history/observed"},
		"what reads a history and what makes one of a log go through what the store exports"},
	{"recorder/history/snapshot", []string{"recorder/history", "recorder/history/internal/stored", "recorder/history/dbfile"},
		"objects become a snapshot whoever stores them"},
	{"recorder/sources/...", []string{"recorder", "recorder/web/...", "recorder/history/..."},
		"a node-group source turns nodes into node groups and stores nothing"},
	{"recorder/service/...", []string{"recorder/web/..."},
		"a service records whether or not anybody looks"},
	{".", []string{"modernc.org/sqlite", "k8s.io/client-go/kubernetes", "k8s.io/kubernetes/..."},
		"the domain does no I/O"},
	{"api/...", []string{"k8s.io/client-go/...", "k8s.io/kubernetes/..."},
		"the API types are for everybody"},
}

type goPackage struct {
	ImportPath string
	Dir        string
	Name       string
	Imports    []string
	Deps       []string
	// TestImports and XTestImports are those of its tests.
	TestImports, XTestImports []string
}

// TestImportsPointDown holds the package list of the design.
func TestImportsPointDown(t *testing.T) {
	for _, p := range listPackages(t) {
		from, ok := relative(p.ImportPath)
		if !ok {
			continue
		}
		own, known := layer(from)
		if !known {
			t.Errorf("%s has no place in the package list: add its family to layers", from)
			continue
		}
		for _, dep := range p.Deps {
			to, inModule := relative(dep)
			if inModule {
				if below, _ := layer(to); below < own {
					t.Errorf("%s must not depend on %s: imports point down the list (%s)", from, to, strings.Join(layers, " > "))
				}
			} else {
				to = dep
			}
			for _, r := range rules {
				if !matches(r.from, from) || !slices.ContainsFunc(r.forbid, func(f string) bool { return matches(f, to) }) {
					continue
				}
				t.Errorf("%s must not depend on %s: %s", from, to, r.why)
			}
		}
	}
}

// breakers are the packages whose tests make histories that the store would not: broken ones, and those of strangers.
var breakers = []string{"recorder/history/...", "recorder/web", "doctor", "internal/docstest", "cmd/internal/attack"}

// owned lists libraries that only some packages import directly.
var owned = []struct {
	library string
	owners  []string
	// testers import it in their tests, where not every test may; nil: all may.
	testers []string
	why     string
}{
	{"github.com/onsi/...", []string{"scenarios/..."}, nil, "assertions are for tests; the matchers of harness/expect need none of it"},
	{"pgregory.net/rapid", []string{"harness/kvcl/crosscheck"}, nil, "programs are drawn in tests"},
	{"modernc.org/sqlite", []string{"recorder/history/dbfile", "recorder/history/fsck", "cmd/internal/attack", "internal/docstore"}, breakers, "the stores' files know SQLite, the check of a damaged file, which looks behind their back, and what breaks files"},
	{"database/sql", []string{"recorder/history", "recorder/history/dbfile", "recorder/history/fsck", "cmd/internal/attack", "internal/docstore"}, breakers, "the stores know SQL, the check of a damaged file, which looks behind their back, and what breaks files"},
	{"github.com/spf13/cobra", []string{"cmd/..."}, nil, "flags and wiring live in cmd"},
}

// TestLibrariesHaveOwners keeps a library behind the package that wraps it.
func TestLibrariesHaveOwners(t *testing.T) {
	for _, p := range listPackages(t) {
		from, _ := relative(p.ImportPath)
		if from == "internal/deps" {
			continue // pins versions, imported by nobody
		}
		for _, o := range owned {
			mayOnly(t, from, o.library, p.Imports, o.owners, o.why)
			if o.testers != nil {
				mayOnly(t, from, o.library, slices.Concat(p.TestImports, p.XTestImports), o.testers, o.why)
			}
		}
	}
}

// mayOnly fails the test if a package that is none of those that may imports a library.
func mayOnly(t *testing.T, pkg, library string, imports, may []string, why string) {
	t.Helper()
	for _, dep := range imports {
		if matches(library, dep) && !slices.ContainsFunc(may, func(p string) bool { return matches(p, pkg) }) {
			t.Errorf("%s must not import %s: %s", pkg, dep, why)
		}
	}
}

// TestProductIsBare: the binary links no machinery of tests.
func TestProductIsBare(t *testing.T) {
	for _, p := range listPackages(t) {
		if from, _ := relative(p.ImportPath); from != "cmd/scalehist" {
			continue
		}
		for _, dep := range p.Deps {
			for _, banned := range []string{"testing", "github.com/onsi/...", "pgregory.net/...", module + "/harness/kvcl/crosscheck"} {
				if matches(banned, dep) {
					t.Errorf("scalehist links %s", dep)
				}
			}
		}
	}
}

// TestDomainIsBare: package scalehist knows the API types and nothing else of the module.
func TestDomainIsBare(t *testing.T) {
	for _, p := range listPackages(t) {
		if p.ImportPath != module {
			continue
		}
		for _, dep := range p.Deps {
			if to, ok := relative(dep); ok && to != "api/v1alpha1" {
				t.Errorf("package scalehist must not depend on %s: the domain imports api/v1alpha1 only", to)
			}
		}
	}
}

// relative turns an import path of the module into a path in the tree; "." is the root.
func relative(importPath string) (string, bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

func layer(pkg string) (int, bool) {
	first, _, _ := strings.Cut(pkg, "/")
	i := slices.Index(layers, first)
	return i, i >= 0
}

func matches(pattern, pkg string) bool {
	if prefix, all := strings.CutSuffix(pattern, "/..."); all {
		return pkg == prefix || strings.HasPrefix(pkg, prefix+"/")
	}
	return pkg == pattern
}

// listPackages asks the go command for the module's packages and what they depend on, tests left out.
func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Dir,Name,Imports,Deps,TestImports,XTestImports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages = append(packages, p)
	}
}
