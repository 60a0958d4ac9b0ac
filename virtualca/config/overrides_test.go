package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
)

func TestCheckOverrides(t *testing.T) {
	for flag, want := range map[string]string{
		"--expander=most-pods":                            "",
		"-expander=least-waste,random":                    "",
		"--balance-similar-node-groups":                   "",
		"--max-nodes-total 5":                             "",
		"--expendable-pods-priority-cutoff -20":           "",
		"--scale_down_unneeded_time=10m":                  "",
		"--scale-down-enabled":                            "",
		"--cores-total=1:100":                             "",
		"--startup-taint=a --startup-taint=b":             "",
		"--expandr=most-pods":                             "did you mean --expander?",
		"--max-node-total=3":                              "did you mean --max-nodes-total?",
		"--scale-down-unneded-time=3m":                    "did you mean --scale-down-unneeded-time?",
		"--zzz=1":                                         "no such flag",
		"expander=most-pods":                              "write --expander=most-pods",
		"most-pods":                                       `"most-pods": this is not a flag`,
		"--balance-similar-node-groups false":             `"false": this is not a flag`,
		"--max-nodes-total=-1":                            "want 0, for no limit, or more",
		"--max-nodes-total=many":                          "--max-nodes-total=many: want a whole number",
		"--max-nodes-total":                               "write --max-nodes-total=NUMBER",
		"--scan-interval=10":                              "want a duration with its unit",
		"--scale-down-unneeded-time=soon":                 "--scale-down-unneeded-time=soon: want a duration with its unit",
		"--scale-down-enabled=nope":                       "want true or false",
		"--max-empty-bulk-delete=5":                       "no such flag any more: --max-scale-down-parallelism",
		"--max-scale-down-parallelism=x":                  "want a whole number",
		"--max-graceful-termination-sec=1m":               "want a whole number",
		"--drain-priority-config=high":                    "want <priority>:<seconds>",
		"--scale-down-utilization-threshold=half":         "want a number",
		"--nodes=1:5:workers":                             "--bounds NAME=MIN:MAX",
		"--expander=cheapest":                             `expander "cheapest" is not supported`,
		"--cores-total=9:1":                               "want 0 <= min <= max",
		"--cores-total=a:b":                               "want <min>:<max>",
		"":                                                "not a flag",
		"--":                                              "not a flag",
		"--max-nodes-total --balance-similar-node-groups": "the value is missing",
	} {
		err := CheckOverrides(strings.Split(flag, " "))
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", flag, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want an error with %q", flag, err, want)
		}
		for _, leak := range []string{"strconv", "parsing", "invalid syntax"} {
			if err != nil && strings.Contains(err.Error(), leak) {
				t.Errorf("%s: %v: want no words of the library", flag, err)
			}
		}
	}
}

func TestWarnsOfExpandersThatAreNotWhatTheySeem(t *testing.T) {
	for name, tc := range map[string]struct {
		in   scalehist.CASettings
		want []string
	}{
		"priority without priorities": {scalehist.CASettings{Flags: []string{"--expander=priority"}},
			[]string{"--expander=priority: there is no ConfigMap cluster-autoscaler-priority-expander with priorities: the expander leaves all options as they are"}},
		"priority with priorities": {scalehist.CASettings{Flags: []string{"--expander=priority"}, Priorities: "10: [a]"}, nil},
		"random": {scalehist.CASettings{Flags: []string{"--expander=random"}},
			[]string{"--expander=random: the choice is made with a fixed seed and is the same in every run"}},
	} {
		_, warnings, err := ParseSettings(tc.in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, warnings); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzCheckOverrides: what passes is what ParseSettings takes, without a word of unknown flags or stray arguments.
func FuzzCheckOverrides(f *testing.F) {
	for _, seed := range []string{"--expander=price,random", "--max-nodes-total 5", "--v 4 --x", "-=", "--", "--scan-interval=\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		if CheckOverrides(args) != nil {
			return
		}
		_, warnings, err := ParseSettings(scalehist.CASettings{Flags: args})
		if err != nil {
			t.Errorf("%q: passes, but %v", args, err)
		}
		for _, w := range warnings {
			if strings.Contains(w, "unknown") || strings.Contains(w, "not a flag") {
				t.Errorf("%q: passes, but %s", args, w)
			}
		}
	})
}
