package config

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/caflags"
	"github.com/scalehist/scalehist/internal/goldentest"
	"github.com/scalehist/scalehist/internal/realprogram/realtest"
)

var update = flag.Bool("update", false, "write docs/flags.md; please look at the diff")

// flagsFile has every flag of the released program: name, type, default.
const flagsFile = "../../internal/caflags/flags-1.36.1.tsv"

// TestFlagTableIsComplete: the table has the flags of the released program, with their types and defaults, each once.
func TestFlagTableIsComplete(t *testing.T) {
	want, err := os.ReadFile(flagsFile)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, f := range Flags() {
		fmt.Fprintf(&got, "%s\t%s\t%s\n", f.Name, f.Type, f.Default)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("flags (-program +table):\n%s", diff)
	}
	if n := strings.Count(string(want), "\n"); n != 212 || len(flagTable) != n {
		t.Errorf("%d flags in %s, %d names in the table, want 212 in both", n, flagsFile, len(flagTable))
	}
	for name := range removedFlags {
		if !caflags.Known(name) {
			t.Errorf("--%s of earlier versions is not known to internal/caflags: recordings would not have its value", name)
		}
	}
	s := DefaultSettings()
	parsed := flagSet(&s)
	for _, f := range Flags() {
		if is := parsed.Lookup(f.Name) != nil; is != (f.Effect == Modelled) {
			t.Errorf("--%s is %s, read by the parser: %v", f.Name, f.Effect, is)
		}
		if f.About == "" || removedFlags[f.Name] != "" {
			t.Errorf("--%s: want a text, and not among the flags that are gone", f.Name)
		}
	}
}

// TestDefaultsAreUpstreams: a modelled flag at the default of the table changes nothing, and no flag at its default is warned
// about.
func TestDefaultsAreUpstreams(t *testing.T) {
	for _, f := range Flags() {
		value := f.Default
		if strings.HasPrefix(value, "[") || value == "random" || value == "" && f.Effect == Modelled {
			continue
		}
		got, warnings, err := ParseSettings(scalehist.CASettings{Flags: []string{"--" + f.Name + "=" + value}})
		if err != nil {
			t.Errorf("--%s=%s: %v", f.Name, value, err)
			continue
		}
		if diff := cmp.Diff(DefaultSettings(), got); diff != "" || len(warnings) > 0 {
			t.Errorf("--%s=%s: warnings %q, settings (-default +got):\n%s", f.Name, value, warnings, diff)
		}
	}
}

// TestWarnsOfWhatItDoesNotModel: each flag that is not modelled is warned about once when it is set to something else, each
// that is gone with what replaced it, and no other.
func TestWarnsOfWhatItDoesNotModel(t *testing.T) {
	others := map[string]string{"bool": "true", "int": "7", "duration": "7m", "float": "7", "string": "other"}
	for _, f := range Flags() {
		value, ok := others[f.Type]
		if f.isDefault(value) {
			value = "false"
		}
		if f.Effect == Modelled || !ok && f.Effect == WithoutInfluence {
			continue
		}
		if !ok {
			value = "other"
		}
		arg := "--" + f.Name + "=" + value
		_, warnings, err := ParseSettings(scalehist.CASettings{Flags: []string{arg, "-" + f.Name, value}})
		if err != nil {
			t.Errorf("%s: %v", arg, err)
		}
		want := 0
		if f.Effect == NotModelled {
			want = 1
		}
		if f.Type == "bool" && value == "false" { // the second form says true, which is the default
			_, warnings, _ = ParseSettings(scalehist.CASettings{Flags: []string{arg, arg}})
		}
		if len(warnings) != want || want == 1 && !strings.Contains(warnings[0], "--"+f.Name+" is not modelled") {
			t.Errorf("%s twice, %s: warnings %q, want %d", arg, f.Effect, warnings, want)
		}
	}
	for name, instead := range removedFlags {
		_, warnings, err := ParseSettings(scalehist.CASettings{Flags: []string{"--" + name + "=5"}})
		if want := []string{"flag --" + name + " is gone from cluster-autoscaler 1.36 and has no effect: " + instead}; err != nil || !slices.Equal(warnings, want) {
			t.Errorf("--%s: %v, warnings %q, want %q", name, err, warnings, want)
		}
	}
}

// TestFlagsOfTheRealProgram: the checked-in list is what the released program prints.
func TestFlagsOfTheRealProgram(t *testing.T) {
	program := realtest.ClusterAutoscaler(t, filepath.Join("..", ".."))
	out, err := exec.Command(program, "--help").CombinedOutput()
	if len(out) == 0 {
		t.Fatalf("%s --help printed nothing: %v", program, err)
	}
	want, err := os.ReadFile(flagsFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), printedFlags(string(out))); diff != "" {
		t.Errorf("flags (-%s +program):\n%s", flagsFile, diff)
	}
}

