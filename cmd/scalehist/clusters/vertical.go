package clusters

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/operator"
)

func newVerticalCommand(s console.IO) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "vertical",
		Short: "Recommend requests for workloads of a cluster",
		Long: `Recommend requests for the workloads of a cluster that have VerticalPodAutoscalers (docs/operator.md). How recommenders would have done on a
recording, 'scalehist backtest' and 'scalehist replay --vertical' show. 'scalehist vertical serve' lets others ask a recommender over HTTP.`,
		Example: `  # What would be recommended now? Nothing is written
  scalehist vertical recommend --once`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newVerticalRecommendCommand(s), newVerticalServeCommand(s))
	return cmd
}

// verticalFlags are the flags of `scalehist vertical recommend`.
type verticalFlags struct {
	operatorFlags
	name, recommender string
	write, once       bool
	prometheus        prometheusFlags
	output            console.Format
}

func newVerticalRecommendCommand(s console.IO) *cobra.Command {
	f := verticalFlags{operatorFlags: operatorFlags{command: "vertical recommend", lease: operator.Name}}
	cmd := &cobra.Command{
		Use:   "recommend",
		Short: "Recommend for VerticalPodAutoscalers until Ctrl-C; writes only with --write",
		Long: `Look at the VerticalPodAutoscalers that name it in spec.recommenders once an --interval, until Ctrl-C or SIGTERM, and recommend for their
targets' pods with a --recommender. Without --write that is printed, and nothing is written to the cluster. With it, it is in the status of the
VerticalPodAutoscalers, where upstream's updater and admission controller read it: in modes other than Off they change pods. What recommenders
remember is kept in VerticalPodAutoscalerCheckpoints then.

A recommendation is printed when it is another than before. Usage is that of the metrics API (metrics.k8s.io), or with --prometheus that of a
Prometheus which scrapes kubelets, from --since ago on.

--name default takes VerticalPodAutoscalers that name no recommender: stop upstream's recommender first. Recommenders: ` + strings.Join(vertical.Names(), ", ") + `;
with options as in vpa:target-cpu-percentile=0.95 (docs/vertical.md).

One process writes at a time (--leader-elect), by a Lease.

Exit codes: 0 stopped by Ctrl-C or SIGTERM, or done once; 2 error.`,
		Example: `  # What would be recommended in the current context? Nothing is written
  scalehist vertical recommend --once

  # The same for all that upstream's recommender has, with another recommender, as lines of JSON
  scalehist vertical recommend --name default --recommender holt-winters -o json

  # Write for VerticalPodAutoscalers with spec.recommenders: [{name: scalehist-vertical}], from eight days of a Prometheus on
  scalehist vertical recommend --write --prometheus http://prometheus.monitoring:9090 --since 192h`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, s) },
	}
	flags := cmd.Flags()
	f.operatorFlags.add(cmd, "VerticalPodAutoscalers", operator.DefaultInterval)
	flags.StringVar(&f.name, "name", operator.Name, "name in spec.recommenders of the VerticalPodAutoscalers to recommend for; the Lease is called by it too")
	recommenderFlag(cmd, &f.recommender)
	flags.BoolVar(&f.write, "write", false, "write recommendations into the status of VerticalPodAutoscalers, and checkpoints (default: print only)")
	flags.BoolVar(&f.once, "once", false, "end after one look; an error of it is the command's")
	f.prometheus.add(flags)
	console.AddFormatFlag(cmd, &f.output)
	return cmd
}

// recommenderFlag adds the flag that names a recommender of requests.
func recommenderFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "recommender", "vpa", "recommender, with options: "+strings.Join(vertical.Names(), ", "))
	console.MustComplete(cmd, "recommender", cobra.FixedCompletions(vertical.Names(), cobra.ShellCompDirectiveNoFileComp))
}

