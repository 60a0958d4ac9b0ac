package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/cmd/scalehist/replays"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/harness/moments"
	"github.com/scalehist/scalehist/recommender"
	"github.com/scalehist/scalehist/recommender/api"
	"github.com/scalehist/scalehist/recorder/history"
)

// The formats of recommend beside text and JSON.
const recommendRequest = "request"

// recommendFlags are the flags of recommend.
type recommendFlags struct {
	format                    string
	snapshot, history, report string
	at                        console.TimeFlag
	moment                    string
	strategy, scoring         string
	weights                   string
	prices                    replays.PriceFlags
	scaleDown, ignoreMin      bool
	maxNodes                  int
	utilization               float64
	validation                string
	client                    api.ClientOptions
}

func newRecommendCommand(s console.IO) *cobra.Command {
	f := &recommendFlags{}
	cmd := &cobra.Command{
		Use:   "recommend",
		Short: "Say which node groups should grow for one snapshot, and why",
		Long: `recommend answers what 'scalehist recommender serve' answers, for one snapshot of a cluster: which node groups should grow, what each
new node would take, which pods are left and why, how far that is from the cheapest plan, and with --scale-down which nodes could go.

The snapshot is one of
  --snapshot FILE      a request of the API (docs/recommender.md), or a snapshot out of a report; - is standard input
  --history FILE.db    the cluster as a history has it, at the instant --at
  --report FILE        the start or the end (--moment) of a replay report that was made with --full-snapshots, or what was decided about at
                       the instant --at; 'scalehist replay --playback snapshots' asks about all of these

-o request prints the request instead of an answer, to send it, or to change it by hand. --server asks a server, in whatever
language it is written, instead of deciding here.

Exit codes: 0 done, 2 error.`,
		Example: `  # Twenty minutes into a recording: what should have grown?
  scalehist recommend --history prod.db --at +20m --prices prices.yaml

  # The cheapest plan, if it can be proven, and the nodes that could go
  scalehist recommend --history prod.db --at +20m --strategy optimal --prices prices.yaml --scale-down

  # The same through the API
  scalehist recommend --history prod.db --at +20m -o request > request.json
  curl -s --data-binary @request.json http://127.0.0.1:8600/v1/recommend | jq .recommendation.scaleUps`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runRecommend(cmd, s, f) },
	}
	replays.AddPageFlag(cmd, &f.format, replays.PageText, replays.PageJSON, recommendRequest)
	flags := cmd.Flags()
	flags.StringVar(&f.snapshot, "snapshot", "", "request or snapshot (JSON); - is standard input")
	flags.StringVar(&f.history, "history", "", "history to take the snapshot from")
	flags.Var(&f.at, "at", "instant in the history (default: its end), or of a decision in the report")
	flags.StringVar(&f.report, "report", "", "replay report with whole objects to take the snapshot from")
	flags.StringVar(&f.moment, "moment", "end", "of the report: start, or end")
	flags.StringVar(&f.strategy, "strategy", "", "how the plan is made: "+strings.Join(recommender.Strategies(), ", ")+" (default: "+recommender.Strategies()[0]+")")
	flags.StringVar(&f.scoring, "scoring", "", "what new nodes are compared by: "+strings.Join(recommender.Scorings(), ", ")+" (default: "+recommender.LeastCost+" with prices, else "+recommender.LeastWaste+")")
	flags.StringVar(&f.weights, "weights", "", "what a core, a GiB and a piece of other resources are worth: cpu=6,memory=1")
	f.prices.Add(cmd)
	flags.BoolVar(&f.scaleDown, "scale-down", false, "look for nodes that could go as well")
	flags.Float64Var(&f.utilization, "utilization-threshold", recommender.DefaultAutoscalerOptions().UtilizationThreshold, "with --scale-down: nodes of which more is asked for are unremovable; 1 looks at all")
	flags.BoolVar(&f.ignoreMin, "ignore-min-size", false, "leave groups below their min size as they are")
	flags.IntVar(&f.maxNodes, "max-nodes-total", 0, "the most nodes in the cluster; 0: no limit")
	flags.StringVar(&f.validation, "field-validation", "Strict", "keys of Kubernetes objects that are not known: Strict refuses, Ignore leaves them out")
	addClientFlags(cmd, &f.client, "server", "URL of a server to ask, instead of deciding here")
	for name, extensions := range map[string][]string{"snapshot": {"json"}, "history": {"db"}, "report": {"json"}} {
		if err := cmd.MarkFlagFilename(name, extensions...); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only an unknown flag fails
		}
	}
	for name, values := range map[string][]string{"strategy": recommender.Strategies(), "scoring": recommender.Scorings(), "moment": {"start", "end"},
		"field-validation": {"Strict", "Ignore"}} {
		if err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only a second registration of the same flag fails
		}
	}
	return cmd
}

