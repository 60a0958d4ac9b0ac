package gate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/scalehist/scalehist/internal/near"
	"github.com/scalehist/scalehist/report/metrics"
)

// Policy is what a candidate is held to.
type Policy struct {
	// Path names it in messages.
	Path string
	// Limits hold in every scenario; Overrides change them for some, the last match of a metric wins.
	Limits    []MetricLimit
	Overrides []Override
	// Total holds for all scenarios together.
	Total []MetricLimit
	Allow Allow
	// Deterministic: the candidate must give the same bytes every time, so at least one repeat must be given. Line is the
	// policy's.
	Deterministic     bool
	DeterministicLine int
}

// MetricLimit is the limit of one metric, and the line of the policy it is in.
type MetricLimit struct {
	Metric metrics.Metric
	Limit  Limit
	Line   int
}

// Override are limits for the scenarios that one of the globs matches.
type Override struct {
	Match  []string
	Limits []MetricLimit
	Line   int
}

// Allow are globs of scenarios that may be on one side only, or of another recording on each side.
type Allow struct {
	New, Gone, Rerecorded []string
}

// PolicyError is everything that is wrong with a policy, each with its line.
type PolicyError struct {
	Path     string
	Problems []string
}

func (e *PolicyError) Error() string {
	return fmt.Sprintf("policy %s: %s", e.Path, strings.Join(e.Problems, "; "))
}

// ReadPolicy reads a policy file.
func ReadPolicy(file string) (*Policy, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("policy: %w: give a file with limits; 'scalehist gate init' prints one to begin with", err)
	}
	return ParsePolicy(data, file)
}

// maxPolicy bounds a policy in bytes.
const maxPolicy = 1 << 20

// ParsePolicy reads a policy; the path names it in errors. What is wrong with it is a *PolicyError.
func ParsePolicy(data []byte, file string) (*Policy, error) {
	r := &policyReader{policy: &Policy{Path: file}}
	if len(data) > maxPolicy {
		return nil, &PolicyError{file, []string{fmt.Sprintf("%d bytes are more than %d", len(data), maxPolicy)}}
	}
	var doc yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, &PolicyError{file, []string{"this is not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ") + " (limits that begin with > must be quoted)"}}
	}
	if len(doc.Content) > 0 {
		r.top(doc.Content[0])
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		r.addf(0, "more than one document: give one")
	}
	p := r.policy
	if len(r.problems) == 0 && !p.Deterministic && len(p.Limits)+len(p.Total) == 0 && !slices.ContainsFunc(p.Overrides, func(o Override) bool { return len(o.Limits) > 0 }) {
		r.addf(0, "there is no limit in it, so it would pass everything: see 'scalehist gate init'")
	}
	if len(r.problems) > 0 {
		return nil, &PolicyError{file, r.problems}
	}
	return p, nil
}

// policyReader collects what is wrong.
type policyReader struct {
	policy   *Policy
	problems []string
}

func (r *policyReader) addf(line int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if line > 0 {
		text = fmt.Sprintf("line %d: %s", line, text)
	}
	r.problems = append(r.problems, text)
}

// each calls f for the keys of a mapping, in order; an empty value has none.
func (r *policyReader) each(n *yaml.Node, what string, f func(key, value *yaml.Node)) {
	n = resolved(n)
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.addf(n.Line, "%s: want \"name: value\" lines", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode {
			r.addf(k.Line, "%s: a key must be a name", what)
			continue
		}
		if seen[k.Value] {
			r.addf(k.Line, "%s: %q is given twice", what, k.Value)
			continue
		}
		seen[k.Value] = true
		f(k, resolved(n.Content[i+1]))
	}
}

func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

func (r *policyReader) unknown(k *yaml.Node, where string, known ...string) {
	r.addf(k.Line, "%sunknown key %q: want one of %s%s", where, k.Value, strings.Join(known, ", "), near.Suggest(k.Value, known))
}

