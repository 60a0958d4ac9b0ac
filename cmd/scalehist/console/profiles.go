package console

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"

	"github.com/spf13/pflag"
)

// ProfileFlags say where profiles of this run go, for `go tool pprof`.
type ProfileFlags struct {
	cpu, memory string
	started     bool
	file        *os.File // of a CPU profile that is being taken
}

func (p *ProfileFlags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&p.cpu, "cpu-profile", "", "write a CPU profile of this run to this file")
	flags.StringVar(&p.memory, "memory-profile", "", "write a profile of the heap at the end of this run to this file")
}

// Start begins a CPU profile, and makes sure that a profile of the heap can be written before any work is done.
func (p *ProfileFlags) Start() (err error) {
	p.started = true
	if p.memory != "" {
		f, err := os.Create(p.memory)
		if err != nil {
			return fmt.Errorf("--memory-profile: %w: choose a file that can be written", err)
		}
		if err := f.Close(); err != nil {
			return fmt.Errorf("--memory-profile: %w", err)
		}
	}
	if p.cpu == "" {
		return nil
	}
	if p.file, err = os.Create(p.cpu); err != nil {
		return fmt.Errorf("--cpu-profile: %w: choose a file that can be written", err)
	}
	if err := pprof.StartCPUProfile(p.file); err != nil {
		return errors.Join(fmt.Errorf("--cpu-profile: %w", err), p.file.Close())
	}
	return nil
}

// Stop writes what is to be written. It may be called without start.
func (p *ProfileFlags) Stop() error {
	var errs []error
	if p.file != nil {
		pprof.StopCPUProfile()
		errs = append(errs, p.file.Close())
		p.file = nil
	}
	if p.started && p.memory != "" {
		errs = append(errs, writeHeap(p.memory))
		p.memory = ""
	}
	return errors.Join(errs...)
}

func writeHeap(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("--memory-profile: %w", err)
	}
	runtime.GC() // what lives, not what waits to be collected
	err = pprof.Lookup("heap").WriteTo(f, 0)
	return errors.Join(err, f.Close())
}
