// Package engines names the autoscalers a replay can run, as constructors for harness.WithAutoscaler. It is where the
// harness, which knows no autoscaler, meets them.
package engines

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/recommender"
	"github.com/scalehist/scalehist/recommender/api"
	"github.com/scalehist/scalehist/virtualca"
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
		settings, warnings, err := virtualca.ParseSettings(s)
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
	return virtualca.CheckOverrides(flags)
}

// Names are the engines Named knows.
func Names() []string {
	names := []string{"virtualca", recommenderName}
	for _, s := range recommender.Strategies() {
		names = append(names, recommenderName+":"+s)
	}
	return names
}

// Named is the engine of a name, as the command line takes it: one of Names, or the URL of a recommender.
func Named(name string) (harness.NewAutoscaler, error) {
	if isRemote(name) {
		return Remote(name), api.CheckURL(name)
	}
	if !slices.Contains(Names(), name) {
		return nil, fmt.Errorf("unknown autoscaler %q: choose one of %s, or the URL of a recommender", name, strings.Join(Names(), ", "))
	}
	if engine, strategy, _ := strings.Cut(name, ":"); engine == recommenderName {
		return Recommender(strategy), nil
	}
	return ClusterAutoscaler(), nil
}
