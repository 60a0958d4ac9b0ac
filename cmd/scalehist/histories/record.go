package histories

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/recorder"
	"github.com/scalehist/scalehist/recorder/service"
	"github.com/scalehist/scalehist/recorder/sources"
	"github.com/scalehist/scalehist/recorder/usage"
)

// recordFlags are the flags of `scalehist record`.
type recordFlags struct {
	kubeconfig, context, output, cluster string
	nodeGroups, caNamespace              string
	controlKubeconfig, controlContext    string
	controlNamespace                     string
	usage                                time.Duration
	prometheus                           usage.Prometheus
	queries                              string
	series                               []string
	kinds                                []string
	duration                             time.Duration
	retain                               KeepFlag
	wait                                 bool
}

func newRecordCommand(s console.IO) *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record -o FILE.db",
		Short: "Record a cluster's scaling history until Ctrl-C",
		Long: `Watch a cluster and write what scaling depends on into one SQLite file: pods, nodes, their owners, disruption budgets,
volumes, node groups, the cluster-autoscaler's settings, and events about scheduling and scaling.

Nothing is installed in the cluster; the account of the kubeconfig must be allowed to list and watch. A kind that it may
not watch is noted in the file as a gap of that kind. Environment values, arguments, probes, Secrets and other ConfigMaps
are never written. A file that exists is continued, and the time in between noted as a gap; it must be a recording of the
same cluster, which is told by the UID of its namespace kube-system, not by its address. A lost connection is tried again
until it works; when kinds were not watched for two seconds or more, that is a gap too.

Node groups come from --node-groups:
  auto         the first that the cluster shows: annotation, gardener, cluster-api, the label of a known provider (GKE, EKS,
               AKS, Gardener, kOps, ...), status; NodePools of Karpenter beside any of them
  annotation   the annotation scalehist.io/node-group
  labels:KEY   the value of a node label
  gardener     MachineDeployments of machine.sapcloud.io, bounds from the Worker
  cluster-api  MachineDeployments of cluster.x-k8s.io with the autoscaler's size annotations
  karpenter    NodePools
  status       the groups in the ConfigMap cluster-autoscaler-status
  FILE.yaml    a mapping file: groups with name, min, max and the nodes they have
Bounds and target sizes of annotation and labels come from the flags and the status of the recorded cluster-autoscaler.

Where the autoscaler and the machines are in another cluster (a Gardener seed, a Cluster API management cluster), give that
with --control-plane-kubeconfig and --control-plane-namespace: only the autoscaler's Deployment and ConfigMaps, machine objects
and events are read there.

--usage records what containers use, from the metrics API; of a --prometheus, --queries records the values of PromQL queries at intervals, and --series
all samples of series as they were scraped, for any question later (scalehist prometheus serve).`,
		Example: `  # The current context, until Ctrl-C
  scalehist record -o prod.db

  # A Gardener shoot, its control plane in a seed
  scalehist record --kubeconfig shoot.yaml --control-plane-kubeconfig seed.yaml --control-plane-namespace shoot--dev--web -o web.db

  # For months: the last 30 days, begun before the cluster answers
  scalehist record -o prod.db --retain 30d --wait

  # What containers use every 30 s, and the queries of a file
  scalehist record -o prod.db --usage 30s --prometheus http://localhost:9090 --queries queries.yaml

  # Series as they are scraped
  scalehist record -o prod.db --prometheus http://localhost:9090 --series 'http_requests_total{namespace="shop"}' --series up

  # Another cluster for an hour, groups by a label
  scalehist record --kubeconfig ~/.kube/staging --context staging-eu -o staging.db --for 1h --node-groups labels:pool`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, s) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file (default: $KUBECONFIG, else ~/.kube/config)")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig (default: its current one)")
	flags.StringVarP(&f.output, "output", "o", "", "history file to write or to continue (required)")
	flags.StringVar(&f.cluster, "cluster", "", "name of the cluster in a new file (default: host of the API server)")
	flags.StringVar(&f.nodeGroups, "node-groups", "auto", "where node groups come from: auto, annotation, labels:KEY, gardener, cluster-api, karpenter, status or a mapping file")
	flags.StringVar(&f.controlKubeconfig, "control-plane-kubeconfig", "", "kubeconfig of the cluster with the autoscaler and the machines (default: the recorded cluster)")
	flags.StringVar(&f.controlContext, "control-plane-context", "", "context of that kubeconfig (default: its current one)")
	flags.StringVar(&f.controlNamespace, "control-plane-namespace", "", "namespace of the autoscaler and the machines (default: all)")
	flags.DurationVar(&f.usage, "usage", 0, "record what containers use this often, from the metrics API (default: never)")
	PrometheusFlags(flags, &f.prometheus, "address of the Prometheus to ask --queries and --series")
	flags.StringVar(&f.queries, "queries", "", "file of PromQL queries to record: name, query, step")
	flags.StringArrayVar(&f.series, "series", nil, "selector of series to record as they are scraped; may be repeated")
	flags.StringVar(&f.caNamespace, "cluster-autoscaler-namespace", "", "namespace of the cluster-autoscaler (default: wherever there is one)")
	flags.StringSliceVar(&f.kinds, "kinds", nil, "record these kinds only; Pod and Node always are (default: all)")
	flags.Var(&f.retain, "retain", "keep this much, forget what ended longer ago while recording: 30d, 12h (default: keep everything)")
	flags.BoolVar(&f.wait, "wait", false, "keep trying when the API server cannot be reached at the start, or refuses the credentials")
	flags.DurationVar(&f.duration, "for", 0, "stop by itself after this long (default: record until Ctrl-C)")
	for flag, values := range map[string][]string{"node-groups": sources.Names(), "kinds": recorder.Kinds()} {
		if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveDefault)); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", flag, err)) // only a flag that does not exist fails
		}
	}
	return cmd
}

