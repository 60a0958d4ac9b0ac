package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "benchtable:", err)
		os.Exit(2)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("benchtable", flag.ContinueOnError)
	published := flags.String("published", "", "file of budgets and of what others measured (YAML)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("no input: give the files that go test -bench printed")
	}
	refs, err := readReferences(*published)
	if err != nil {
		return err
	}
	var all results
	for _, path := range flags.Args() {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		err = all.read(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if len(all.names) == 0 {
		return fmt.Errorf("%v: no benchmark results in it", flags.Args())
	}
	return page(out, &all, refs)
}

// reference is what a benchmark is held against.
type reference struct {
	// Benchmark is its name without "Benchmark", planes and processors.
	Benchmark string `json:"benchmark"`
	// What it does, for a reader.
	What string `json:"what,omitempty"`
	// Budgets by plane; "" is for benchmarks without planes.
	Budgets []budget `json:"budgets,omitempty"`
	// Published numbers of others.
	Published []published `json:"published,omitempty"`
}

type budget struct {
	Plane   string  `json:"plane,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	PeakMB  float64 `json:"peakMB,omitempty"`
}

type published struct {
	Who     string  `json:"who"`
	Seconds float64 `json:"seconds"`
	Source  string  `json:"source"`
}

func readReferences(path string) ([]reference, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var refs []reference
	if err := yaml.UnmarshalStrict(data, &refs); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i, r := range refs {
		if r.Benchmark == "" {
			return nil, fmt.Errorf("%s: entry %d has no benchmark", path, i+1)
		}
		for _, p := range r.Published {
			if p.Who == "" || p.Source == "" || p.Seconds <= 0 {
				return nil, fmt.Errorf("%s: %s: a published number needs who, seconds and source", path, r.Benchmark)
			}
		}
	}
	return refs, nil
}