func (f *verticalFlags) run(cmd *cobra.Command, s console.IO) (err error) {
	if f.name == "" {
		return console.UsageErrorf(cmd, "--name: want a name")
	}
	spec, err := vertical.Parse(f.recommender)
	if err != nil {
		return console.UsageErrorf(cmd, "--recommender: %w", err)
	}
	if err := f.prometheus.check(cmd); err != nil {
		return err
	}
	f.lease = f.name
	ctx, config, err := f.start(cmd, s)
	if err != nil {
		return err
	}
	options := operator.Options{Config: config, Namespace: f.namespace, Name: f.name, Recommender: spec, Interval: f.interval, Write: f.write}
	if f.write && !f.once {
		if options.Election, err = f.election(); err != nil {
			return err
		}
	}
	if options.Source, err = f.prometheus.source(config, f.namespace, time.Now()); err != nil {
		return fmt.Errorf("vertical recommend: %w", err)
	}
	var failed []error
	options.Report = func(r operator.Report) {
		if r.Err != nil {
			failed = append(failed, r.Err)
		}
		f.print(s, r)
	}
	op, err := operator.New(options)
	if err != nil {
		return fmt.Errorf("vertical recommend: %w", err)
	}
	if f.once {
		round, err := op.Round(ctx)
		if err == nil && round.VPAs == 0 {
			s.Errf("no VerticalPodAutoscaler of %s names %s in spec.recommenders\n", cmp.Or(f.namespace, "any namespace"), f.name)
		}
		if err == nil {
			err = errors.Join(errors.Join(failed...), op.End(ctx))
		}
		if err != nil {
			return fmt.Errorf("vertical recommend: %w", err)
		}
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	answered, err := f.serveHealth(ctx, s, op.Stuck)
	if err != nil {
		return fmt.Errorf("vertical recommend: %w", err)
	}
	does := "recommending for VerticalPodAutoscalers of %s, dry: nothing is written (--write); Ctrl-C stops\n"
	if f.write {
		does = "recommending for VerticalPodAutoscalers of %s, into their status; Ctrl-C stops\n"
	}
	s.Errf(does, cmp.Or(f.namespace, "all namespaces"))
	err = op.Run(ctx)
	stop()
	return errors.Join(err, <-answered)
}

// verticalLine is a line of JSON.
type verticalLine struct {
	Namespace string                            `json:"namespace"`
	Name      string                            `json:"name"`
	Mode      vpav1.UpdateMode                  `json:"updateMode"`
	Pods      int                               `json:"pods"`
	Written   bool                              `json:"written"`
	Error     string                            `json:"error,omitempty"`
	Status    vpav1.VerticalPodAutoscalerStatus `json:"status"`
}

// print prints what is recommended for a VPA.
func (f *verticalFlags) print(s console.IO, r operator.Report) {
	if f.output == console.FormatJSON {
		line := verticalLine{r.Namespace, r.Name, r.Mode, r.Pods, r.Written, "", r.Status}
		if r.Err != nil {
			line.Error = r.Err.Error()
		}
		_ = json.NewEncoder(s.Json()).Encode(line) // standard output keeps its errors
		return
	}
	became := "as its status has it"
	switch {
	case r.Err != nil:
		became = "not written: " + r.Err.Error()
	case r.Written:
		became = "written"
	case !f.write:
		became = "not written (dry)"
	}
	s.Printf("%s/%s, mode %s, %s: %s\n", r.Namespace, r.Name, r.Mode, plural.Of(r.Pods, "pod"), became)
	for _, c := range r.Status.Conditions {
		if c.Message != "" {
			s.Printf("  %s %s: %s\n", c.Type, c.Status, c.Message)
		}
	}
	list := vertical.FromStatus(r.Status.Recommendation)
	if len(list) == 0 {
		s.Printf("  no recommendation yet\n")
	}
	for _, c := range list {
		s.Printf("  %s: %s (%s to %s)\n", c.Container, amountText(c.Target), amountText(c.Lower), amountText(c.Upper))
	}
}

// amountText is "250m CPU, 262144k memory".
func amountText(a vertical.Amount) string {
	var parts []string
	list := a.List()
	if q, ok := list[corev1.ResourceCPU]; ok {
		parts = append(parts, q.String()+" CPU")
	}
	if q, ok := list[corev1.ResourceMemory]; ok {
		parts = append(parts, q.String()+" memory")
	}
	return strings.Join(parts, ", ")
}
