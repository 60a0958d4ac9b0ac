package prices

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// listKeys are the keys of one list, at the top of a price file or under lists.
var listKeys = []string{"date", "machineTypes", "provider", "region", "source"}

// read takes one key of a list; where ends in ": " or is empty.
func (l *List) read(key, where string, v *yaml.Node) (err error) {
	switch key {
	case "provider":
		l.Provider, err = word(v, where+key, "aws")
	case "region":
		l.Region, err = word(v, where+key, "eu-west-1")
	case "source":
		l.Source, err = word(v, where+key, "https://example.com/prices")
	case "date":
		if l.Date, err = word(v, where+key, "2026-01-31"); err == nil {
			if _, bad := time.Parse(time.DateOnly, l.Date); bad != nil {
				err = fmt.Errorf("line %d: %sdate: %q is no day such as 2026-01-31", v.Line, where, v.Value)
			}
		}
	case "machineTypes":
		err = l.readTypes(v, where+key)
	default:
		err = unknownKey(v.Line, where, key, listKeys...)
	}
	return err
}

// priceLists reads the lists of a file with several regions.
func priceLists(n *yaml.Node) ([]List, error) {
	n = resolved(n)
	if n.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("line %d: lists: want a list of regions, each with provider, region and machineTypes%s", n.Line, given(n))
	}
	var out []List
	for i, item := range n.Content {
		var l List
		where := fmt.Sprintf("lists[%d]", i)
		err := entries(item, where, func(key string, v *yaml.Node) error { return l.read(key, where+": ", v) })
		if err != nil {
			return nil, err
		}
		if l.Region == "" {
			return nil, fmt.Errorf("line %d: %s: region is missing", item.Line, where)
		}
		out = append(out, l)
	}
	return out, nil
}

// modelKeys are the keys of a type with a price by model.
var modelKeys = []string{"onDemand", "reserved", "spot"}

// readTypes reads machine types, each with one price or one by model.
func (l *List) readTypes(n *yaml.Node, what string) error {
	return entries(n, what, func(name string, v *yaml.Node) error {
		if v.Kind != yaml.MappingNode {
			price, err := priceOf(v, what+": "+name)
			if err != nil {
				return err
			}
			if l.One == nil {
				l.One = map[string]float64{}
			}
			l.One[name] = price
			return nil
		}
		var prices ByModel
		where := what + ": " + name
		err := entries(v, where, func(key string, v *yaml.Node) error {
			if !slices.Contains(modelKeys, key) {
				return fmt.Errorf("%w; or write one price, a number without currency such as 0.107", unknownKey(v.Line, where+": ", key, modelKeys...))
			}
			price, err := priceOf(v, where+": "+key)
			if err != nil {
				return err
			}
			switch key {
			case "onDemand":
				prices.OnDemand = &price
			case "spot":
				prices.Spot = &price
			case "reserved":
				prices.Reserved = &price
			}
			return nil
		})
		if err != nil {
			return err
		}
		if prices == (ByModel{}) {
			return fmt.Errorf("line %d: %s: there is no price: want %s", v.Line, where, strings.Join(modelKeys, ", "))
		}
		if l.Models == nil {
			l.Models = map[string]ByModel{}
		}
		l.Models[name] = prices
		return nil
	})
}

// readGroups reads node groups: a price, or {model: spot}.
func (f *File) readGroups(n *yaml.Node) error {
	const what = "nodeGroups"
	return entries(n, what, func(name string, v *yaml.Node) error {
		if v.Kind != yaml.MappingNode {
			price, err := priceOf(v, what+": "+name)
			if err != nil {
				return err
			}
			if f.NodeGroups == nil {
				f.NodeGroups = map[string]float64{}
			}
			f.NodeGroups[name] = price
			return nil
		}
		return entries(v, what+": "+name, func(key string, v *yaml.Node) error {
			if key != "model" {
				return unknownKey(v.Line, what+": "+name+": ", key, "model")
			}
			text, err := word(v, what+": "+name+": model", "spot")
			if err != nil {
				return err
			}
			model, err := ParseModel(text)
			if err != nil {
				return fmt.Errorf("line %d: %s: %s: %w", v.Line, what, name, err)
			}
			if f.GroupModels == nil {
				f.GroupModels = map[string]Model{}
			}
			f.GroupModels[name] = model
			return nil
		})
	})
}

// labelList reads a list of key=value.
func labelList(n *yaml.Node, what string) ([]string, error) {
	n = resolved(n)
	if n.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("line %d: %s: want a list of labels such as [example.com/lifecycle=spot]%s", n.Line, what, given(n))
	}
	var out []string
	for _, item := range n.Content {
		item = resolved(item)
		key, _, ok := strings.Cut(item.Value, "=")
		if item.Kind != yaml.ScalarNode || !ok || key == "" {
			return nil, fmt.Errorf("line %d: %s: want key=value such as example.com/lifecycle=spot%s", item.Line, what, given(item))
		}
		out = append(out, item.Value)
	}
	return out, nil
}

// word reads a name.
func word(v *yaml.Node, what, example string) (string, error) {
	if v.Kind != yaml.ScalarNode || v.Tag == "!!null" || v.Value == "" {
		return "", fmt.Errorf("line %d: %s: want a name such as %s", v.Line, what, example)
	}
	return v.Value, nil
}
