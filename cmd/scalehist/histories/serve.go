package histories

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/recorder/service"
	"github.com/scalehist/scalehist/recorder/web"
	reports "github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/html"
)

// serveFlags are the flags of `scalehist serve`.
type serveFlags struct {
	config, dir, reports string
	access               console.AccessFlags
	maxUpload            string
	check                bool
}

func newServeCommand(s console.IO) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve --config FILE",
		Short: "Record many clusters as a service, with a web app",
		Long: `Record every cluster of a configuration, each into a history of its own, until Ctrl-C or SIGTERM, and show them in a web
app: state, gaps, nodes and pending pods over time; downloads of consistent copies while they are recorded; uploads;
replay reports; an API, and metrics for Prometheus.

The configuration is YAML, or a directory with a file clusters.yaml, such as a mounted ConfigMap:
  clusters:
  - name: prod-eu              # the history is DIR/prod-eu.db
    kubeconfig: prod-eu.yaml   # or inCluster: true; context: NAME chooses a context
    nodeGroups: auto           # as in 'scalehist record --node-groups'
    retain: 30d
docs/serve.md has all keys, docs/serve.schema.json is their JSON Schema. The configuration and the kubeconfigs are read
again when they change (and on SIGHUP): new clusters start, removed ones end, changed ones start again. One that is wrong
changes nothing. A cluster that cannot be recorded is tried again, 1s to 5m apart, and does not concern the others.

Without credentials it listens on this machine only. Another address needs --token-file (a bearer token, or the password
of any user in a browser) or --client-ca (client certificates), best with --tls-cert and --tls-key.

Exit codes: 0 stopped by Ctrl-C or SIGTERM, or --check found nothing; 1 --check found a file that cannot be used now, such as a
kubeconfig that is not there; 2 error.`,
		Example: `  # Record what clusters.yaml says, and look at http://127.0.0.1:8080
  scalehist serve --config clusters.yaml --dir histories

  # Is the configuration right?
  scalehist serve --config clusters.yaml --check

  # For others to see, with a token
  openssl rand -hex 32 > token
  scalehist serve --config clusters.yaml --listen :8443 --tls-cert tls.crt --tls-key tls.key --token-file token

  # The last hour of a cluster that is being recorded
  curl -OJ "http://127.0.0.1:8080/api/clusters/prod-eu/db?from=$(date -u -d -1hour +%FT%TZ)"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, s) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "configuration file, or directory with clusters.yaml (required)")
	flags.StringVar(&f.dir, "dir", "histories", "directory of the histories; it is made if it is not there")
	flags.StringVar(&f.reports, "reports", "", "directory of replay reports to show (default: reports in --dir)")
	f.access.Add(cmd, "127.0.0.1:8080", "the web app")
	flags.StringVar(&f.maxUpload, "max-upload", "4Gi", "largest history that may be uploaded")
	flags.BoolVar(&f.check, "check", false, "check the configuration and exit")
	if err := cmd.MarkFlagFilename("config"); err != nil {
		panic(fmt.Sprintf("completion of --config: %v", err)) // only a flag that does not exist fails
	}
	for _, flag := range []string{"dir", "reports"} {
		if err := cmd.MarkFlagDirname(flag); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", flag, err)) // only a flag that does not exist fails
		}
	}
	return cmd
}

func (f *serveFlags) run(cmd *cobra.Command, s console.IO) (err error) {
	if f.config == "" {
		return console.UsageErrorf(cmd, "serve: no configuration: give --config FILE")
	}
	if f.check {
		return f.checkConfig(s)
	}
	address, err := net.ResolveTCPAddr("tcp", f.access.Listen)
	if err != nil {
		return console.UsageErrorf(cmd, "serve: --listen %s: %w", f.access.Listen, err)
	}
	options, files, err := f.options(cmd, address)
	if err != nil {
		return err
	}
	lines := &stateLines{s: s}
	records, err := service.New(service.Options{Config: f.config, Dir: f.dir, Source: "scalehist serve " + console.CurrentVersion().Scalehist,
		ClusterChanged: lines.cluster, ConfigChanged: lines.config})
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	defer func() { err = errors.Join(err, records.Close()) }()
	options.Recordings = records
	app, err := web.New(options)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	server := app.HTTPServer()
	listener, url, err := console.ListenFor(cmd.Context(), "serve", server, address, files)
	if err != nil {
		return err
	}
	config := records.Config()
	lines.printf("recording %s of %s into %s", plural.Of(config.Clusters, "cluster"), config.Path, f.dir)
	lines.printf("serving %s; Ctrl-C stops", url)
	return f.serve(cmd.Context(), records, server, listener)
}

// serve runs both parts until ctx ends or the server cannot go on.
func (f *serveFlags) serve(ctx context.Context, records *service.Service, server *http.Server, listener net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	served := make(chan error, 1)
	go func() {
		if server.TLSConfig != nil {
			served <- server.ServeTLS(listener, "", "")
		} else {
			served <- server.Serve(listener)
		}
	}()
	recorded := make(chan error, 1)
	go func() { recorded <- records.Run(ctx) }()
	var failed error
	for ctx.Err() == nil {
		select {
		case <-hangups:
			records.Reload()
		case failed = <-served:
			stop()
		case <-ctx.Done():
		}
	}
	// Downloads get a moment to finish; the recordings end meanwhile.
	patience, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer done()
	ended := server.Shutdown(patience)
	if errors.Is(ended, context.DeadlineExceeded) {
		ended = server.Close()
	}
	if failed != nil {
		failed = fmt.Errorf("serve: %w", failed)
	}
	return errors.Join(failed, ended, <-recorded)
}

// checkConfig says whether the configuration is right, and which files it names cannot be used now.
func (f *serveFlags) checkConfig(s console.IO) error {
	config, err := service.Load(f.config)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	problems := config.Unusable()
	for _, p := range problems {
		s.Errf("warning: %s\n", p)
	}
	clusters := plural.Of(len(config.Clusters), "cluster")
	if len(problems) > 0 {
		s.Printf("%s: %s, %s: what it names cannot be used now\n", f.config, clusters, plural.Of(len(problems), "problem"))
		return console.Differed()
	}
	s.Printf("%s: %s, no error\n", f.config, clusters)
	return nil
}

// options are the web app's, and the TLS files if there are any. Who listens to others must tell them apart.
func (f *serveFlags) options(cmd *cobra.Command, address *net.TCPAddr) (web.Options, *web.TLSFiles, error) {
	v := console.CurrentVersion()
	o := web.Options{Reports: f.reports, Hosts: f.access.Hosts, ClientCertificates: f.access.ClientCA != "", Version: v.Scalehist, Commit: v.Commit,
		ReportText: func(path string) (string, error) {
			r, err := reports.Read(path)
			if err != nil {
				return "", err
			}
			return reports.Text(r), nil
		},
		ReportPage: func(w io.Writer, path string) error {
			r, err := reports.Read(path)
			if err != nil {
				return err
			}
			return html.Write(w, html.Input{Runs: []html.Run{{Label: r.Autoscaler, Report: r}}})
		}}
	if o.Reports == "" {
		o.Reports = filepath.Join(f.dir, "reports")
	}
	limit, err := resource.ParseQuantity(f.maxUpload)
	if err != nil || limit.Value() <= 0 {
		return o, nil, console.UsageErrorf(cmd, "serve: --max-upload %s: write a size such as 4Gi", f.maxUpload)
	}
	o.MaxUpload = limit.Value()
	o.LocalHosts = f.access.LocalHosts(address)
	if err := f.access.Check(cmd, "serve: ", address); err != nil {
		return o, nil, err
	}
	tokens, files, err := f.access.Credentials()
	if err != nil {
		return o, nil, fmt.Errorf("serve: %w", err)
	}
	o.Tokens = tokens
	return o, files, nil
}

// stateLines prints what becomes of clusters, a line each time that it is news.
type stateLines struct {
	s    console.IO
	mu   sync.Mutex
	said map[string]string
}

func (l *stateLines) printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.s.Errf(format+"\n", args...)
}

func (l *stateLines) cluster(c service.Status) {
	line := ""
	switch c.State {
	case service.StateRecording:
		line = fmt.Sprintf("%s: recording %s of %s, node groups from %s", c.Name, plural.Of(c.Recorder.Objects, "object"), c.Server, c.Recorder.NodeGroups)
	case service.StateFailed:
		line = fmt.Sprintf("%s: not recorded, tried again: %s", c.Name, c.Reason)
	case service.StateConnecting, service.StateStopping:
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said == nil {
		l.said = map[string]string{}
	}
	if l.said[c.Name] == line {
		return
	}
	l.said[c.Name] = line
	l.s.Errf("%s\n", line)
	for _, missing := range c.Refused {
		l.s.Errf("warning: %s: %s\n", c.Name, missing)
	}
}

func (l *stateLines) config(c service.ConfigStatus) {
	if c.Problem != "" {
		l.printf("the configuration is not in force, the one before it stays: %s", c.Problem)
		return
	}
	l.printf("the configuration was read again: %s", plural.Of(c.Clusters, "cluster"))
}