func (f *recordFlags) run(cmd *cobra.Command, s console.IO) error {
	if f.output == "" {
		return console.UsageErrorf(cmd, "record: no file to write to: give -o FILE.db")
	}
	if f.duration < 0 {
		return console.UsageErrorf(cmd, "record: --for %s: must be positive", f.duration)
	}
	source, err := sources.Parse(f.nodeGroups)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if (f.prometheus.URL == "") != (f.queries == "" && len(f.series) == 0) {
		return console.UsageErrorf(cmd, "record: --prometheus goes with --queries or --series, and they with it")
	}
	if f.controlContext != "" && f.controlKubeconfig == "" {
		return console.UsageErrorf(cmd, "record: --control-plane-context without --control-plane-kubeconfig")
	}
	control, prometheus, err := f.beside()
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	cfg, err := f.restConfig()
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	r, err := recorder.New(cfg, recorder.Options{Path: f.output, Cluster: f.cluster, Source: "scalehist record " + console.CurrentVersion().Scalehist,
		NodeGroups: source, Kinds: f.kinds, CANamespace: f.caNamespace,
		Retain: time.Duration(f.retain), Wait: f.wait, Reload: f.restConfig, ControlPlane: control, Usage: f.usage, Prometheus: prometheus})
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}

	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	started := make(chan error, 1)
	go func() { started <- r.WaitForStart(ctx) }()
	s.Errf("connecting to %s\n", cfg.Host)
	return f.watch(s, r, done, started, stop)
}

// restConfig reads how to reach the cluster.
func (f *recordFlags) restConfig() (*rest.Config, error) {
	cfg, err := service.Kubeconfig(f.kubeconfig, f.context)
	if errors.Is(err, service.ErrNoKubeconfig) {
		return nil, errors.New("kubeconfig: none found: give --kubeconfig, or set KUBECONFIG")
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w: give another --kubeconfig or --context, or set KUBECONFIG", err)
	}
	return cfg, nil
}

