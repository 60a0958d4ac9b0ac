package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/decode"
	"github.com/scalehist/scalehist/internal/near"
)

// configFile is a configuration file: values of flags by their names.
type configFile struct {
	path string
	// general are for every command that has the flag, of for one: by its path without the program.
	general map[string]fileValue
	of      map[string]map[string]fileValue
}

// fileValue is the value of one key.
type fileValue struct {
	line   int
	values []string
	list   bool
}

// parseConfigFile reads a YAML document: keys at the top are flags or commands, a command holds its flags and the commands
// below it. What is not known is refused with the line and what may have been meant.
func parseConfigFile(root *cobra.Command, path string, b []byte) (*configFile, error) {
	f := &configFile{path: path, general: map[string]fileValue{}, of: map[string]map[string]fileValue{}}
	if err := decode.Size(b); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(b))
	var doc yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return f, nil // empty
	case err != nil:
		return nil, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: there is more than one document in it: keep one", path)
	}
	top := doc.Content[0]
	if top.Tag == "!!null" {
		return f, nil
	}
	if top.Kind != yaml.MappingNode {
		return nil, f.at(top, "want flags and commands, such as \"seed: 3\" or \"replay: {seed: 3}\"")
	}
	flags := map[string]*pflag.Flag{}
	console.WalkCommands(root, func(c *cobra.Command) {
		for _, flag := range console.AllFlags(c) {
			flags[flag.Name] = flag
		}
	})
	return f, f.section(root, top, flags, f.general)
}

func (f *configFile) at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", f.path, n.Line, fmt.Sprintf(format, args...))
}

// section reads the keys of a command: of its flags into values, and of the commands below it.
func (f *configFile) section(cmd *cobra.Command, n *yaml.Node, flags map[string]*pflag.Flag, values map[string]fileValue) error {
	var errs []error
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		for value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if first, twice := seen[key.Value]; twice {
			errs = append(errs, f.at(key, "%s is there already, in line %d", key.Value, first))
			continue
		}
		seen[key.Value] = key.Line
		errs = append(errs, f.entry(cmd, key, value, flags, values))
	}
	return errors.Join(errs...)
}

func (f *configFile) entry(cmd *cobra.Command, key, value *yaml.Node, flags map[string]*pflag.Flag, values map[string]fileValue) error {
	where := "a command or a flag"
	if cmd.HasParent() {
		where = "a flag of " + cmd.CommandPath()
	}
	if sub := subCommand(cmd, key.Value); sub != nil {
		if value.Kind != yaml.MappingNode {
			return f.at(value, "%s is a command: want its flags, such as \"%s: {FLAG: VALUE}\"", key.Value, key.Value)
		}
		own := map[string]*pflag.Flag{}
		for _, flag := range console.AllFlags(sub) {
			own[flag.Name] = flag
		}
		name := commandName(sub)
		f.of[name] = map[string]fileValue{}
		return f.section(sub, value, own, f.of[name])
	}
	flag := flags[key.Value]
	switch {
	case flag == nil:
		var known []string
		for name := range flags {
			known = append(known, name)
		}
		for _, sub := range cmd.Commands() {
			known = append(known, sub.Name())
		}
		slices.Sort(known)
		return f.at(key, "%q is not %s%s", key.Value, where, near.Suggest(key.Value, known))
	case key.Value == configFileFlag || key.Value == "help":
		return f.at(key, "%s cannot be set here", key.Value)
	case !cmd.HasParent() && slices.Contains(specific, key.Value):
		return f.at(key, "%s means another thing with each command: put it under one, such as \"inspect: {%s: ...}\"", key.Value, key.Value)
	}
	v, err := f.value(flag, value)
	if err != nil {
		return err
	}
	v.line = key.Line
	values[key.Value] = v
	return nil
}

func subCommand(cmd *cobra.Command, name string) *cobra.Command {
	for _, sub := range cmd.Commands() {
		if sub.Name() == name && name != "help" {
			return sub
		}
	}
	return nil
}

// value reads one value, a list of them, or for flags such as --bounds a mapping.
func (f *configFile) value(flag *pflag.Flag, n *yaml.Node) (fileValue, error) {
	v := fileValue{}
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag != "!!null":
		v.values = []string{n.Value}
		return v, nil
	case n.Kind == yaml.SequenceNode:
		v.list = true
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
				return v, f.at(item, "%s: want a list of plain values", flag.Name)
			}
			v.values = append(v.values, item.Value)
		}
		return v, nil
	case n.Kind == yaml.MappingNode && flag.Value.Type() == "stringToString":
		v.list = true
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i+1].Kind != yaml.ScalarNode {
				return v, f.at(n.Content[i+1], "%s: want plain values by name", flag.Name)
			}
			v.values = append(v.values, n.Content[i].Value+"="+n.Content[i+1].Value)
		}
		return v, nil
	}
	return v, f.at(n, "%s: want %s, as --%s takes it", flag.Name, wantOf(flag.Value.Type()), flag.Name)
}

// wantOf is what a flag of a type takes; the types of our own are named by their words.
func wantOf(kind string) string {
	switch strings.TrimRight(kind, "0123456789") {
	case "int", "uint", "count":
		return "a whole number"
	case "float":
		return "a number"
	case "bool":
		return "true or false"
	case "string":
		return "a text"
	case "stringArray", "stringSlice":
		return "a list of texts"
	case "stringToString":
		return "texts by name"
	case "duration":
		return "a duration such as 90s"
	}
	return kind
}
