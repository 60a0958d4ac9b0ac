package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/expect"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/internal/plural"
)

// readers are how types of other packages are read.
var readers = map[reflect.Type]func(d *decoder, n *yaml.Node, to any, path string){
	reflect.TypeFor[time.Duration](): func(d *decoder, n *yaml.Node, to any, path string) {
		text, ok := d.scalar(n, path, "a duration such as 90s")
		if !ok {
			return
		}
		v, err := time.ParseDuration(text)
		if err != nil || v < 0 {
			d.addf(n, "%s: %q is not a duration such as 90s or 1h30m", path, text)
			return
		}
		*to.(*time.Duration) = v
	},
	reflect.TypeFor[harness.Moment](): func(d *decoder, n *yaml.Node, to any, path string) {
		if text, ok := d.scalar(n, path, "an instant or an offset"); ok {
			if err := to.(*harness.Moment).Set(text); err != nil {
				d.addf(n, "%s: %v", path, err)
			}
		}
	},
}

func init() { // they read what is in them by way of readers
	readers[reflect.TypeFor[trace.Fault]()] = readFault
	readers[reflect.TypeFor[harness.Prices]()] = readPrices
}

// Offset is a time from the start of the window, or a range of them, both ends included.
type Offset struct {
	From, To time.Duration
	Set      bool
}

func (o *Offset) read(d *decoder, n *yaml.Node, path string) {
	text, ok := d.scalar(n, path, "an offset such as +20s")
	if !ok {
		return
	}
	from, to, ranged := strings.Cut(text, "..")
	if !ranged {
		to = from
	}
	var err error
	for _, part := range []struct {
		text string
		to   *time.Duration
	}{{from, &o.From}, {to, &o.To}} {
		if *part.to, err = time.ParseDuration(strings.TrimSpace(part.text)); err != nil || *part.to < 0 {
			d.addf(n, "%s: %q is neither an offset such as +20s nor a range such as +20s..+1m", path, text)
			return
		}
	}
	if o.To < o.From {
		d.addf(n, "%s: %q ends before it begins", path, text)
	}
	o.Set = true
}

// String is the offset as it is written.
func (o Offset) String() string {
	if o.From == o.To {
		return "+" + o.From.String()
	}
	return fmt.Sprintf("+%s..+%s", o.From, o.To)
}

func (c *Count) read(d *decoder, n *yaml.Node, path string) {
	text, ok := d.scalar(n, path, "a count: "+expect.CountForms)
	if !ok {
		return
	}
	var err error
	if c.Count, err = expect.ParseCount(text); err != nil {
		d.addf(n, "%s: %v", path, err)
	}
}

func (a *Amount) read(d *decoder, n *yaml.Node, path string) {
	text, ok := d.scalar(n, path, "an amount: "+expect.AmountForms)
	if !ok {
		return
	}
	var err error
	if a.Amount, err = expect.ParseAmount(text); err != nil {
		d.addf(n, "%s: %v", path, err)
	}
}

// Percent is the limit of a share: "<= 30%".
type Percent string

func (p *Percent) read(d *decoder, n *yaml.Node, path string) {
	text, ok := d.scalar(n, path, "a limit such as \"<= 30%\"")
	if !ok {
		return
	}
	if err := expect.SlackLimit(corev1.ResourceCPU, text); err != nil { // that of memory is read alike
		_, what, _ := strings.Cut(err.Error(), ": ")
		d.addf(n, "%s: %s", path, what)
	}
	*p = Percent(text)
}

// Metric is the limit of a metric.
type Metric string

func (m *Metric) read(d *decoder, n *yaml.Node, path string) {
	name := strings.TrimPrefix(strings.TrimPrefix(path, "expect.metrics."), "expect.")
	text, ok := d.scalar(n, path, "a limit such as \"<= 90s\"")
	if !ok {
		return
	}
	if _, _, err := expect.MetricLimit(name, text); err != nil {
		d.addf(n, "%s: %s", path, strings.TrimPrefix(err.Error(), name+": "))
	}
	*m = Metric(text)
}

// Unschedulable are the pods without a node at the end: a count, or names.
type Unschedulable struct {
	Count *expect.Count
	Pods  []string
}

