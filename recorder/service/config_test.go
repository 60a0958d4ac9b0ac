package service

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

const fullConfig = `clusters:
- name: prod-eu
  kubeconfig: kubeconfigs/prod-eu.yaml
  context: admin
  controlPlane:
    kubeconfig: seed.yaml
    context: seed
    namespace: shoot--prod--eu
  nodeGroups: labels:pool
  caNamespace: kube-system
  kinds: [Deployment, Event]
  usage: 1m
  prometheus:
    url: https://prometheus.example:9090
    tokenFile: token
    queries:
    - {name: rps, query: 'sum(rate(requests_total[5m]))', step: 15s}
  retain: 30d
- name: here
  inCluster: true
`

func TestParse(t *testing.T) {
	c, err := Parse([]byte(fullConfig), "/etc/scalehist/clusters.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := []Cluster{{Name: "prod-eu", Kubeconfig: "kubeconfigs/prod-eu.yaml", Context: "admin",
		ControlPlane: &ControlPlane{Kubeconfig: "seed.yaml", Context: "seed", Namespace: "shoot--prod--eu"}, NodeGroups: "labels:pool",
		CANamespace: "kube-system", Kinds: []string{"Deployment", "Event"}, Usage: Duration(time.Minute),
		Prometheus: &Prometheus{URL: "https://prometheus.example:9090", TokenFile: "token",
			Queries: []Query{{Name: "rps", Query: "sum(rate(requests_total[5m]))", Step: Duration(15 * time.Second)}}},
		Retain: Duration(30 * 24 * time.Hour)}, {Name: "here", InCluster: true}}
	if diff := cmp.Diff(want, c.Clusters, cmpopts.IgnoreUnexported(Cluster{})); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
	wantFiles := []string{"/etc/scalehist/kubeconfigs/prod-eu.yaml", "/etc/scalehist/seed.yaml"}
	if diff := cmp.Diff(wantFiles, c.Clusters[0].files()); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if p := c.Clusters[0].prometheus(); p.TokenFile != "/etc/scalehist/token" || p.Queries[0].Step != 15*time.Second {
		t.Errorf("prometheus %+v", p)
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", "no clusters"},
		{"truncated", "clusters:\n", "no clusters"},
		{"no YAML", "clusters: [", "line 1"},
		{"unknown key", "clusters:\n- name: a\n  kubeconfg: x\n", `line 3: unknown key "kubeconfg"`},
		{"unknown key above", "cluster: []\n", `line 1: unknown key "cluster"`},
		{"key twice", "clusters:\n- name: a\n  name: b\n", "already defined"},
		{"wrong type", "clusters:\n- name: [a]\n", "line 2"},
		{"two documents", "clusters: []\n---\nclusters: []\n", "more than one document"},
		{"no name", "clusters:\n- kubeconfig: x\n", "line 2: a cluster has no name"},
		{"path as name", "clusters:\n- name: ../etc\n", `name "../etc" is no DNS label`},
		{"upper case", "clusters:\n- name: Prod\n", "no DNS label"},
		{"long", "clusters:\n- name: " + strings.Repeat("a", 64) + "\n", "no DNS label"},
		{"twice", "clusters:\n- name: a\n- name: a\n", `line 3: name "a" is used in line 2 already`},
		{"two ways", "clusters:\n- name: a\n  kubeconfig: x\n  inCluster: true\n", "line 4"},
		{"kind", "clusters:\n- name: a\n  kinds: [Pods]\n", `unknown kind "Pods"`},
		{"label", "clusters:\n- {name: a, nodeGroups: 'labels:'}\n", "label key is missing"},
		{"duration", "clusters:\n- name: a\n  retain: 30 days\n", `line 3: "30 days" is no duration`},
		{"short retention", "clusters:\n- {name: a, retain: 1s}\n", "want 1h or more"},
		{"negative", "clusters:\n- {name: a, usage: -1m}\n", "want 1s or more"},
		{"control plane", "clusters:\n- {name: a, controlPlane: {context: b}}\n", "needs a kubeconfig"},
		{"prometheus", "clusters:\n- {name: a, prometheus: {url: 'ftp://x', queries: []}}\n", "http://HOST"},
		{"large", "#" + strings.Repeat("x", maxConfig), "bytes are more than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse([]byte(tt.text), "clusters.yaml")
			var problem *ConfigError
			if !errors.As(err, &problem) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v, error %v; want one with %q", c, err, tt.want)
			}
		})
	}
	c, err := Parse([]byte("clusters: []"), "clusters.yaml")
	if err != nil || len(c.Clusters) != 0 {
		t.Errorf("no clusters on purpose: %+v, %v", c, err)
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": 720 * time.Hour, "2w": 336 * time.Hour, "90s": 90 * time.Second, "1h30m": 90 * time.Minute} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "-1d", "40000d", "9999w", "1.5d", "tomorrow"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q: %s, want an error", text, got)
		}
	}
}

// TestSchema holds the published schema, and that it takes what Parse takes.
func TestSchema(t *testing.T) {
	got, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	published := filepath.Join("..", "..", "docs", "serve.schema.json")
	want, err := os.ReadFile(published)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		if os.Getenv("SCALEHIST_UPDATE") != "" {
			if err := os.WriteFile(published, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		t.Errorf("docs/serve.schema.json is not what the types say; SCALEHIST_UPDATE=1 writes it (-published +types):\n%s", diff)
	}
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(got)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(SchemaID, parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(SchemaID)
	if err != nil {
		t.Fatal(err)
	}
	for text, right := range map[string]bool{fullConfig: true, "clusters: []": true, "clusters: [{name: A}]": false,
		"clusters: [{name: a, bogus: 1}]": false, "{}": false, "clusters: [{name: a, retain: soon}]": false} {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != right {
			t.Errorf("%s: %v, want valid: %t", text, err, right)
		}
	}
}

// FuzzParse: whatever the file is, Parse answers, and a cluster it takes has a name that is safe in a path.
func FuzzParse(f *testing.F) {
	f.Add(fullConfig)
	f.Add("clusters:\n- &a {name: a}\n- *a\n")
	f.Add("clusters: !!binary aGFsbG8=\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse([]byte(text), "clusters.yaml")
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, cluster := range c.Clusters {
			if !ValidName(cluster.Name) || seen[cluster.Name] || filepath.Base(cluster.Name) != cluster.Name {
				t.Errorf("name %q is taken", cluster.Name)
			}
			seen[cluster.Name] = true
		}
	})
}
