package program

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalehist/scalehist/internal/caflags"
	"github.com/scalehist/scalehist/internal/near"
)

// flagInfo is what a binary's help says of a flag.
type flagInfo struct {
	kind string // duration, int, ...; empty for a switch
	text string // its default; empty where the help says none
}

// helpTime bounds --help: a program that says nothing for so long is not one that can be run.
const helpTime = 20 * time.Second

var (
	helpLine    = regexp.MustCompile(`^ {2,6}(?:-\w, )?--([\w.-]+)(?: (\S+))?(?:   +(.*))?$`)
	helpDefault = regexp.MustCompile(`\(default "?([^")]*)"?\)$`)
	providers   = regexp.MustCompile(`Available values: \[([^\]]*)\]`)
)

// knownFlags asks a binary for its flags: it must be a cluster-autoscaler that has the externalgrpc provider.
func knownFlags(ctx context.Context, path string) (map[string]flagInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, helpTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--help").CombinedOutput()
	known := map[string]flagInfo{}
	provider := ""
	for line := range strings.Lines(string(out)) {
		m := helpLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		info := flagInfo{kind: m[2]}
		if d := helpDefault.FindStringSubmatch(m[3]); d != nil {
			info.text = d[1]
		}
		known[m[1]] = info
		if p := providers.FindStringSubmatch(m[3]); p != nil && m[1] == "cloud-provider" {
			provider = p[1]
		}
	}
	_, names := known["cloud-config"]
	switch {
	case names && slices.Contains(strings.FieldsFunc(provider, func(r rune) bool { return r == ',' || r == ' ' }), "externalgrpc"):
		return known, nil
	case names && provider != "":
		return nil, fmt.Errorf("%s has no cloud provider externalgrpc, but %s: build it with that one (go build -tags externalgrpc)", path, provider)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("%s --help did not end within %s: is it a cluster-autoscaler?", path, helpTime)
	case err != nil:
		return nil, fmt.Errorf("%s --help: %w: want a cluster-autoscaler that is built with the externalgrpc provider", path, err)
	}
	return nil, fmt.Errorf("%s --help shows no flag --cloud-config: want a cluster-autoscaler that is built with the externalgrpc provider", path)
}

// Check refuses flags that a binary does not know, or that are the replay's to set.
func Check(ctx context.Context, path string, flags []string) error {
	known, err := knownFlags(ctx, path)
	if err != nil {
		return err
	}
	for _, f := range flags {
		name := caflags.Name(f)
		if name == "" {
			return fmt.Errorf("autoscaler flag %q: want --name=value", f)
		}
		info, ok := known[name]
		switch {
		case !ok:
			return fmt.Errorf("autoscaler flag --%s: %s has no such flag%s", name, path, near.Suggest(name, names(known)))
		case len(caflags.WithoutPlumbing([]string{f})) == 0:
			return fmt.Errorf("autoscaler flag --%s: the replay sets it", name)
		case info.kind != "" && !strings.Contains(f, "="):
			return fmt.Errorf("autoscaler flag --%s: the value is missing: write --%s=VALUE", name, name)
		}
	}
	return nil
}

func names(known map[string]flagInfo) []string {
	var out []string
	for n := range known {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// elsewhere are flags about node groups of other providers: these are served by the replay.
var elsewhere = []string{"nodes", "node-group-auto-discovery"}

// usable are the recorded flags that a binary can be started with, and warnings that name those left out.
func usable(flags []string, known map[string]flagInfo) (out, warnings []string) {
	var unknown, masked []string
	for _, f := range caflags.WithoutPlumbing(flags) {
		name := caflags.Name(f)
		_, ok := known[name]
		switch {
		case slices.Contains(elsewhere, name):
		case !ok:
			unknown = append(unknown, "--"+name)
		case caflags.IsMasked(f):
			masked = append(masked, "--"+name)
		default:
			out = append(out, f)
		}
	}
	if len(unknown) > 0 {
		warnings = append(warnings, "recorded flags that the binary does not have, left out: "+strings.Join(unknown, ", "))
	}
	if len(masked) > 0 {
		warnings = append(warnings, "recorded flags whose values were not kept, left out: "+strings.Join(masked, ", "))
	}
	return out, warnings
}

// policy are the durations by which an autoscaler decides. Others bound what it computes, or keep the process itself.
var policy = []string{
	"blocking-system-pod-distruption-timeout", "initial-node-group-backoff-duration", "max-node-group-backoff-duration", "max-node-provision-time",
	"max-node-startup-time", "max-pod-eviction-time", "new-pod-scale-up-delay", "node-delete-delay-after-taint", "node-deletion-batcher-interval",
	"node-deletion-candidate-ttl", "node-deletion-delay-timeout", "node-group-backoff-reset-timeout", "provisioning-request-initial-backoff-time",
	"provisioning-request-max-backoff-time", "scale-down-delay-after-add", "scale-down-delay-after-delete", "scale-down-delay-after-failure",
	"scale-down-unneeded-time", "scale-down-unready-time", "scan-interval", "unremovable-node-recheck-timeout",
}

// everyEvent lets the autoscaler write each event: else a pod that triggers a second scale-up within five minutes is not named. Nothing
// is decided by it.
const everyEvent = "record-duplicated-events"

// scaled is a command line for virtual time that runs so much faster: durations of the policy are divided, given or default.
func scaled(flags []string, known map[string]flagInfo, speed float64) ([]string, error) {
	out := append(slices.Clone(flags), "--v=5")
	if _, ok := known[everyEvent]; ok {
		out = append(out, "--"+everyEvent+"=true")
	}
	if speed <= 1 {
		return out, nil
	}
	for _, name := range policy {
		info, ok := known[name]
		value := valueOf(flags, name, info.text)
		if !ok || value == "" {
			continue
		}
		d, err := time.ParseDuration(value)
		if err != nil {
			return nil, fmt.Errorf("autoscaler flag --%s=%s: want a duration", name, value)
		}
		out = append(out, "--"+name+"="+time.Duration(float64(d)/speed).String())
	}
	for name, times := range map[string]float64{"max-graceful-termination-sec": 1 / speed, "kube-client-qps": speed, "kube-client-burst": speed} {
		n, err := strconv.ParseFloat(valueOf(flags, name, known[name].text), 64)
		if err != nil {
			continue // a binary without it
		}
		out = append(out, fmt.Sprintf("--%s=%d", name, max(1, int(n*times))))
	}
	slices.Sort(out[len(flags):])
	return out, nil
}

// valueOf is the last value of a flag that is given, else the default.
func valueOf(flags []string, name, otherwise string) string {
	for _, f := range flags {
		if caflags.Name(f) == name {
			_, otherwise, _ = strings.Cut(f, "=")
		}
	}
	return otherwise
}