// addClientFlags adds what a client of a recommender needs.
func addClientFlags(cmd *cobra.Command, o *api.ClientOptions, url, usage string) {
	flags := cmd.Flags()
	flags.StringVar(&o.URL, url, "", usage)
	flags.StringVar(&o.CAFile, "ca-file", "", "PEM certificates of the authority to trust for --"+url)
	flags.StringVar(&o.CertFile, "cert-file", "", "PEM certificate to show to --"+url)
	flags.StringVar(&o.KeyFile, "key-file", "", "PEM key of --cert-file")
	flags.StringVar(&o.TokenFile, "token-file", "", "file with a bearer token for --"+url)
	flags.DurationVar(&o.Timeout, "timeout", api.DefaultClientTimeout, "how long --"+url+" may take")
	for _, name := range []string{"ca-file", "cert-file", "key-file", "token-file"} {
		if err := cmd.MarkFlagFilename(name); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only an unknown flag fails
		}
	}
}

func runRecommend(cmd *cobra.Command, s console.IO, f *recommendFlags) error {
	if f.format != replays.PageText && f.format != replays.PageJSON && f.format != recommendRequest {
		return console.UsageErrorf(cmd, "--output %q: must be text, json or request", f.format)
	}
	if f.client.URL == "" {
		for _, name := range []string{"ca-file", "cert-file", "key-file", "token-file", "timeout"} {
			if cmd.Flags().Changed(name) {
				return console.UsageErrorf(cmd, "--%s goes with --server", name)
			}
		}
	}
	q, warnings, err := f.request(cmd, s)
	if err != nil {
		return err
	}
	if f.format == recommendRequest {
		return s.PrintJSON(api.FromRequest(q))
	}
	var who recommender.Recommender = recommender.New()
	if f.client.URL != "" {
		client, err := api.NewClient(f.client)
		if err != nil {
			return console.UsageErrorf(cmd, "--server: %v", err)
		}
		defer client.Close()
		who = client
	}
	answer, err := who.Recommend(cmd.Context(), q)
	if err != nil {
		return fmt.Errorf("%s: %w", f.source(), err)
	}
	if f.format == replays.PageJSON {
		return s.PrintJSON(&api.Response{APIVersion: api.Version, Recommendation: answer, Warnings: warnings})
	}
	for _, w := range warnings {
		s.Errf("warning: %s\n", w)
	}
	printRecommendation(s, q, answer)
	return nil
}

