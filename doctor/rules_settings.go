package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/virtualca/config"
)

var settingsRules = []Rule{
	{Code: "SH401", Title: "no autoscaler settings", Severity: Warning, run: noSettings,
		Doc: "A cluster-autoscaler wrote events or moved node groups, and its Deployment was not recorded: a replay runs with upstream's defaults, which " +
			"were perhaps not in force.",
		Advice: "let the recorder read deployments; for this history give the flags: `scalehist replay --autoscaler-flag`"},
	{Code: "SH402", Title: "unknown flag", Severity: Warning, run: unknownFlags,
		Doc: "A recorded flag is none that the virtual autoscaler knows of (upstream 1.36): a patched autoscaler, another version, or a slip. It has no " +
			"effect in a replay.",
		Advice: "check the flag; override it with `scalehist replay --autoscaler-flag`"},
	{Code: "SH403", Title: "deprecated flag", Severity: Info, run: deprecatedFlags,
		Doc:    "Upstream (1.36) has deprecated the flag. A replay still reads it.",
		Advice: "use what replaces it, where upstream names something"},
	{Code: "SH404", Title: "flag that is not modelled", Severity: Warning, run: unmodelledFlags,
		Doc:    "The recorded autoscaler was set to do something that the virtual one does not do: it decides as if the flag were not set.",
		Advice: "expect differences where the flag matters"},
	{Code: "SH405", Title: "priority expander without its ConfigMap", Severity: Warning, run: noPriorities,
		Doc: "The expander chain has priority, and no ConfigMap cluster-autoscaler-priority-expander was recorded: the expander leaves all options as " +
			"they are, and the next of the chain decides.",
		Advice: "let the recorder read configmaps in the autoscaler's namespace"},
	{Code: "SH406", Title: "settings that cannot be read", Severity: Error, run: badSettings,
		Doc:    "A recorded flag has a value that upstream would not start with, or the expander chain is impossible. A replay refuses the settings.",
		Advice: "override the flag with `scalehist replay --autoscaler-flag`"},
	{Code: "SH407", Title: "setting with a remark", Severity: Info, run: settingRemarks,
		Doc:    "The virtual autoscaler does with a setting what upstream leaves open: chance, for instance, is a fixed seed.",
		Advice: "nothing, unless the decision is near: then vary the flag and replay again"},
}

// autoscalerComponent is who a cluster-autoscaler says it is in its events.
const autoscalerComponent = "cluster-autoscaler"

func noSettings(_ context.Context, in *Input) ([]Finding, error) {
	for _, s := range in.Settings {
		if len(s.Settings.Flags) > 0 {
			return nil, nil
		}
	}
	n := 0
	var out []Finding
	for _, e := range in.Events {
		if e.Component != autoscalerComponent {
			continue
		}
		if n++; n == 1 {
			out = []Finding{{At: e.ObservedAt, Object: regarding(e)}}
		}
		out[0].Message = fmt.Sprintf("%s of a cluster-autoscaler (this one is the first), and no flags of it", plural.Of(n, "event"))
	}
	return out, nil
}

// settings calls f for each recorded setting of an autoscaler, and keeps the first finding of each message.
func settings(in *Input, f func(scalehist.CASettings) []string) []Finding {
	var out []Finding
	reported := map[string]bool{}
	for _, s := range in.Settings {
		if len(s.Settings.Flags) == 0 {
			continue
		}
		for _, m := range f(s.Settings) {
			if !reported[m] {
				reported[m] = true
				out = append(out, Finding{At: s.At, Message: m})
			}
		}
	}
	return out
}

// The kinds of warnings of virtualca.ParseSettings.
const (
	aboutUnknown = iota
	aboutModel
	aboutPriorities
	aboutOther
)

func kindOfWarning(w string) int {
	switch {
	case strings.Contains(w, "is unknown and has no effect"), strings.Contains(w, "is not a flag"):
		return aboutUnknown
	case strings.Contains(w, "not modelled"):
		return aboutModel
	case strings.HasPrefix(w, "--expander=priority"):
		return aboutPriorities
	}
	return aboutOther
}

func warnings(in *Input, kind int) []Finding {
	return settings(in, func(s scalehist.CASettings) []string {
		_, all, err := config.ParseSettings(s)
		if err != nil {
			return nil // SH406
		}
		return slices.DeleteFunc(all, func(w string) bool { return kindOfWarning(w) != kind })
	})
}

func unknownFlags(_ context.Context, in *Input) ([]Finding, error) {
	return warnings(in, aboutUnknown), nil
}

func unmodelledFlags(_ context.Context, in *Input) ([]Finding, error) {
	return warnings(in, aboutModel), nil
}

func noPriorities(_ context.Context, in *Input) ([]Finding, error) {
	return warnings(in, aboutPriorities), nil
}

func settingRemarks(_ context.Context, in *Input) ([]Finding, error) {
	return warnings(in, aboutOther), nil
}

// deprecated flags of upstream 1.36 and what to use instead, "" where upstream names nothing.
var deprecated = []struct{ flag, instead string }{
	{"ignore-taint", "--startup-taint"},
	{"scale-down-enabled", ""},
}

func deprecatedFlags(_ context.Context, in *Input) ([]Finding, error) {
	return settings(in, func(s scalehist.CASettings) []string {
		var out []string
		for _, arg := range s.Flags {
			name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			for _, d := range deprecated {
				if strings.HasPrefix(arg, "-") && strings.ReplaceAll(name, "_", "-") == d.flag {
					m := "--" + d.flag + " is deprecated"
					if d.instead != "" {
						m += ": use " + d.instead
					}
					out = append(out, m)
				}
			}
		}
		return out
	}), nil
}

func badSettings(_ context.Context, in *Input) ([]Finding, error) {
	return settings(in, func(s scalehist.CASettings) []string {
		if _, _, err := config.ParseSettings(s); err != nil {
			return []string{err.Error()}
		}
		return nil
	}), nil
}
