package service

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/scalehist/scalehist/internal/decode"
	"github.com/scalehist/scalehist/recorder"
	"github.com/scalehist/scalehist/recorder/sources"
)

// ConfigKey is the file that is read when the configuration is a directory: the key of the mounted ConfigMap.
const ConfigKey = "clusters.yaml"

// Config is the configuration file. The descriptions are those of the published schema.
type Config struct {
	Clusters []Cluster `yaml:"clusters" jsonschema:"required" jsonschema_description:"The clusters to record; an empty list records nothing."`
}

// Cluster says how to reach one cluster and what to record of it.
type Cluster struct {
	Name         string        `yaml:"name" jsonschema:"required,minLength=1,maxLength=63,pattern=^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" jsonschema_description:"Name of the cluster (a DNS label, unique): its history is NAME.db."`
	Kubeconfig   string        `yaml:"kubeconfig,omitempty" jsonschema_description:"Kubeconfig file; a relative path starts at the configuration file. Default: $KUBECONFIG or ~/.kube/config."`
	Context      string        `yaml:"context,omitempty" jsonschema_description:"Context of the kubeconfig. Default: its current one."`
	InCluster    bool          `yaml:"inCluster,omitempty" jsonschema_description:"Record the cluster this process runs in, with its service account."`
	ControlPlane *ControlPlane `yaml:"controlPlane,omitempty" jsonschema_description:"The cluster where the autoscaler and the machines of this one are, if that is another."`
	NodeGroups   string        `yaml:"nodeGroups,omitempty" jsonschema_description:"Where node groups come from, as in 'scalehist record --node-groups': auto (default), annotation, labels:KEY, gardener, cluster-api, karpenter, status, or a mapping file (a relative path starts at the configuration file)."`
	CANamespace  string        `yaml:"caNamespace,omitempty" jsonschema_description:"Namespace of the cluster-autoscaler. Default: wherever there is one."`
	Kinds        []string      `yaml:"kinds,omitempty" jsonschema_description:"Record these kinds only; Pod and Node always are. Default: all."`
	Usage        Duration      `yaml:"usage,omitempty" jsonschema_description:"How often to record what containers use, from the metrics API. Default: never."`
	Prometheus   *Prometheus   `yaml:"prometheus,omitempty" jsonschema_description:"Queries whose results are recorded as series."`
	Retain       Duration      `yaml:"retain,omitempty" jsonschema_description:"How long to keep what was recorded; what is older is forgotten while recording. Default: for ever."`

	// dir is where relative paths start.
	dir string
}

// ControlPlane is where the autoscaler and the machines of a cluster are, when that is another cluster or not every
// namespace.
type ControlPlane struct {
	Kubeconfig string `yaml:"kubeconfig,omitempty" jsonschema_description:"Kubeconfig file of the control plane's cluster. Default: the cluster itself."`
	Context    string `yaml:"context,omitempty" jsonschema_description:"Context of that kubeconfig. Default: its current one."`
	Namespace  string `yaml:"namespace,omitempty" jsonschema_description:"Namespace of this cluster's machines there. Default: all."`
}

// Prometheus says what to ask and where.
type Prometheus struct {
	URL       string  `yaml:"url" jsonschema:"required" jsonschema_description:"Address of the Prometheus API, without /api/v1."`
	TokenFile string  `yaml:"tokenFile,omitempty" jsonschema_description:"File with a bearer token."`
	CAFile    string  `yaml:"caFile,omitempty" jsonschema_description:"PEM certificates to trust instead of the system's."`
	CertFile  string  `yaml:"certFile,omitempty" jsonschema_description:"PEM certificate of the client."`
	KeyFile   string  `yaml:"keyFile,omitempty" jsonschema_description:"PEM key of that certificate."`
	Queries   []Query `yaml:"queries" jsonschema:"required,minItems=1" jsonschema_description:"What to ask."`
}

// Query is recorded as series of its name.
type Query struct {
	Name  string   `yaml:"name" jsonschema:"required" jsonschema_description:"Name of the recorded series."`
	Query string   `yaml:"query" jsonschema:"required" jsonschema_description:"PromQL."`
	Step  Duration `yaml:"step,omitempty" jsonschema_description:"Distance of its values, in whole seconds. Default: 30s."`
}

// ConfigError is everything that is wrong with a configuration, each with its line.
type ConfigError struct {
	Path     string
	Problems []string
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("config %s: %s", e.Path, strings.Join(e.Problems, "; "))
}

// configFile is the file to read for a path that may be a directory.
func configFile(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return filepath.Join(path, ConfigKey)
	}
	return path
}

// Load reads a configuration: a file, or a directory with a file clusters.yaml. Errors in it are a *ConfigError.
func Load(path string) (*Config, error) {
	file := configFile(path)
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return Parse(data, file)
}

// maxConfig bounds the configuration in bytes; a ConfigMap has at most 1 MiB.
const maxConfig = decode.MaxFile