func (u *Unschedulable) read(d *decoder, n *yaml.Node, path string) {
	if n.Kind == yaml.SequenceNode {
		u.Pods = []string{}
		d.list(n, path, func(item *yaml.Node, path string) {
			if text, ok := d.scalar(item, path, "a pod: name, or namespace/name"); ok {
				u.Pods = append(u.Pods, text)
			}
		})
		return
	}
	text, ok := d.scalar(n, path, "none, a count, or a list of pods")
	if !ok {
		return
	}
	if text == "none" {
		text = "0"
	}
	c, err := expect.ParseCount(text)
	if err != nil {
		d.addf(n, "%s: %q is neither none, nor a count (%s), nor a list of pods", path, text, expect.CountForms)
	}
	u.Count = &c
}

// KeepNodes are nodes that stay, each with a text of the reason or "".
type KeepNodes map[string]string

func (k *KeepNodes) read(d *decoder, n *yaml.Node, path string) {
	*k = KeepNodes{}
	if n.Kind == yaml.SequenceNode {
		d.list(n, path, func(item *yaml.Node, path string) {
			if text, ok := d.scalar(item, path, "the name of a node"); ok {
				(*k)[text] = ""
			}
		})
		return
	}
	d.each(n, path, func(key, value *yaml.Node, path string) {
		if value.Kind == yaml.ScalarNode && value.Tag == "!!null" {
			(*k)[key.Value] = ""
			return
		}
		if text, ok := d.scalar(value, path, "a text of the reason, such as NotEnoughPdb"); ok {
			(*k)[key.Value] = text
		}
	})
}

// faultFields are the fields of a fault file's entries (trace.ParseFaults).
type faultFields struct {
	Kind      string  `yaml:"kind" json:"kind" jsonschema:"required"`
	NodeGroup string  `yaml:"nodeGroup,omitempty" json:"nodeGroup,omitempty"`
	Node      string  `yaml:"node,omitempty" json:"node,omitempty"`
	From      string  `yaml:"from,omitempty" json:"from,omitempty"`
	To        string  `yaml:"to,omitempty" json:"to,omitempty"`
	Count     int     `yaml:"count,omitempty" json:"count,omitempty" jsonschema:"minimum=1"`
	Skip      int     `yaml:"skip,omitempty" json:"skip,omitempty" jsonschema:"minimum=1"`
	Class     string  `yaml:"class,omitempty" json:"class,omitempty"`
	Code      string  `yaml:"code,omitempty" json:"code,omitempty"`
	Delay     string  `yaml:"delay,omitempty" json:"delay,omitempty"`
	Message   string  `yaml:"message,omitempty" json:"message,omitempty"`
	Metric    string  `yaml:"metric,omitempty" json:"metric,omitempty"`
	Value     float64 `yaml:"value,omitempty" json:"value,omitempty"`
}

// readFault reads a fault as a line, or as fields.
func readFault(d *decoder, n *yaml.Node, to any, path string) {
	f := to.(*trace.Fault)
	if n.Kind != yaml.MappingNode {
		text, ok := d.scalar(n, path, "a fault: KIND:TARGET@FROM..TO, or its fields")
		if !ok {
			return
		}
		var err error
		if *f, err = trace.ParseFault(text); err != nil {
			d.addf(n, "%s: %v", path, err)
		}
		return
	}
	var fields faultFields
	before := len(d.problems)
	if d.value(n, &fields, path); len(d.problems) > before {
		return
	}
	data, err := sigsyaml.Marshal(map[string]any{"faults": []faultFields{fields}})
	if err == nil {
		var list []trace.Fault
		if list, err = trace.ParseFaults(data); err == nil {
			*f = list[0]
			return
		}
	}
	d.addf(n, "%s: %s", path, strings.TrimPrefix(err.Error(), "faults[0]: "))
}

// readPrices reads the name of a price table, or fields.
func readPrices(d *decoder, n *yaml.Node, to any, path string) {
	p := to.(*harness.Prices)
	if n.Kind == yaml.MappingNode {
		d.object(n, reflect.ValueOf(p).Elem(), path)
		if p.Table == "" {
			d.addf(n, "%s: table is missing: a price table, or public", path)
		}
		return
	}
	if text, ok := d.scalar(n, path, "a price table, or public"); ok {
		p.Table = text
	}
}

// oneOf refuses a word that is not among those known.
func (s *Scenario) oneOf(d *decoder, path, word string, known ...string) {
	if word != "" && !slices.Contains(known, word) {
		d.atf(s.at[path], "%s: %q: want %s%s", path, word, plural.Or(known), suggest(word, known))
	}
}
