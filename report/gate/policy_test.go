package gate

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/scalehist/scalehist/report/metrics"
)

func metric(t testing.TB, name string) metrics.Metric {
	t.Helper()
	m, err := metrics.FindLimited(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestLimitHolds(t *testing.T) {
	for _, tc := range []struct {
		metric, limit string
		base, v       float64
		want          bool
	}{
		{"cost", "+2%", 100, 102, true}, {"cost", "+2%", 100, 102.1, false}, {"cost", "+2%", 100, 50, true},
		{"decisions.changed", "+0", 0, 0, true}, {"decisions.changed", "+0", 0, 1, false}, {"decisions.changed", "<= 2", 0, 2, true},
		{"cost", "±10%", 0, 0.1, false}, {"cost", "-5%", 0, 0, true}, {"pending.p95", "+10% or +5s", 0, 5, true},
		{"cost", "+2%", 0, 0, true}, {"cost", "+2%", 0, 0.1, false}, {"cost", "-5%", 100, 95, true}, {"cost", "-5%", 100, 96, false},
		{"cost", "+0.5", 1, 1.5, true}, {"cost", "+0.5", 1, 1.51, false},
		{"pending.p95", "+5s", 40, 45, true}, {"pending.p95", "+5s", 40, 46, false}, {"pending.p95", "+1m30s", 0, 90, true},
		{"pending.p95", "+10% or +5s", 10, 15, true}, {"pending.p95", "+10% or +5s", 100, 109, true}, {"pending.p95", "+10% or +5s", 100, 111, false},
		{"pending.p95", "<= 2m", 500, 120, true}, {"pending.p95", "<=2m", 0, 121, false}, {"pending.p95", "+0", 3, 3, true},
		{"unschedulable", "+0", 3, 3, true}, {"unschedulable", "+0", 3, 4, false}, {"unschedulable", "off", 3, 400, true},
		{"utilization.cpu", "-5%", 80, 76, true}, {"utilization.cpu", "-5%", 80, 75, false}, {"utilization.cpu", "-5pp", 80, 75, true},
		{"utilization.cpu", ">= 60%", 0, 59, false}, {"utilization.cpu", "+1pp", 80, 80, false}, {"under.timeshare", "+1pp", 10, 11, true},
		{"nodes.final", "±2", 5, 3, true}, {"nodes.final", "+-2", 5, 8, false}, {"nodes.final", "±10%", 10, 9, true},
		{"churn.steps", "+10%", 10, 11, true}, {"churn.steps", "+10%", 10, 12, false},
	} {
		m := metric(t, tc.metric)
		l, err := ParseLimit(tc.limit, m)
		if err != nil {
			t.Errorf("%s: %s: %v", tc.metric, tc.limit, err)
			continue
		}
		if got := l.Holds(tc.base, tc.v, m.Better); got != tc.want {
			t.Errorf("%s %s from %v to %v: %v, want %v", tc.metric, tc.limit, tc.base, tc.v, got, tc.want)
		}
	}
}

func TestParseLimitRefuses(t *testing.T) {
	for _, tc := range []struct{ metric, limit, want string }{
		{"cost", "2%", "does not say of what: write +2% for a change against the baseline, or <= 2% for the value itself"},
		{"cost", "cheap", `"cheap" is no limit: want +2, +10% or <= 50`},
		{"cost", "<= 2%", "a share of what?"},
		{"cost", "+2 EUR", "cost is in the price table's currency"},
		{"cost", "+1e999", "want +2"},
		{"cost", "+NaN", `"+NaN" is no limit: want +2`},
		{"cost", ".nan", `".nan" is no limit: want +2`},
		{"cost", "+Inf%", `"+Inf%" is no limit`},
		{"decisions.changed", "+5%", `"+5%": decisions.changed counts what is not as in the baseline, from 0: want +0 or <= 2`},
		{"decisions.changed", "±1", "counts what is not as in the baseline"},
		{"node-groups.changed", "-1", "counts what is not as in the baseline"},
		{"pending.p95", "+5", "pending.p95 is a time: want +5s, +10% or <= 2m"},
		{"pending.p95", "+5 parsecs", "is a time"},
		{"pending.p95", "+5s or", "is a time"},
		{"under.timeshare", "+5", "is in percent: want +1pp, +10% or <= 60% (pp: percentage points)"},
		{"unschedulable", "+5s", "unschedulable is in pods"},
		{"nodes.final", "+2", "neither more nor less of nodes.final is better: write ±2"},
		{"cost", "+0x10%", "is no number"},
		{"cost", "", "is no limit"},
	} {
		if _, err := ParseLimit(tc.limit, metric(t, tc.metric)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %q: %v, want %q", tc.metric, tc.limit, err, tc.want)
		}
	}
}

func TestParsePolicyRefuses(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                    {"policy p.yaml: there is no limit in it, so it would pass everything: see 'scalehist gate init'"},
		"limits: {}":                          {"there is no limit"},
		"limit:\n  cost: +2%":                 {`line 1: unknown key "limit": want one of allow, deterministic, limits, scenarios, total; did you mean "limits"?`},
		"deterministic: maybe":                {"line 1: deterministic: want true or false"},
		"limits: {cost: .nan}":                {`line 1: limits: cost: ".nan" is no limit`},
		"limits:\n  decisions.changd: +0":     {`line 2: limits: unknown metric "decisions.changd"; did you mean "decisions.changed"?`},
		"limits:\n  costs: +2%":               {`line 2: limits: unknown metric "costs"; did you mean "cost"?`},
		"limits:\n  pending.p59: +2s":         {"line 2: limits: unknown metric", `"pending.p95"`},
		"limits:\n  over.timeshare: +1":       {"line 2: limits: metric \"over.timeshare\" is not there"},
		"limits:\n  cost: [1]":                {"line 2: limits: cost: want a limit: +2, +10% or <= 50, or off"},
		"limits:\n  cost:":                    {"line 2: limits: cost: want a limit"},
		"limits:\n  cost: +2%\n  cost: +3%":   {`line 3: limits: "cost" is given twice`},
		"limits: [cost]":                      {`line 1: limits: want "name: value" lines`},
		"total:\n  pending.p95: +2s":          {"line 2: total: pending.p95: values of different scenarios do not add up"},
		"scenarios: {}":                       {"line 1: scenarios: want a list"},
		"scenarios:\n- limits: {cost: +2%}":   {"line 2: scenarios[0]: match is missing"},
		"scenarios:\n- match: '[a'":           {"line 2: scenarios[0]: match: \"[a\" is no pattern"},
		"scenarios:\n- {match: a, limit: {}}": {`line 2: scenarios[0]: unknown key "limit"`},
		"allow: {old: [a]}":                   {`line 1: allow: unknown key "old": want one of gone, new, rerecorded`},
		"allow: {new: [{}]}":                  {"line 1: allow: new: want names of scenarios"},
		"a: b: c":                             {"this is not YAML: "},
		"limits:\n  utilization.cpu: >= 60%":  {"this is not YAML: ", "must be quoted"},
		"limits: {cost: +2%}\n---\na: 1":      {"more than one document"},
		"lim: 1\nlimits:\n  costs: 1\n":       {"line 1: unknown key", "line 3: limits: unknown metric"},
	} {
		_, err := ParsePolicy([]byte(text), "p.yaml")
		var typed *PolicyError
		if !errors.As(err, &typed) {
			t.Errorf("%q: %v, want a PolicyError", text, err)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: %v, want %q", text, err, w)
			}
		}
	}
}

