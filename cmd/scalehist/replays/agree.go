package replays

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/near"
)

// questions are those of --agree. The verdict against a truth file has none, and one about single moments has an answer to
// one of them only.
func (f *ReplayFlags) questions(cmd *cobra.Command) ([]scalehist.Question, error) {
	known := questionNames()
	var out []scalehist.Question
	for _, name := range f.agree {
		if !slices.Contains(known, name) {
			return nil, console.UsageErrorf(cmd, "--agree %q: want %s%s", name, strings.Join(known, ", "), near.Suggest(name, known))
		}
		q := scalehist.Question(name)
		if scalehist.Playback(f.Playback).SingleMoments() && q != scalehist.QuestionScaledUp {
			return nil, console.UsageErrorf(cmd, "--agree %s: no time passes in a %s playback, so it has no answer; replay continuously", name, f.Playback)
		}
		out = append(out, q)
	}
	if f.truth != "" && len(out) > 0 {
		return nil, console.UsageErrorf(cmd, "--agree asks about the recording, and with --truth the truth file decides: leave one of them out")
	}
	return out, nil
}

func questionNames() []string {
	var out []string
	for _, q := range scalehist.Questions {
		out = append(out, string(q))
	}
	return out
}

// completeQuestions completes the last of a list of questions by those that do not decide anyway and are not in it yet.
func completeQuestions(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	given := toComplete[:strings.LastIndex(toComplete, ",")+1]
	var out []string
	for _, q := range scalehist.Questions {
		if !q.Decides() && !slices.Contains(strings.Split(given, ","), string(q)) {
			out = append(out, given+string(q))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