// beside are the control plane and the Prometheus, nil if there is none.
func (f *recordFlags) beside() (*recorder.ControlPlane, *usage.Prometheus, error) {
	var control *recorder.ControlPlane
	if f.controlKubeconfig != "" || f.controlNamespace != "" {
		control = &recorder.ControlPlane{Namespace: f.controlNamespace}
	}
	if f.controlKubeconfig != "" {
		cfg, err := service.Kubeconfig(f.controlKubeconfig, f.controlContext)
		if err != nil {
			return nil, nil, fmt.Errorf("kubeconfig of the control plane: %w", err)
		}
		control.Config = cfg
	}
	p := f.prometheus
	if p.URL == "" {
		return control, nil, nil
	}
	if f.queries != "" {
		queries, err := usage.ReadQueries(f.queries)
		if err != nil {
			return nil, nil, err
		}
		p.Queries = queries
	}
	for _, selector := range f.series {
		p.Queries = append(p.Queries, usage.SeriesOf(selector))
	}
	return control, &p, p.Check()
}

// LeastStart is how long a recording with --for may at least take to begin; tests shorten it.
var LeastStart = time.Minute

// startTime is how long a recording with --for may take to begin: an API server that answers byte by byte would never let it.
func (f *recordFlags) startTime() time.Duration { return max(f.duration, LeastStart) }

// watch shows the progress until the recording ends, then its summary.
func (f *recordFlags) watch(s console.IO, r *recorder.Recorder, done, started <-chan error, stop func()) error {
	var begin time.Time
	var progress *console.Progress
	var limit, startLimit <-chan time.Time
	late := false
	if f.duration > 0 && !f.wait {
		startLimit = time.After(f.startTime())
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last, outage := int64(0), outage{}
	for {
		select {
		case err := <-started:
			started, startLimit = nil, nil
			if err != nil {
				continue // Run returns the reason
			}
			begin = time.Now()
			if f.duration > 0 {
				limit = time.After(f.duration)
			}
			st := r.Stats()
			s.Errf("recording %s into %s, node groups from %s; Ctrl-C stops\n", plural.Of(st.Objects, "object"), f.output, st.NodeGroups)
			for _, line := range recorder.RefusedText(r.Refused()) {
				s.Errf("warning: %s\n", line)
			}
			progress = s.NewProgress("recording", -1)
			last = st.Changes
		case <-tick.C:
			if line := outage.next(r.Stats().Trouble, time.Now()); line != "" {
				if progress != nil {
					progress.Clear()
				}
				s.Errf("%s\n", line)
			}
			if progress != nil {
				st := r.Stats()
				progress.Set(st.Changes, fmt.Sprintf("%d objects, %d changes/s, %d queued, changes", st.Objects, st.Changes-last, st.Queued))
				last = st.Changes
			}
		case <-limit:
			stop()
		case <-startLimit:
			late = true
			stop()
		case err := <-done:
			if progress != nil {
				progress.Done()
			}
			if late && begin.IsZero() {
				return fmt.Errorf("record: the API server had not listed everything after %s, and --for %s is to end: give --for longer, or --wait", f.startTime(), f.duration)
			}
			if err != nil {
				return fmt.Errorf("record: %w", err)
			}
			return f.summary(s, r.Stats(), time.Since(begin))
		}
	}
}

// summary says what is in the file now that the recording has ended.
func (f *recordFlags) summary(s console.IO, st recorder.Stats, took time.Duration) error {
	c := st.Counts
	path := f.output
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	s.Printf("recorded %s into %s\n", took.Round(time.Second), path)
	s.Printf("%s at the end; %d added, %d updated, %d deleted, %s without effect on scaling, %s\n",
		plural.Of(st.Objects, "object"), c.Added, c.Updated, c.Deleted, plural.Of(c.Unchanged, "change"), plural.Of(c.Events, "event"))
	s.Printf("node groups from %s\n", strings.TrimSpace(st.NodeGroups))
	return nil
}

// PrometheusFlags adds the flags that say how a Prometheus is reached.
func PrometheusFlags(flags *pflag.FlagSet, p *usage.Prometheus, address string) {
	flags.StringVar(&p.URL, "prometheus", "", address)
	flags.StringVar(&p.TokenFile, "prometheus-token-file", "", "file with a bearer token for --prometheus, read for every request")
	flags.StringVar(&p.CAFile, "prometheus-ca-file", "", "certificates to trust for --prometheus (default: the system's)")
	flags.StringVar(&p.CertFile, "prometheus-cert-file", "", "client certificate for --prometheus")
	flags.StringVar(&p.KeyFile, "prometheus-key-file", "", "key of the client certificate for --prometheus")
}
