package sources

import (
	"path"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// FlagsOf returns the flags of the cluster-autoscaler's container in a Deployment, one string each and secrets masked,
// nil if it runs none.
func FlagsOf(d *appsv1.Deployment) []string {
	for i := range d.Spec.Template.Spec.Containers {
		c := &d.Spec.Template.Spec.Containers[i]
		if !IsAutoscaler(d, c) {
			continue
		}
		flags := []string{}
		for _, f := range joined(words(c)) {
			flags = append(flags, Mask(f))
		}
		return flags
	}
	return nil
}

// IsAutoscaler recognises the cluster-autoscaler's container: by the image's or the command's name, or as a container
// of that name. Forks name their images so too ("gardener/autoscaler/cluster-autoscaler").
func IsAutoscaler(d *appsv1.Deployment, c *corev1.Container) bool {
	const name = "cluster-autoscaler"
	image, _, _ := strings.Cut(path.Base(c.Image), "@")
	image, _, _ = strings.Cut(image, ":")
	if image == name || strings.HasPrefix(image, name+"-") {
		return true
	}
	if len(c.Command) > 0 && path.Base(c.Command[0]) == name {
		return true
	}
	return c.Name == name
}

// KeepFlags leaves the program and its flags of an autoscaler's command line, secrets masked, and nothing else: a shell
// script becomes the flags in it, positional arguments go. It changes c.
func KeepFlags(c *corev1.Container) {
	program := "cluster-autoscaler"
	if len(c.Command) > 0 && !isShell(c.Command[0]) && !strings.HasPrefix(c.Command[0], "-") && !strings.ContainsAny(c.Command[0], " =\n\t") {
		program = c.Command[0]
	}
	flags := joined(words(c))
	c.Command, c.Args = []string{program}, nil
	for _, f := range flags {
		c.Args = append(c.Args, Mask(f))
	}
}

// words is the command line, a shell's script split at white space.
func words(c *corev1.Container) []string {
	all := append(append([]string{}, c.Command...), c.Args...)
	if len(c.Command) > 0 && isShell(c.Command[0]) { // sh -c "./cluster-autoscaler --v=4"
		all = strings.Fields(strings.Trim(all[len(all)-1], "'\""))
	}
	return all
}

// joined are the flags among words, "--expander", "least-waste" as one.
func joined(words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w, "-") || strings.Trim(w, "-") == "" {
			continue // the program, "exec"
		}
		if !strings.Contains(w, "=") && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
			w += "=" + words[i+1]
			i++
		}
		out = append(out, w)
	}
	return out
}

func isShell(command string) bool {
	switch path.Base(command) {
	case "sh", "bash", "ash", "dash":
		return true
	}
	return false
}
