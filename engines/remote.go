package engines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/internal/caflags"
	"github.com/scalehist/scalehist/recommender/api"
)

// remoteName is what a recommender is called in reports that does not say its name. The URL is in no report: ports differ
// from run to run.
const remoteName = "remote recommender"

// isRemote says whether an engine's name is the URL of a recommender: "http://127.0.0.1:8600", with a strategy
// "http://127.0.0.1:8600#optimal".
func isRemote(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

// remoteFlags are the flags of the engine of a URL, beside those of the recommender.
var remoteFlags = []string{"remote-ca-file", "remote-cert-file", "remote-key-file", "remote-timeout", "remote-token-file"}

// Remote is any recommender that answers the API of package recommender/api at a URL. Certificates, token and timeout are
// flags of the engine: --remote-ca-file, --remote-cert-file, --remote-key-file, --remote-token-file, --remote-timeout.
func Remote(url string) harness.NewAutoscaler {
	return func(env harness.Env) (scalehist.Autoscaler, error) {
		o := api.ClientOptions{URL: url}
		var err error
		if env.Settings.Flags, err = takeRemoteFlags(&o, env.Settings.Flags); err != nil {
			return nil, err
		}
		client, err := api.NewClient(o)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), nameTimeout)
		defer cancel()
		name := remoteName
		var unanswered *api.AnswerError
		switch list, err := client.Strategies(ctx); {
		case err == nil:
			name = cmp.Or(list.Name, name)
		case !errors.As(err, &unanswered): // who does not answer this may answer all else; who is not there does not
			return nil, err
		}
		if strategy := client.Strategy(); strategy != "" {
			name += ":" + strategy
		}
		return RecommenderEngine(name, "", client)(env) // the client names its strategy, which we need not know
	}
}

// nameTimeout bounds the question what a recommender calls itself.
const nameTimeout = 10 * time.Second

// takeRemoteFlags reads the engine's own flags, --name=value, into the options, and returns the others.
func takeRemoteFlags(o *api.ClientOptions, flags []string) (others []string, err error) {
	for _, arg := range flags {
		name := caflags.Name(arg)
		if !slices.Contains(remoteFlags, name) {
			others = append(others, arg)
			continue
		}
		_, value, _ := strings.Cut(arg, "=")
		if value == "" {
			return nil, fmt.Errorf("autoscaler flag --%s: the value is missing: write --%s=VALUE", name, name)
		}
		switch name {
		case "remote-ca-file":
			o.CAFile = value
		case "remote-cert-file":
			o.CertFile = value
		case "remote-key-file":
			o.KeyFile = value
		case "remote-token-file":
			o.TokenFile = value
		case "remote-timeout":
			if o.Timeout, err = time.ParseDuration(value); err != nil || o.Timeout <= 0 {
				return nil, fmt.Errorf("autoscaler flag --%s=%s: want a duration such as 30s", name, value)
			}
		}
	}
	return others, nil
}
