package scenario

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/prices"
)

// Scaffold replays a scenario that has no expectations yet, to be written with YAML or Go. file is where it will be: paths are given
// from its directory.
func Scaffold(ctx context.Context, s *Scenario, file string, e Env) (*scalehist.ReplayReport, error) {
	if s.Autoscaler == "" {
		s.Autoscaler = e.Engines.Names()[0]
	}
	d := &decoder{file: file}
	s.File, s.Line, s.at = file, 1, map[string]position{}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, fmt.Errorf("directory of %s: %w", file, err)
	}
	paths := []*string{&s.History}
	for _, file := range []*string{&s.FaultFile, &s.Objects, &s.Load} {
		if *file != "" {
			paths = append(paths, file)
		}
	}
	if s.Prices != nil && s.Prices.Table != prices.Shipped {
		paths = append(paths, &s.Prices.Table)
	}
	for _, p := range paths {
		abs, err := filepath.Abs(*p)
		if err != nil {
			return nil, fmt.Errorf("path %s: %w", *p, err)
		}
		if *p, err = filepath.Rel(dir, abs); err != nil {
			*p = abs // on another volume
		}
		*p = filepath.ToSlash(*p)
	}
	s.Expect = Expect{ScaledUp: map[string]Count{}} // so that there is one
	s.check(d, e.Engines)
	s.Expect = Expect{}
	if len(d.problems) > 0 {
		return nil, fmt.Errorf("%s", d.problems[0].Message)
	}
	return s.Replay(ctx, e, "")
}
