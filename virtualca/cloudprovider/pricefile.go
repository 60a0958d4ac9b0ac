package cloudprovider

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
)

// PriceTableHelp describes the price file that ParsePrices reads, with an example, for help texts.
const PriceTableHelp = `A price file is YAML. All prices are per hour, in one currency; unknown keys and negative prices are refused.

  currency: EUR
  machineTypes:        # by the node label node.kubernetes.io/instance-type
    m5.large: 0.107
  nodeGroups:          # optional; wins over the machine type
    spot-a: 0.031
  pods:                # what the price expander holds against the node price
    cpu: 0.033         # one core
    memoryGiB: 0.0045
    gpu: 0.7           # one device
`

// ParsePrices reads a price file as PriceTableHelp describes it. Errors name the line and the key.
func ParsePrices(data []byte) (*PriceTable, error) {
	t, err := parsePrices(data)
	if err != nil {
		return nil, fmt.Errorf("price table: %w", err)
	}
	return t, nil
}

func parsePrices(data []byte) (*PriceTable, error) {
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(data)).Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("this is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	t := &PriceTable{}
	if len(doc.Content) > 0 {
		err := entries(doc.Content[0], "the file", func(key string, v *yaml.Node) error {
			var err error
			switch key {
			case "currency":
				if v.Kind != yaml.ScalarNode || v.Tag == "!!null" {
					return fmt.Errorf("line %d: currency: want a name such as EUR", v.Line)
				}
				t.Currency = v.Value
			case "machineTypes":
				t.MachineTypes, err = priceMap(v, key, nil)
			case "nodeGroups":
				t.NodeGroups, err = priceMap(v, key, nil)
			case "pods":
				var p map[string]float64
				p, err = priceMap(v, key, map[string]bool{"cpu": true, "memoryGiB": true, "gpu": true})
				t.Pods = PodPrices{CPU: p["cpu"], MemoryGiB: p["memoryGiB"], GPU: p["gpu"]}
			default:
				err = unknownKey(v.Line, "", key, "currency", "machineTypes", "nodeGroups", "pods")
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if t.Currency == "" {
		return nil, errors.New("currency is missing: add a line such as \"currency: EUR\"")
	}
	return t, nil
}

// priceMap reads prices by name; allowed are the only names, if any are given.
func priceMap(n *yaml.Node, what string, allowed map[string]bool) (map[string]float64, error) {
	var out map[string]float64
	err := entries(n, what, func(key string, v *yaml.Node) error {
		if allowed != nil && !allowed[key] {
			return unknownKey(v.Line, what+": ", key, slices.Sorted(maps.Keys(allowed))...)
		}
		var price float64
		if (v.Tag != "!!int" && v.Tag != "!!float") || v.Decode(&price) != nil {
			return fmt.Errorf("line %d: %s: %s: want a price, a number without currency such as 0.107%s", v.Line, what, key, given(v))
		}
		if price < 0 || math.IsNaN(price) || math.IsInf(price, 0) {
			return fmt.Errorf("line %d: %s: %s: %s is not a price", v.Line, what, key, v.Value)
		}
		if out == nil {
			out = map[string]float64{}
		}
		out[key] = price
		return nil
	})
	return out, err
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
