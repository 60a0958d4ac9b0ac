// Package engines names the autoscalers a replay can run, as constructors for harness.WithAutoscaler. It is where the
// harness, which knows no autoscaler, meets them.
package engines

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines/program"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/recommender"
	"github.com/scalehist/scalehist/recommender/api"
	"github.com/scalehist/scalehist/virtualca"
	"github.com/scalehist/scalehist/virtualca/config"
)

// ClusterAutoscaler is the virtual cluster autoscaler with the recorded settings. expander, if given, overrides the
// recorded --expander ("least-waste", or a chain "priority,least-waste").
func ClusterAutoscaler(expander ...string) harness.NewAutoscaler {
	return func(env harness.Env) (scalehist.Autoscaler, error) {
		s := env.Settings
		if len(expander) > 0 {
			s.Flags = append(slices.Clone(s.Flags), "--expander="+strings.Join(expander, ","))
			env.InForce(s)
		}
		settings, warnings, err := config.ParseSettings(s)
		if err != nil {
			return nil, err
		}
		for _, w := range warnings {
			env.Warn(w)
		}
		settings.Seed = env.Seed
		settings.NamelessTies, settings.NodesAsStored = env.NamelessTies, env.NodesAsStored
		return virtualca.New(env.Cluster, env.Provider, settings)
	}
}

// CheckFlags refuses flags a user gave for the engine of a name that it would not understand. Recorded flags are taken
// as they are, with warnings.
func CheckFlags(name string, flags []string) error {
	if path, ok := programOf(name); ok {
		if len(flags) == 0 {
			return nil
		}
		return program.Check(context.Background(), path, flags)
	}
	if isRemote(name) {
		rest, err := takeRemoteFlags(&api.ClientOptions{}, flags)
		if err != nil {
			return err
		}
		return checkRecommenderFlags(rest)
	}
	if engine, _, _ := strings.Cut(name, ":"); engine == recommenderName {
		return checkRecommenderFlags(flags)
	}
	return config.CheckOverrides(flags)
}

// Names are the engines Named knows.
func Names() []string {
	names := []string{"virtualca", recommenderName}
	for _, s := range recommender.Strategies() {
		names = append(names, recommenderName+":"+s)
	}
	return names
}

// execPrefix is in front of the path of a cluster-autoscaler binary.
const execPrefix = "exec:"

// programOf is the path of an engine's name that is a binary.
func programOf(name string) (path string, ok bool) { return strings.CutPrefix(name, execPrefix) }

// Exec is a cluster-autoscaler binary that is built with the externalgrpc provider, as an engine in real time.
func Exec(path string) harness.Option { return harness.WithFreeRunner(program.New(path)) }

// IsExec says whether an engine's name is a binary, whose replay takes place in real time.
func IsExec(name string) bool { return strings.HasPrefix(name, execPrefix) }

// Binary finds the binary that exec:PATH names.
func Binary(name string) (string, error) {
	path, ok := programOf(name)
	if !ok || path == "" {
		return "", fmt.Errorf("autoscaler %q names no binary: write exec:/path/to/cluster-autoscaler", name)
	}
	found, err := exec.LookPath(path)
	if err != nil {
		return "", fmt.Errorf("autoscaler %s: %w: give the path of a cluster-autoscaler binary that is built with the externalgrpc provider", name, err)
	}
	return found, nil
}

// Engine is the engine of a name as the command line takes it, as an option of a replay: one of Names, the URL of a recommender, or exec:PATH, a
// cluster-autoscaler binary.
func Engine(name string) (harness.Option, error) {
	if !IsExec(name) {
		engine, err := Named(name)
		return harness.WithAutoscaler(engine), err
	}
	found, err := Binary(name)
	if err != nil {
		return nil, err
	}
	return Exec(found), nil
}

// Named is the engine of a name, as the command line takes it: one of Names, or the URL of a recommender.
func Named(name string) (harness.NewAutoscaler, error) {
	if isRemote(name) {
		return Remote(name), api.CheckURL(name)
	}
	if IsExec(name) {
		return nil, fmt.Errorf("autoscaler %s runs in real time and cannot be stepped: not here", name)
	}
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("unknown autoscaler %q: choose one of %s, the URL of a recommender, or exec:PATH, a cluster-autoscaler binary", name, strings.Join(Names(), ", "))
	}
	if engine, strategy, _ := strings.Cut(name, ":"); engine == recommenderName {
		return Recommender(strategy), nil
	}
	return ClusterAutoscaler(), nil
}
