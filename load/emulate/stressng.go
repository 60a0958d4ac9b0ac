package emulate

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"github.com/scalehist/scalehist/internal/realprogram"
)

// stressOwn is about what stress-ng 0.15 takes for itself, in MiB.
const stressOwn = 12

// stressNG has stress-ng hold memory and burn CPU, in place of this process.
type stressNG struct {
	path string
	run  *realprogram.Process
}

// UseStressNG has stress-ng, as it is found in PATH, do the work from now on. Meter must measure children as well: Tree or Cgroup.
func (w *Worker) UseStressNG() error {
	path, err := exec.LookPath("stress-ng")
	if err != nil {
		return fmt.Errorf("%w: install it (Debian: apt-get install stress-ng), or let this process do the work", err)
	}
	w.stress = &stressNG{path: path}
	return nil
}

// use ends what was asked for, and begins another amount. What this process and stress-ng take for themselves is part of it.
func (s *stressNG) use(a Amount, m Meter) error {
	if err := s.end(); err != nil {
		return err
	}
	_, memory, err := m.Read()
	if err != nil {
		return err
	}
	var args []string
	if held := a.RAM - memory/mib - stressOwn; held > 0 {
		args = append(args, "--vm", "1", "--vm-bytes", strconv.FormatInt(held, 10)+"M", "--vm-keep", "--vm-hang", "0", "--vm-method", "write64")
	}
	if n := (a.CPU + 999) / 1000; n > 0 { // as many as there are whole cores, each with the same share
		args = append(args, "--cpu", strconv.FormatInt(n, 10), "--cpu-load", strconv.FormatInt(max(1, (a.CPU+5*n)/(10*n)), 10))
	}
	if len(args) == 0 {
		return nil
	}
	s.run, err = realprogram.Start(s.path, append([]string{"--quiet", "--temp-path", os.TempDir()}, args...), os.DevNull)
	return err
}

// end ends stress-ng. That it had ended by itself is an error: it did not do what it was asked for.
func (s *stressNG) end() error {
	run := s.run
	if s.run = nil; run == nil {
		return nil
	}
	select {
	case <-run.Done():
		return errors.Join(errors.New("stress-ng ended by itself"), run.Err())
	default:
	}
	run.Stop()
	return nil
}