func TestPolicyFor(t *testing.T) {
	p, err := ParsePolicy([]byte(`
limits: {cost: +2%, unschedulable: +0}
scenarios:
- match: [zonal-*, "*-burst"]
  limits: {cost: +5%, pending.p95: +1s}
- match: zonal-spread
  limits: {cost: off}
`), "p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for scenario, want := range map[string][]string{
		"plain":        {"unschedulable +0", "cost +2%"},
		"idle-burst":   {"pending.p95 +1s", "unschedulable +0", "cost +5%"},
		"zonal-spread": {"pending.p95 +1s", "unschedulable +0"},
	} {
		var got []string
		for _, l := range p.For(scenario) {
			got = append(got, l.Metric.Name+" "+l.Limit.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", scenario, diff)
		}
	}
}

// TestSchema holds the published schema, and that it takes what the parser takes.
func TestSchema(t *testing.T) {
	b, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "../../docs/gate.schema.json", string(b))
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(SchemaID, parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(SchemaID)
	if err != nil {
		t.Fatal(err)
	}
	for text, valid := range map[string]bool{
		Example(): true,
		"limits: {cost: +2%, unschedulable: +0, pending.p95: +10% or +5s, nodes.final: ±2}": true,
		"limits: {costs: +2%}":               false,
		"total: {pending.p95: +2s}":          false,
		"scenarios: [{limits: {cost: +2%}}]": false,
		"limits: {cost: cheap}":              false,
		"allow: {old: a}":                    false,
	} {
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(strings.NewReader(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); (err == nil) != valid {
			t.Errorf("%q: schema says %v, want valid %v", text, err, valid)
		}
		if _, err := ParsePolicy([]byte(text), "p.yaml"); (err == nil) != valid {
			t.Errorf("%q: the parser says %v, want valid %v", text, err, valid)
		}
	}
}

// FuzzParsePolicy: any text is a policy or a PolicyError with a reason; a policy has limits that can be held.
func FuzzParsePolicy(f *testing.F) {
	f.Add(Example())
	f.Add("limits: {cost: +2%, pending.p95: +10% or +5s}\nscenarios: [{match: a*, limits: {cost: off}}]\nallow: {new: [b]}")
	f.Add("limits: &a {cost: +0}\ntotal: *a")
	f.Add("a: *b")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePolicy([]byte(text), "p.yaml")
		if err != nil {
			var typed *PolicyError
			if !errors.As(err, &typed) || len(typed.Problems) == 0 || typed.Problems[0] == "" {
				t.Fatalf("%q: %v without a reason", text, err)
			}
			return
		}
		for _, l := range p.For("some-scenario") {
			l.Limit.Holds(1, 2, l.Metric.Better)
			if len(l.Limit.Alternatives) == 0 || l.Line <= 0 {
				t.Errorf("%q: limit %+v", text, l)
			}
		}
	})
}