func (r *policyReader) top(n *yaml.Node) {
	r.each(n, "the policy", func(k, v *yaml.Node) {
		switch k.Value {
		case "limits":
			r.policy.Limits = r.limits(v, "limits")
		case "total":
			r.policy.Total = r.limits(v, "total")
			for _, l := range r.policy.Total {
				if l.Metric.Total == metrics.NoTotal {
					r.addf(l.Line, "total: %s: values of different scenarios do not add up; limit it under limits", l.Metric.Name)
				}
			}
		case "scenarios":
			if v.Kind != yaml.SequenceNode {
				r.addf(v.Line, "scenarios: want a list, each with match and limits")
				return
			}
			for i, item := range v.Content {
				r.policy.Overrides = append(r.policy.Overrides, r.override(resolved(item), fmt.Sprintf("scenarios[%d]", i)))
			}
		case "allow":
			r.each(v, "allow", func(k, v *yaml.Node) {
				switch k.Value {
				case "new":
					r.policy.Allow.New = r.globs(v, "allow: new")
				case "gone":
					r.policy.Allow.Gone = r.globs(v, "allow: gone")
				case "rerecorded":
					r.policy.Allow.Rerecorded = r.globs(v, "allow: rerecorded")
				default:
					r.unknown(k, "allow: ", "gone", "new", "rerecorded")
				}
			})
		case "deterministic":
			if err := v.Decode(&r.policy.Deterministic); err != nil || v.Tag != "!!bool" {
				r.addf(v.Line, "deterministic: want true or false")
			}
			r.policy.DeterministicLine = k.Line
		default:
			r.unknown(k, "", "allow", "deterministic", "limits", "scenarios", "total")
		}
	})
}

func (r *policyReader) override(n *yaml.Node, where string) Override {
	o := Override{Line: n.Line}
	r.each(n, where, func(k, v *yaml.Node) {
		switch k.Value {
		case "match":
			o.Match = r.globs(v, where+": match")
		case "limits":
			o.Limits = r.limits(v, where+": limits")
		default:
			r.unknown(k, where+": ", "limits", "match")
		}
	})
	if len(o.Match) == 0 {
		r.addf(n.Line, "%s: match is missing: which scenarios?", where)
	}
	return o
}

func (r *policyReader) limits(n *yaml.Node, where string) []MetricLimit {
	var out []MetricLimit
	r.each(n, where, func(k, v *yaml.Node) {
		m, err := metrics.FindLimited(k.Value)
		if err != nil {
			r.addf(k.Line, "%s: %v", where, err)
			return
		}
		if v.Kind != yaml.ScalarNode || v.Tag == "!!null" {
			r.addf(v.Line, "%s: %s: want a limit: %s, or off", where, m.Name, examples(m))
			return
		}
		l, err := ParseLimit(v.Value, m)
		if err != nil {
			r.addf(v.Line, "%s: %s: %v", where, m.Name, err)
			return
		}
		out = append(out, MetricLimit{m, l, k.Line})
	})
	return out
}

// globs reads one pattern or a list of them.
func (r *policyReader) globs(n *yaml.Node, where string) []string {
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	var out []string
	for _, item := range items {
		item = resolved(item)
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" || item.Value == "" {
			r.addf(item.Line, "%s: want names of scenarios, such as zonal-*", where)
			continue
		}
		if _, err := path.Match(item.Value, ""); err != nil {
			r.addf(item.Line, "%s: %q is no pattern: %v", where, item.Value, err)
			continue
		}
		out = append(out, item.Value)
	}
	return out
}

// limited are the metrics that can be limited, in the order of tables.
func limited() []metrics.Metric {
	return slices.Concat(metrics.All(), metrics.Workloads(), metrics.Pairs())
}

func matches(globs []string, scenario string) bool {
	return slices.ContainsFunc(globs, func(g string) bool {
		ok, err := path.Match(g, scenario)
		return ok && err == nil
	})
}

// For are the limits of a scenario, in the order of the metrics.
func (p *Policy) For(scenario string) []MetricLimit {
	byName := map[string]MetricLimit{}
	for _, l := range p.Limits {
		byName[l.Metric.Name] = l
	}
	for _, o := range p.Overrides {
		if matches(o.Match, scenario) {
			for _, l := range o.Limits {
				byName[l.Metric.Name] = l
			}
		}
	}
	var out []MetricLimit
	for _, m := range limited() {
		if l, ok := byName[m.Name]; ok && !l.Limit.Off {
			out = append(out, l)
		}
	}
	return out
}
