package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/recorder"
	"github.com/scalehist/scalehist/recorder/sources"
	"github.com/scalehist/scalehist/recorder/usage"
)

// recording is one attempt; a *recorder.Recorder is one.
type recording interface {
	Run(ctx context.Context) error
	WaitForStart(ctx context.Context) error
	Stats() recorder.Stats
	Refused() []recorder.Refused
}

// prepare makes the recorder of an attempt. What it reads, it reads again each time.
func prepare(c *Cluster, path, source string, wall clock.Clock) (r recording, server string, err error) {
	cfg, err := c.restConfig()
	if err != nil {
		return nil, "", err
	}
	o, err := c.options(path, source, wall)
	if err != nil {
		return nil, cfg.Host, err
	}
	r, err = recorder.New(cfg, o)
	return r, cfg.Host, err
}

// restConfig says how to reach the cluster.
func (c *Cluster) restConfig() (*rest.Config, error) {
	if c.InCluster {
		cfg, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("inCluster: %w", err)
		}
		return cfg, nil
	}
	return kubeconfig(c.path(c.Kubeconfig), c.Context)
}

// kubeconfig reads a kubeconfig file; without a path those that kubectl would.
func kubeconfig(path, name string) (*rest.Config, error) {
	cfg, err := Kubeconfig(path, name)
	if errors.Is(err, ErrNoKubeconfig) {
		return nil, errors.New("kubeconfig: none found: set kubeconfig, or inCluster: true")
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return cfg, nil
}

// options are the recorder's.
func (c *Cluster) options(path, source string, wall clock.Clock) (recorder.Options, error) {
	groups, err := sources.Parse(c.nodeGroupSpec())
	if err != nil {
		return recorder.Options{}, err
	}
	plane, err := c.controlPlane()
	if err != nil {
		return recorder.Options{}, err
	}
	return recorder.Options{Path: path, Cluster: c.Name, Source: source, Clock: wall, NodeGroups: groups, Kinds: c.Kinds,
		CANamespace: c.CANamespace, Retain: time.Duration(c.Retain), Reload: c.restConfig, ControlPlane: plane, Usage: time.Duration(c.Usage), Prometheus: c.prometheus()}, nil
}

func (c *Cluster) controlPlane() (*recorder.ControlPlane, error) {
	if c.ControlPlane == nil {
		return nil, nil
	}
	out := &recorder.ControlPlane{Namespace: c.ControlPlane.Namespace}
	if c.ControlPlane.Kubeconfig == "" {
		return out, nil
	}
	var err error
	if out.Config, err = kubeconfig(c.path(c.ControlPlane.Kubeconfig), c.ControlPlane.Context); err != nil {
		return nil, fmt.Errorf("controlPlane: %w", err)
	}
	return out, nil
}

// prometheus is what to ask, nil for nothing.
func (c *Cluster) prometheus() *usage.Prometheus {
	p := c.Prometheus
	if p == nil {
		return nil
	}
	out := &usage.Prometheus{URL: p.URL, TokenFile: c.path(p.TokenFile), CAFile: c.path(p.CAFile), CertFile: c.path(p.CertFile), KeyFile: c.path(p.KeyFile)}
	for _, q := range p.Queries {
		out.Queries = append(out.Queries, usage.Query{Name: q.Name, Query: q.Query, Step: cmp.Or(time.Duration(q.Step), usage.DefaultStep)})
	}
	return out
}

// nodeGroupSpec is nodeGroups with the path of a mapping file resolved: what is a file beside the configuration is one.
func (c *Cluster) nodeGroupSpec() string {
	if c.NodeGroups == "" {
		return "auto"
	}
	if file := c.path(c.NodeGroups); isFile(file) {
		return file
	}
	return c.NodeGroups
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// files are those an attempt reads, beside the configuration.
func (c *Cluster) files() []string {
	var out []string
	if !c.InCluster {
		if c.Kubeconfig != "" {
			out = append(out, c.path(c.Kubeconfig))
		} else {
			rules := clientcmd.NewDefaultClientConfigLoadingRules()
			out = append(out, rules.GetLoadingPrecedence()...)
		}
	}
	if c.ControlPlane != nil && c.ControlPlane.Kubeconfig != "" {
		out = append(out, c.path(c.ControlPlane.Kubeconfig))
	}
	if p := c.Prometheus; p != nil {
		for _, path := range []string{p.CAFile, p.CertFile, p.KeyFile} {
			if path != "" {
				out = append(out, c.path(path))
			}
		}
	}
	if spec := c.nodeGroupSpec(); isFile(spec) {
		out = append(out, spec)
	}
	return out
}

// fingerprint changes when an attempt of this cluster would be another one. A file that cannot be read counts as it
// was: credentials that are being replaced are no reason to stop.
func (c *Cluster) fingerprint() (string, error) {
	h := sha256.New()
	enc := yaml.NewEncoder(h)
	if err := errors.Join(enc.Encode(c), enc.Close()); err != nil {
		return "", err
	}
	for _, path := range c.files() {
		f, err := os.Open(filepath.Clean(path))
		if errors.Is(err, os.ErrNotExist) && c.Kubeconfig == "" {
			continue // one of those kubectl would read
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s\x00", path)
		_, err = io.Copy(h, io.LimitReader(f, 16<<20))
		if err = errors.Join(err, f.Close()); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Backoff between attempts: doubled from the first to the most, and from the first again once a recording has begun.
const (
	firstBackoff = time.Second
	mostBackoff  = 5 * time.Minute
	// startTimeout is how long the first lists may take. A server that takes connections and never answers would hold
	// an attempt for ever.
	startTimeout = 10 * time.Minute
)

// backoff is how long to wait after that many failures in a row.
func backoff(failures int) time.Duration {
	d := firstBackoff
	for ; failures > 1 && d < mostBackoff; failures-- {
		d *= 2
	}
	return min(d, mostBackoff)
}
