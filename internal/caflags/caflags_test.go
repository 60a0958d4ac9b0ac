package caflags

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestKeptFlag(t *testing.T) {
	for flag, want := range map[string]string{
		// what decides
		"--expander=least-waste":                                     "--expander=least-waste",
		"--nodes=1:3:https://x/zones/z/instanceGroups/g":             "--nodes=1:3:https://x/zones/z/instanceGroups/g",
		"--node-group-auto-discovery=asg:tag=k8s.io/x/enabled,k8s/y": "--node-group-auto-discovery=asg:tag=k8s.io/x/enabled,k8s/y",
		"--balancing-ignore-label=key.example.com/x":                 "--balancing-ignore-label=key.example.com/x",
		"--clusterapi-cloud-config-authoritative=true":               "--clusterapi-cloud-config-authoritative=true",
		"--scale-down-unneeded-time=10m":                             "--scale-down-unneeded-time=10m",
		"--expendable-pods-priority-cutoff=-10":                      "--expendable-pods-priority-cutoff=-10",
		"--gpu-total=nvidia.com/gpu:0:4":                             "--gpu-total=nvidia.com/gpu:0:4",
		"--max-empty-bulk-delete=10":                                 "--max-empty-bulk-delete=10",
		"--some-later-switch=false":                                  "--some-later-switch=false",
		"--expander=$(EXPANDER)":                                     "--expander=$(EXPANDER)",
		"--v=4":                                                      "--v=4", "-v=4": "-v=4", "--logtostderr": "--logtostderr",
		// what may be a secret
		"--header=Authorization: Bearer X":                  "--header=***",
		"--clientsecret=X":                                  "--clientsecret=***",
		"--conn=Server=h;User=u;Pwd=X":                      "--conn=***",
		"--passwordfile=X":                                  "--passwordfile=***",
		"--token=X":                                         "--token=***",
		"--api-token=12345678":                              "--api-token=***",
		"--password=$(PASSWORD)":                            "--password=***",
		"--some-later-flag=1":                               "--some-later-flag=***",
		"--address=https://user:X@host:1":                   "--address=***",
		"--kubernetes=https://user:X@host?insecure=true":    "--kubernetes=***",
		"--cloud-config={\"aadClientSecret\":\"X\"}":        "--cloud-config=***",
		"--cloud-config=/etc/kubernetes/cloud.conf":         "--cloud-config=***",
		"--nodes=1:3:https://user:X@host/g":                 "--nodes=1:3:https://***@host/g",
		"--node-group-auto-discovery=asg:tag=a,password=X":  "--node-group-auto-discovery=asg:tag=a,password=***",
		"--expander=price X":                                "--expander=***",
		"--v=4 --token=X":                                   "--v=***",
		"--max-nodes-total=X":                               "--max-nodes-total=***",
		"--cluster-name=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOi.ab": "--cluster-name=***",
		"-X": "", "-u": "", "-pX=1": "", "--X": "", "--s3cret": "", "--a b=c": "", "---": "",
	} {
		if got := keptFlag(flag); got != want {
			t.Errorf("%q: kept %q, want %q", flag, got, want)
		}
	}
}

