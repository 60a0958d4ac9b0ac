package caflags

import (
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Of returns the flags of the cluster-autoscaler's container in a Deployment, one string each and as they may be stored,
// nil if it runs none.
func Of(d *appsv1.Deployment) []string {
	for i := range d.Spec.Template.Spec.Containers {
		if c := &d.Spec.Template.Spec.Containers[i]; IsAutoscaler(c) {
			return flags(c)
		}
	}
	return nil
}

const programName = "cluster-autoscaler"

// IsAutoscaler recognises the cluster-autoscaler's container: by the image's or the command's name, or as a container
// of that name. Forks name their images so too ("gardener/autoscaler/cluster-autoscaler").
func IsAutoscaler(c *corev1.Container) bool {
	image, _, _ := strings.Cut(path.Base(c.Image), "@")
	image, _, _ = strings.Cut(image, ":")
	if image == programName || strings.HasPrefix(image, programName+"-") {
		return true
	}
	return len(c.Command) > 0 && path.Base(c.Command[0]) == programName || c.Name == programName
}

// Kept is what may be stored of an autoscaler's command line: the program and its flags, where they were. It is the same
// again for what was kept.
func Kept(c *corev1.Container) (command, args []string) {
	kept := flags(c)
	if len(c.Command) == 0 {
		return nil, append([]string(nil), kept...)
	}
	name := programName
	if isProgram(c.Command[0]) && plainText.MatchString(c.Command[0]) {
		name = c.Command[0]
	}
	if command = []string{name}; len(c.Args) == 0 {
		return append(command, kept...), nil
	}
	return command, append([]string(nil), kept...)
}

func isProgram(word string) bool {
	return path.Base(word) == programName || strings.HasPrefix(path.Base(word), programName+"-")
}

// flags are those of a container's command line, never nil.
func flags(c *corev1.Container) []string {
	words := words(c)
	out := []string{}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w, "-") || strings.Trim(w, "-") == "" {
			continue // the program, "exec", what it is given beside flags
		}
		// "--expander", "least-waste" is one. A switch takes no next word. The next word of another flag is its value even
		// where it begins with a dash, unless it is a flag that is known.
		if !strings.Contains(w, "=") && known[nameOf(w)] != "bool" && i+1 < len(words) && !Known(nameOf(words[i+1])) {
			w += "=" + words[i+1]
			i++
		}
		if w = keptFlag(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}

// nameOf is the name of the flag that a word is, "" if it is none.
func nameOf(word string) string {
	if !strings.HasPrefix(word, "-") {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	return name
}

// words is the command line. Of a shell's script they are what comes after the program's name, split at white space.
func words(c *corev1.Container) []string {
	all := slices.Concat(c.Command, c.Args)
	if len(c.Command) == 0 || !isShell(c.Command[0]) {
		return all
	}
	script := all[len(all)-1]
	if i := slices.IndexFunc(all, isScriptFlag); i >= 0 && i+1 < len(all) { // sh -c "./cluster-autoscaler --v=4"
		script = all[i+1]
	}
	all = strings.Fields(quotes.Replace(script))
	if i := slices.IndexFunc(all, isProgram); i >= 0 {
		all = all[i+1:]
	}
	if i := slices.IndexFunc(all, endsCommand); i >= 0 {
		all = append(all[:i], strings.TrimRight(all[i], ";&|"))
	}
	return all
}

// quotes are taken out of scripts: a value with white space in it becomes words that are no flags, and go.
var quotes = strings.NewReplacer(`'`, "", `"`, "", `\`, "")

func isScriptFlag(word string) bool {
	return len(word) <= 4 && strings.HasPrefix(word, "-") && strings.HasSuffix(word, "c")
}

// endsCommand: what follows is another command's.
func endsCommand(word string) bool {
	return strings.HasSuffix(word, ";") || slices.Contains([]string{"&&", "||", "|", "&"}, word)
}

func isShell(command string) bool {
	switch path.Base(command) {
	case "sh", "bash", "ash", "dash":
		return true
	}
	return false
}