// Parse reads a configuration; path names it in errors, and relative paths in it start at its directory.
func Parse(data []byte, path string) (*Config, error) {
	if len(data) > maxConfig {
		return nil, &ConfigError{Path: path, Problems: []string{fmt.Sprintf("%d bytes are more than %d", len(data), maxConfig)}}
	}
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, &ConfigError{Path: path, Problems: yamlProblems(err)}
	}
	var c Config
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return nil, &ConfigError{Path: path, Problems: yamlProblems(err)}
	}
	if err := decoder.Decode(new(yaml.Node)); err == nil {
		return nil, &ConfigError{Path: path, Problems: []string{"more than one document: give one"}}
	}
	v := validation{root: &root}
	if c.Clusters == nil {
		v.problems = append(v.problems, "no clusters: give 'clusters:' with a list, [] to record nothing")
	}
	dir := filepath.Dir(path)
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	seen := map[string]int{}
	for i := range c.Clusters {
		c.Clusters[i].dir = dir
		v.cluster(i, &c.Clusters[i], seen)
	}
	if len(v.problems) > 0 {
		return nil, &ConfigError{Path: path, Problems: v.problems}
	}
	return &c, nil
}

var (
	unknownField = regexp.MustCompile(`^line (\d+): field (\S+) not found in type \S+$`)
	yamlPrefix   = regexp.MustCompile(`^yaml: (?:unmarshal errors:\s*)?`)
)

// yamlProblems are the decoder's complaints in words of the file's author.
func yamlProblems(err error) []string {
	var typed *yaml.TypeError
	lines := []string{yamlPrefix.ReplaceAllString(err.Error(), "")}
	if errors.As(err, &typed) {
		lines = slices.Clone(typed.Errors)
	}
	for i, l := range lines {
		if m := unknownField.FindStringSubmatch(l); m != nil {
			lines[i] = fmt.Sprintf("line %s: unknown key %q", m[1], m[2])
			continue
		}
		lines[i] = decode.Line(l)
	}
	return lines
}

// validation collects what is wrong beyond the syntax.
type validation struct {
	root     *yaml.Node
	problems []string
}

// addf notes a problem of a key of cluster i.
func (v *validation) addf(i int, key, format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf("line %d: %s", v.line(i, key), fmt.Sprintf(format, args...)))
}

// line is where a key of cluster i is, else where the cluster begins.
func (v *validation) line(i int, key string) int {
	node := child(v.root, "clusters")
	if node == nil || i >= len(node.Content) {
		return 1
	}
	item := node.Content[i]
	if value := child(item, key); value != nil {
		return value.Line
	}
	return item.Line
}

// child is the value of a key of a mapping, nil without.
func child(n *yaml.Node, key string) *yaml.Node {
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		n = n.Content[0]
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

var name = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// ValidName says whether a name may be a cluster's: a DNS label, which is also safe as part of a path.
func ValidName(s string) bool { return name.MatchString(s) }

func (v *validation) cluster(i int, c *Cluster, seen map[string]int) {
	switch first, again := seen[c.Name]; {
	case c.Name == "":
		v.addf(i, "name", "a cluster has no name: give one, a DNS label")
	case !ValidName(c.Name):
		v.addf(i, "name", "name %q is no DNS label: use at most 63 of a-z, 0-9 and - (not first or last)", c.Name)
	case again:
		v.addf(i, "name", "name %q is used in line %d already: names are unique", c.Name, v.line(first, "name"))
	default:
		seen[c.Name] = i
	}
	if c.InCluster && (c.Kubeconfig != "" || c.Context != "") {
		v.addf(i, "inCluster", "cluster %q: inCluster and kubeconfig or context: give one of them", c.Name)
	}
	for _, k := range c.Kinds {
		if !slices.Contains(recorder.Kinds(), k) {
			v.addf(i, "kinds", "cluster %q: unknown kind %q: choose from %s", c.Name, k, strings.Join(recorder.Kinds(), ", "))
		}
	}
	if c.NodeGroups == "labels:" {
		v.addf(i, "nodeGroups", "cluster %q: the label key is missing: labels:KEY", c.Name)
	}
	if u := time.Duration(c.Usage); u < 0 || u > 0 && u < time.Second {
		v.addf(i, "usage", "cluster %q: usage %s: want 1s or more", c.Name, u)
	}
	if r := time.Duration(c.Retain); r < 0 || r > 0 && r < time.Hour {
		v.addf(i, "retain", "cluster %q: retain %s: want 1h or more", c.Name, r)
	}
	if p := c.ControlPlane; p != nil && p.Kubeconfig == "" && (p.Namespace == "" || p.Context != "") {
		v.addf(i, "controlPlane", "cluster %q: the control plane needs a kubeconfig, or only a namespace if it is the cluster itself", c.Name)
	}
	if c.Prometheus != nil {
		if err := c.prometheus().Check(); err != nil {
			v.addf(i, "prometheus", "cluster %q: %v", c.Name, err)
		}
	}
}

// path resolves a path of the configuration; "" stays "".
func (c *Cluster) path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(c.dir, p)
}

// Unusable says which files of the configuration cannot be used as they are now. That is no error: they may come, and
// are read with each attempt.
func (c *Config) Unusable() []string {
	var out []string
	for i := range c.Clusters {
		cluster := &c.Clusters[i]
		var files []string
		if cluster.Kubeconfig != "" {
			files = append(files, cluster.path(cluster.Kubeconfig))
		}
		if cluster.ControlPlane != nil && cluster.ControlPlane.Kubeconfig != "" {
			files = append(files, cluster.path(cluster.ControlPlane.Kubeconfig))
		}
		for _, f := range files {
			if _, err := os.Stat(f); err != nil {
				out = append(out, fmt.Sprintf("cluster %q: %v", cluster.Name, err))
			}
		}
		if _, err := sources.Parse(cluster.nodeGroupSpec()); err != nil {
			out = append(out, fmt.Sprintf("cluster %q: %v", cluster.Name, err))
		}
	}
	return out
}