func TestKept(t *testing.T) {
	shell := func(script string) []string { return []string{"/bin/sh", "-ec", script} }
	for _, c := range []struct {
		name          string
		command, args []string
		want          []string
	}{
		{"words", []string{"./cluster-autoscaler", "--v=4", "--expander", "least-waste"}, []string{"--token", "X"},
			[]string{"./cluster-autoscaler", "--v=4", "--expander=least-waste", "--token=***"}},
		{"value with a dash", nil, []string{"--password", "-X", "--expendable-pods-priority-cutoff", "-5", "--v", "1"},
			[]string{"--password=***", "--expendable-pods-priority-cutoff=-5", "--v=1"}},
		{"switches take no word", nil, []string{"--scale-down-enabled", "X", "--v=1"}, []string{"--scale-down-enabled", "--v=1"}},
		{"switch before a flag", nil, []string{"--later", "--v=1"}, []string{"--later", "--v=1"}},
		{"user and password", nil, []string{"-u", "admin:X", "--v=1"}, []string{"--v=1"}},
		{"nothing", []string{"/ca"}, nil, []string{"cluster-autoscaler"}},
		{"positional words go", []string{"/ca"}, []string{"X", "--v=1"}, []string{"cluster-autoscaler", "--v=1"}},
		{"a program with a secret", []string{"https://user:X@host/ca", "--v=1"}, nil, []string{"cluster-autoscaler", "--v=1"}},
		{"a shell", shell("TOKEN=X exec ./cluster-autoscaler --v=4 --nodes=1:2:a"), nil, []string{"cluster-autoscaler", "--v=4", "--nodes=1:2:a"}},
		{"exports", shell("export TOKEN=X; export PASS -X\ncurl -u admin:X --header 'Authorization: Bearer X' https://u:X@h && ./cluster-autoscaler --v=4 --expander='price'; echo -X"), nil,
			[]string{"cluster-autoscaler", "--v=4", "--expander=price"}},
		{"a script in args", []string{"sh", "-c"}, []string{"./cluster-autoscaler --v=4", "X"}, []string{"cluster-autoscaler", "--v=4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			command, args := Kept(&corev1.Container{Command: c.command, Args: c.args})
			if diff := cmp.Diff(c.want, slices.Concat(command, args)); diff != "" {
				t.Errorf("command line (-want +got):\n%s", diff)
			}
			again, argsAgain := Kept(&corev1.Container{Command: command, Args: args})
			if diff := cmp.Diff(c.want, slices.Concat(again, argsAgain)); diff != "" {
				t.Errorf("kept again (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzKept: nothing of a secret is kept, wherever it is in a command line, and what is kept stays as it is.
func FuzzKept(f *testing.F) {
	f.Add("--token=SECRET7 --v=1")
	f.Add("-u admin:SECRET7 --header=Authorization:\x00Bearer SECRET7")
	f.Add("--password -SECRET7")
	f.Add("sh -c export\x00SECRET7;\x00./cluster-autoscaler\x00--SECRET7")
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, " ")
		for i, w := range words {
			words[i] = strings.ReplaceAll(w, "\x00", " ")
			if name := nameOf(w); texts[name] && strings.Contains(w, "=") || i > 0 && texts[nameOf(words[i-1])] || isProgram(w) {
				t.Skip("text of flags that decide is kept")
			}
		}
		command, args := Kept(&corev1.Container{Command: words[:1], Args: words[1:]})
		if kept := strings.Join(slices.Concat(command, args), " "); strings.Contains(kept, "SECRET7") {
			t.Errorf("%q keeps %q", line, kept)
		}
		again, argsAgain := Kept(&corev1.Container{Command: command, Args: args})
		if diff := cmp.Diff(slices.Concat(command, args), slices.Concat(again, argsAgain)); diff != "" {
			t.Errorf("kept again:\n%s", diff)
		}
	})
}

func TestOf(t *testing.T) {
	deployment := func(c corev1.Container) *appsv1.Deployment {
		return &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "sidecar", Args: []string{"--x"}}, c}}}}}
	}
	tests := []struct {
		name string
		c    corev1.Container
		want []string
	}{
		{"by name", corev1.Container{Name: "cluster-autoscaler", Command: []string{"/ca", "--v=1"}, Args: []string{"--expander=price"}}, []string{"--v=1", "--expander=price"}},
		{"by image", corev1.Container{Name: "main", Image: "registry/cluster-autoscaler:v1.36", Args: []string{"--v=1"}}, []string{"--v=1"}},
		{"by command", corev1.Container{Name: "main", Command: []string{"./cluster-autoscaler"}}, []string{}},
		{"not one", corev1.Container{Name: "web", Args: []string{"--v=1"}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Of(deployment(tt.c))); diff != "" {
				t.Errorf("flags (-want +got):\n%s", diff)
			}
		})
	}
}
