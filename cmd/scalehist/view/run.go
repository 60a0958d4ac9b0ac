package view

import (
	"context"
	"errors"
	"io"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/scalehist/scalehist"
)

// Run shows the app on a terminal until somebody quits or ctx ends; the terminal is then as it was. Without colour it uses bold
// and reverse only.
func Run(ctx context.Context, in io.Reader, out io.Writer, colour bool, r *scalehist.ReplayReport) error {
	opts := []tea.ProgramOption{tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler()}
	if !colour {
		opts = append(opts, tea.WithColorProfile(colorprofile.ASCII))
	}
	_, err := tea.NewProgram(New(r), opts...).Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, tea.ErrInterrupted) {
		return nil
	}
	return err
}
