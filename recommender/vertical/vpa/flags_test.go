package vpa

import (
	"flag"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	admissionconfig "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/config"
	recommenderconfig "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/config"
	updaterconfig "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/config"
	"k8s.io/klog/v2"
)

// TestMain keeps upstream's log to itself.
func TestMain(m *testing.M) {
	quiet()
	os.Exit(m.Run())
}

func quiet() {
	var logging flag.FlagSet
	klog.InitFlags(&logging)
	for name, value := range map[string]string{"v": "0", "logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := logging.Set(name, value); err != nil {
			panic(err)
		}
	}
	klog.SetOutput(io.Discard)
}

// TestFlagsAreUpstreams compares names and defaults with the flags that upstream's three components register, each of which
// is ours or is listed as one without effect.
func TestFlagsAreUpstreams(t *testing.T) {
	upstream := map[string]string{}
	for _, init := range []func(){
		func() { recommenderconfig.InitRecommenderFlags() },
		func() { updaterconfig.InitUpdaterFlags() },
		func() { admissionconfig.InitAdmissionControllerFlags() },
	} {
		registered(t, init).VisitAll(func(f *pflag.Flag) { upstream[f.Name] = f.DefValue })
	}
	delete(upstream, "feature-gates") // its default lists the gates
	f := DefaultFlags()
	f.flagSet().VisitAll(func(f *pflag.Flag) {
		if f.Name == "feature-gates" {
			return
		}
		if def, known := upstream[f.Name]; !known || def != f.DefValue {
			t.Errorf("--%s=%s: upstream has it: %v, with %q", f.Name, f.DefValue, known, def)
		}
		delete(upstream, f.Name)
	})
	for name := range upstream {
		if withoutEffect[name] == "" && !strings.HasPrefix(name, "test.") && name != "httptest.serve" {
			t.Errorf("upstream's --%s is neither bound nor listed", name)
		}
	}
	for name := range withoutEffect {
		if _, known := upstream[name]; !known {
			t.Errorf("--%s is listed as without effect, and not upstream's, or bound", name)
		}
	}
}

// registered runs init, which registers flags in the globals of both flag packages and parses the command line, on globals of its own.
func registered(t *testing.T, init func()) *pflag.FlagSet {
	t.Helper()
	args, std, posix := os.Args, flag.CommandLine, pflag.CommandLine
	defer func() { os.Args, flag.CommandLine, pflag.CommandLine = args, std, posix }()
	os.Args = []string{"vpa"}
	flag.CommandLine, pflag.CommandLine = flag.NewFlagSet("vpa", flag.PanicOnError), pflag.NewFlagSet("vpa", pflag.PanicOnError)
	init()
	quiet() // upstream makes itself loud
	return pflag.CommandLine
}

func TestParseFlags(t *testing.T) {
	want := DefaultFlags()
	want.Estimation.TargetCPUPercentile = 0.5
	want.Estimation.ConfidenceIntervalMemory = time.Hour
	want.Format.RoundMemoryBytes = 1 << 20
	want.OOMBumpUpRatio = 2
	want.MemorySaver, want.CPUInteger = true, true
	want.MinReplicas = 1
	want.PerVPAConfig, want.InPlace, want.CPUStartupBoost = true, true, true
	if err := want.MaxAllowedCPUBoost.Set("3"); err != nil {
		t.Fatal(err)
	}
	if err := want.MaxAllowedCPU.Set("2"); err != nil {
		t.Fatal(err)
	}
	got, err := ParseFlags([]string{"target-cpu-percentile=0.5", "--confidence-interval-memory=1h", "--round-memory-bytes=1048576",
		"oom-bump-up-ratio=2", "memory-saver", "cpu-integer-post-processor-enabled=true", "min-replicas=1",
		"feature-gates=PerVPAConfig=true,InPlace=true,CPUStartupBoost=true", "max-allowed-cpu-boost=3", "container-recommendation-max-allowed-cpu=2"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for arg, want := range map[string]string{
		"target-cpu-percentil=0.5":                "did you mean",
		"storage=prometheus":                      "no effect",
		"eviction-rate-limit=1":                   "no effect",
		"target-cpu-percentile=90":                "0 to 1",
		"cpu-histogram-decay-half-life=0s":        "more than 0s",
		"memory-histogram-decay-half-life=30000h": "24000h",
		"round-cpu-millicores=0":                  "1 or more",
		"max-allowed-cpu-boost=-1":                "0 or more",
		"feature-gates=Other=true":                "unrecognized feature gate",
		"min-replicas=two":                        "invalid argument",
		"":                                        "not a flag",
	} {
		if _, err := ParseFlags([]string{arg}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q in it", arg, err, want)
		}
	}
	if _, err := ParseFlags([]string{"vpa-object-namespace=a", "ignored-vpa-object-namespaces=b"}); err == nil {
		t.Error("two flags that exclude each other were accepted")
	}
}

// FuzzParseFlags: nothing panics, and what is accepted makes a recommender.
func FuzzParseFlags(f *testing.F) {
	f.Add("target-cpu-percentile=0.5")
	f.Add("--feature-gates=InPlace=true")
	f.Add("container-recommendation-max-allowed-cpu=1.5")
	f.Add("--=")
	f.Fuzz(func(t *testing.T, arg string) {
		flags, err := ParseFlags([]string{arg})
		if err != nil {
			return
		}
		if _, err := NewRecommender(flags); err != nil {
			t.Errorf("%q: %v", arg, err)
		}
	})
}