var (
	// flagLine is the first line of a flag's help: two to six spaces, a short form or none, the name, the type if it is no switch.
	flagLine    = regexp.MustCompile(`^ {2,6}(?:-\w, )?--([\w.-]+)(?: (\S.*?))?(?:   +(.*))?$`)
	defaultText = regexp.MustCompile(`\(default (.*)\)$`)
)

// printedFlags reads --help into lines of name, type and default, sorted. What a run decides by chance is called random.
func printedFlags(help string) string {
	type printed struct{ name, kind, text string }
	var all []printed
	for line := range strings.Lines(help) {
		line = strings.TrimRight(line, "\n")
		if m := flagLine.FindStringSubmatch(line); m != nil {
			p := printed{m[1], m[2], m[3]}
			if p.kind == "" {
				p.kind = "bool"
			}
			all = append(all, p)
		} else if len(all) > 0 {
			all[len(all)-1].text += "\n" + line
		}
	}
	zero := map[string]string{"bool": "false", "int": "0", "float": "0", "uint": "0", "Level": "0"}
	var out bytes.Buffer
	slices.SortFunc(all, func(a, b printed) int { return strings.Compare(a.name, b.name) })
	for _, p := range all {
		value := zero[p.kind]
		if m := defaultText.FindStringSubmatch(p.text); m != nil {
			value = strings.Trim(m[1], `"`)
		}
		if p.name == "ginkgo.seed" {
			value = "random"
		}
		fmt.Fprintf(&out, "%s\t%s\t%s\n", p.name, p.kind, value)
	}
	return out.String()
}

// TestFlagsPage: docs/flags.md is the table.
func TestFlagsPage(t *testing.T) {
	goldentest.Text(t, filepath.Join("..", "..", "docs", "flags.md"), flagsPage(), *update)
}

func flagsPage() string {
	var b strings.Builder
	b.WriteString(`# Flags of the cluster-autoscaler

What a replay makes of each flag that cluster-autoscaler 1.36.1 prints with ` + "`--help`" + `, recorded or given with ` + "`--autoscaler-flag`" + `. This page is
written by a test from the table that the parser uses; a second one holds the table complete against the program, a third sets each modelled
flag and wants another decision.

- **modelled**: the virtual autoscaler decides by it as the real one does;
- **not modelled**: it changes decisions, and a replay decides as if it had its default: any other value is one warning in the report;
- **without influence**: it cannot change what is decided, and is taken silently.

A flag that 1.36.1 does not know is a warning, too. Limits of GPUs count by the label by which the recorded provider marks such nodes;
` + "`scalehist replay --gpu-label`" + ` names another one. Options of single groups (Gardener's ` + "`clusterAutoscaler`" + ` of a worker pool, Cluster API's
` + "`autoscaling-options`" + `) are recorded with the group, and win over flags. [annotations.md](annotations.md) is the same for annotations.
`)
	for _, part := range []struct {
		effect FlagEffect
		about  string
	}{{Modelled, "what it says"}, {NotModelled, "what it would say"}, {WithoutInfluence, "why"}} {
		title := strings.ToUpper(string(part.effect[:1])) + string(part.effect[1:])
		fmt.Fprintf(&b, "\n## %s\n\n| flag | type | default | %s |\n|---|---|---|---|\n", title, part.about)
		var framework []string
		for _, f := range Flags() {
			switch {
			case f.Effect != part.effect:
			case strings.HasPrefix(f.Name, "ginkgo."):
				framework = append(framework, "`--"+f.Name+"`")
			default:
				fmt.Fprintf(&b, "| `--%s` | %s | %s | %s |\n", f.Name, strings.ReplaceAll(f.Type, "|", `\|`), code(f.Default), f.About)
			}
		}
		if len(framework) > 0 {
			fmt.Fprintf(&b, "\nAnd %d of a test framework that is linked into the released program: %s.\n", len(framework), strings.Join(framework, ", "))
		}
	}
	b.WriteString("\n## Gone since\n\nFlags of earlier versions that 1.36.1 does not know; they are warned about.\n\n| flag | what took its place |\n|---|---|\n")
	var gone []string
	for name := range removedFlags {
		gone = append(gone, name)
	}
	slices.Sort(gone)
	for _, name := range gone {
		fmt.Fprintf(&b, "| `--%s` | %s |\n", name, removedFlags[name])
	}
	return b.String()
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