// request is what the flags ask for.
func (f *recommendFlags) request(cmd *cobra.Command, s console.IO) (*recommender.Request, []string, error) {
	sources := 0
	for _, v := range []string{f.snapshot, f.history, f.report} {
		if v != "" {
			sources++
		}
	}
	switch {
	case sources != 1:
		return nil, nil, console.UsageErrorf(cmd, "%s: give one of --snapshot, --history and --report", cmd.CommandPath())
	case f.at.IsSet() && f.history == "" && f.report == "":
		return nil, nil, console.UsageErrorf(cmd, "--at goes with --history and --report")
	case f.at.IsSet() && cmd.Flags().Changed("moment"):
		return nil, nil, console.UsageErrorf(cmd, "give --at or --moment, not both")
	case cmd.Flags().Changed("moment") && f.report == "":
		return nil, nil, console.UsageErrorf(cmd, "--moment goes with --report")
	case f.moment != "start" && f.moment != "end":
		return nil, nil, console.UsageErrorf(cmd, "--moment %q: want start or end", f.moment)
	case f.validation != "Strict" && f.validation != "Ignore":
		return nil, nil, console.UsageErrorf(cmd, "--field-validation %q: want Strict or Ignore", f.validation)
	}
	var q *recommender.Request
	var err error
	switch {
	case f.history != "":
		q, err = f.fromHistory(cmd.Context())
	case f.report != "":
		q, err = f.fromReport()
	default:
		q, err = f.fromFile(s)
	}
	if err != nil {
		return nil, nil, err
	}
	if err := f.override(cmd, q); err != nil {
		return nil, nil, err
	}
	return q, api.Warnings(q), nil
}

// override puts flags that were given over what the request says.
func (f *recommendFlags) override(cmd *cobra.Command, q *recommender.Request) error {
	if f.strategy != "" {
		q.Strategy = f.strategy
	}
	if f.scoring != "" {
		if !slices.Contains(recommender.Scorings(), f.scoring) && f.client.URL == "" {
			return console.UsageErrorf(cmd, "--scoring %q: choose one of %s", f.scoring, strings.Join(recommender.Scorings(), ", "))
		}
		q.Scoring = f.scoring
	}
	if q.Strategy != "" && !slices.Contains(recommender.Strategies(), q.Strategy) && f.client.URL == "" {
		return console.UsageErrorf(cmd, "--strategy %q: choose one of %s", q.Strategy, strings.Join(recommender.Strategies(), ", "))
	}
	if f.weights != "" {
		var err error
		if q.Weights, err = recommender.ParseWeights(f.weights); err != nil {
			return console.UsageErrorf(cmd, "--weights: %v", err)
		}
	}
	table, err := f.prices.Table(cmd)
	if err != nil {
		return err
	}
	if table != nil {
		q.Prices = table
	}
	if cmd.Flags().Changed("ignore-min-size") {
		q.Constraints.IgnoreMinSize = f.ignoreMin
	}
	if cmd.Flags().Changed("max-nodes-total") {
		if f.maxNodes < 0 {
			return console.UsageErrorf(cmd, "--max-nodes-total must not be negative")
		}
		q.Constraints.MaxNodesTotal = f.maxNodes
	}
	switch {
	case f.utilization < 0 || f.utilization > 1:
		return console.UsageErrorf(cmd, "--utilization-threshold %v: want 0 to 1", f.utilization)
	case f.scaleDown:
		o := recommender.DefaultAutoscalerOptions()
		q.Constraints.ScaleDown = &recommender.ScaleDownConstraints{UtilizationThreshold: f.utilization, Rules: o.Rules}
	case cmd.Flags().Changed("utilization-threshold"):
		return console.UsageErrorf(cmd, "--utilization-threshold goes with --scale-down")
	}
	return nil
}

func (f *recommendFlags) fromHistory(ctx context.Context) (q *recommender.Request, err error) {
	db, err := history.Open(ctx, f.history)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	start, end := db.Span()
	at, err := f.at.Resolve(start, end, end)
	if err != nil {
		return nil, fmt.Errorf("--history %s: --at: %w", f.history, err)
	}
	snapshot, err := db.SnapshotAt(ctx, at)
	if err != nil {
		return nil, err
	}
	if len(snapshot.NodeGroups) == 0 {
		return nil, fmt.Errorf("%s has no node groups at %s: record with --node-groups, or choose another --at", f.history, at.UTC().Format(time.RFC3339))
	}
	return api.FromSnapshot(snapshot)
}

