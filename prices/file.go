package prices

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/scalehist/scalehist/internal/decode"
)

// Help describes the price file that ParseFile reads, with an example, for help texts.
const Help = `A price file is YAML. All prices are per hour, in one currency; unknown keys and negative prices are refused.

  currency: EUR
  region: eu-west-1    # optional; so are provider, source and date
  machineTypes:        # by the node label node.kubernetes.io/instance-type
    m5.large: 0.107    # one price, however it is paid for
    m5.xlarge: {onDemand: 0.214, spot: 0.081, reserved: 0.135}
  nodeGroups:          # optional; wins over the machine type
    spot-a: 0.031
    batch: {model: spot}
  spotLabels:          # optional; nodes with one of these are spot nodes, beside those with the clouds' own labels
    - example.com/lifecycle=spot
  pods:                # what the price expander holds against the node price
    cpu: 0.033         # one core
    memoryGiB: 0.0045
    gpu: 0.7           # one device
`

// Parse reads a price file that has the prices of one region. Errors name the line and the key.
func Parse(data []byte) (*Table, error) {
	f, err := ParseFile(data)
	if err != nil {
		return nil, err
	}
	return f.Select(Selection{})
}

// ParseFile reads a price file as Help and docs/prices.md describe it. Errors name the line and the key.
func ParseFile(data []byte) (*File, error) {
	f, err := parsePrices(data)
	if err != nil {
		return nil, fmt.Errorf("price table: %w", err)
	}
	return f, nil
}

func parsePrices(data []byte) (*File, error) {
	if err := decode.Size(data); err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("this is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	f := &File{}
	var top List
	var lists []List
	if len(doc.Content) > 0 {
		err := entries(doc.Content[0], "the file", func(key string, v *yaml.Node) error {
			var err error
			switch key {
			case "currency":
				f.Currency, err = word(v, key, "EUR")
			case "nodeGroups":
				err = f.readGroups(v)
			case "spotLabels":
				f.SpotLabels, err = labelList(v, key)
			case "lists":
				lists, err = priceLists(v)
			case "pods":
				var p map[string]float64
				p, err = priceMap(v, key, map[string]bool{"cpu": true, "memoryGiB": true, "gpu": true})
				f.Pods = PodPrices{CPU: p["cpu"], MemoryGiB: p["memoryGiB"], GPU: p["gpu"]}
			default:
				if !slices.Contains(listKeys, key) {
					return unknownKey(v.Line, "", key, "currency", "date", "lists", "machineTypes", "nodeGroups", "pods", "provider", "region", "source", "spotLabels")
				}
				err = top.read(key, "", v)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if f.Currency == "" {
		return nil, errors.New("currency is missing: add a line such as \"currency: EUR\"")
	}
	if top.One != nil || top.Models != nil || top.Region != "" {
		f.Lists = append(f.Lists, top)
	}
	f.Lists = append(f.Lists, lists...)
	return f, f.check()
}

// priceMap reads prices by name; allowed are the only names, if any are given.
func priceMap(n *yaml.Node, what string, allowed map[string]bool) (map[string]float64, error) {
	var out map[string]float64
	err := entries(n, what, func(key string, v *yaml.Node) error {
		if allowed != nil && !allowed[key] {
			return unknownKey(v.Line, what+": ", key, slices.Sorted(maps.Keys(allowed))...)
		}
		price, err := priceOf(v, what+": "+key)
		if err != nil {
			return err
		}
		if out == nil {
			out = map[string]float64{}
		}
		out[key] = price
		return nil
	})
	return out, err
}

// priceOf reads one price.
func priceOf(v *yaml.Node, what string) (price float64, err error) {
	if (v.Tag != "!!int" && v.Tag != "!!float") || v.Decode(&price) != nil {
		return 0, fmt.Errorf("line %d: %s: want a price, a number without currency such as 0.107%s", v.Line, what, given(v))
	}
	if price < 0 || math.IsNaN(price) || math.IsInf(price, 0) {
		return 0, fmt.Errorf("line %d: %s: %s is not a price", v.Line, what, v.Value)
	}
	return price, nil
}

// entries calls each for the keys of a mapping, in order; an empty value has none.
func entries(n *yaml.Node, what string, each func(key string, v *yaml.Node) error) error {
	n = resolved(n)
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: %s: want \"name: value\" lines%s", n.Line, what, given(n))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: %s: a key must be a name", k.Line, what)
		}
		if seen[k.Value] {
			return fmt.Errorf("line %d: %s: %q is given twice", k.Line, what, k.Value)
		}
		seen[k.Value] = true
		if err := each(k.Value, resolved(n.Content[i+1])); err != nil {
			return err
		}
	}
	return nil
}

func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// given ends a message with what there is instead, where that is short.
func given(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "; there are keys below it"
	case n.Kind == yaml.SequenceNode:
		return "; there is a list"
	case n.Tag == "!!null":
		return "; there is nothing"
	case len(n.Value) <= 40:
		return fmt.Sprintf("; there is %q", n.Value)
	}
	return ""
}

func unknownKey(line int, where, key string, known ...string) error {
	return fmt.Errorf("line %d: %sunknown key %q: want one of %s", line, where, key, strings.Join(known, ", "))
}