func (f *recommendFlags) fromReport() (*recommender.Request, error) {
	r, err := console.ReadReport(f.report)
	if err != nil {
		return nil, err
	}
	if f.at.IsSet() {
		q, err := f.fromDecision(r)
		if err != nil {
			return nil, fmt.Errorf("--report %s: %w", f.report, err)
		}
		return q, nil
	}
	snapshot := &r.End
	if f.moment == "start" {
		snapshot = &r.Start
	}
	q, err := fromWholeSnapshot(snapshot)
	if err != nil {
		return nil, fmt.Errorf("--report %s, %s: %w", f.report, f.moment, err)
	}
	return q, nil
}

// fromDecision asks about the cluster that a report's autoscaler decided about at an instant, the first time it looked.
func (f *recommendFlags) fromDecision(r *scalehist.ReplayReport) (*recommender.Request, error) {
	at, err := f.at.Resolve(r.StartTime, r.EndTime, r.EndTime)
	if err != nil {
		return nil, fmt.Errorf("--at: %w", err)
	}
	var kept []string
	if r.Moments != nil {
		for n := range r.Moments.Moments {
			m := &r.Moments.Moments[n]
			if m.At.Equal(at) {
				state, err := moments.State(r.Moments, n)
				if err != nil {
					return nil, err
				}
				return engines.RequestOf(&state, nil), nil
			}
			if offset := "+" + m.At.Sub(r.StartTime).String(); !slices.Contains(kept, offset) {
				kept = append(kept, offset)
			}
		}
	}
	if kept == nil {
		return nil, errors.New("it keeps no clusters that were decided about: make it with 'scalehist replay --full-snapshots'")
	}
	return nil, fmt.Errorf("nothing was decided about pods at %s that says something new: choose one of %s", at.Format(time.RFC3339Nano), strings.Join(kept, ", "))
}

func fromWholeSnapshot(snapshot *scalehist.ClusterSnapshot) (*recommender.Request, error) {
	data, err := json.Marshal(&api.Request{APIVersion: api.Version, Snapshot: snapshot})
	if err != nil {
		return nil, err
	}
	q, err := api.DecodeRequest(data, api.DecodeOptions{})
	if err != nil {
		return nil, err
	}
	out, _ := q.Recommender()
	return out, nil
}

// source is the flag that says where the snapshot comes from.
func (f *recommendFlags) source() string {
	switch {
	case f.history != "":
		return "--history " + f.history
	case f.report != "":
		return "--report " + f.report
	}
	return "--snapshot " + f.snapshot
}

// fromFile reads a request, or a bare snapshot.
func (f *recommendFlags) fromFile(s console.IO) (*recommender.Request, error) {
	var data []byte
	var err error
	if f.snapshot == "-" {
		data, err = io.ReadAll(s.In)
	} else {
		data, err = os.ReadFile(f.snapshot)
	}
	if err != nil {
		return nil, fmt.Errorf("--snapshot: %w", err)
	}
	var kind struct {
		APIVersion any        `json:"apiVersion"`
		Version    any        `json:"version"`
		At         *time.Time `json:"at"`
	}
	_ = json.Unmarshal(data, &kind) // what is no JSON is refused below
	o := api.DecodeOptions{IgnoreUnknown: f.validation == "Ignore"}
	switch {
	case kind.Version == scalehist.ReportVersion:
		return nil, fmt.Errorf("--snapshot %s is a whole report: give it with --report, and --moment", f.snapshot)
	case kind.APIVersion == nil && kind.At != nil:
		snapshot, err := api.DecodeSnapshot(data, o)
		if err != nil {
			return nil, fmt.Errorf("--snapshot %s: %w", f.snapshot, err)
		}
		out, _ := (&api.Request{APIVersion: api.Version, Snapshot: snapshot}).Recommender()
		return out, nil
	}
	q, err := api.DecodeRequest(data, o)
	if err != nil {
		return nil, fmt.Errorf("--snapshot %s: %w", f.snapshot, err)
	}
	out, _ := q.Recommender()
	return out, nil
}
