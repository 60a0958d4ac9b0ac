package deploy

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist/cmd/scalehist/cli"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/recorder/service"
)

// TestCommandLine: `scalehist serve` takes the arguments and the configuration of every overlay, and finds every file they
// name on a mounted volume.
func TestCommandLine(t *testing.T) {
	for _, dir := range overlays(t) {
		objects := build(t, filepath.Join("overlays", dir))
		if dir == "recorded-cluster" {
			continue // only an account
		}
		var set appsv1.StatefulSet
		find(t, objects, "StatefulSet", name, &set)
		var config corev1.ConfigMap
		find(t, objects, "ConfigMap", name+"-config", &config)
		main := set.Spec.Template.Spec.Containers[0]
		if len(main.Command) != 1 || main.Command[0] != "scalehist" {
			t.Errorf("%s: command %v", dir, main.Command)
		}
		mounted := mounts(main)
		file := filepath.Join(t.TempDir(), service.ConfigKey)
		if err := os.WriteFile(file, []byte(config.Data[service.ConfigKey]), 0o600); err != nil {
			t.Fatal(err)
		}
		var args []string
		for _, a := range main.Args {
			flag, value, _ := strings.Cut(a, "=")
			if strings.HasPrefix(value, "/") {
				if _, ok := mounted[mountOf(value, mounted)]; !ok {
					t.Errorf("%s: %s is on no volume", dir, a)
				}
			}
			if flag == "--config" {
				if path.Base(value) != service.ConfigKey || mounted[path.Dir(value)] != "config" {
					t.Errorf("%s: %s is not the mounted configuration", dir, a)
				}
				a = flag + "=" + file
			}
			args = append(args, a)
		}
		var out, errs bytes.Buffer
		code := cli.Execute(t.Context(), append(args, "--check"), console.IO{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" }})
		// The kubeconfigs of the example exist in nobody's checkout, and a check says so.
		missing := code == console.ExitDiffered && strings.Count(errs.String(), "\n") == strings.Count(errs.String(), "no such file or directory\n")
		if code != console.ExitOK && !missing {
			t.Errorf("%s: scalehist %s: exit %d\n%s", dir, strings.Join(args, " "), code, errs.String())
		}
		loaded, err := service.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		own := false
		for _, c := range loaded.Clusters {
			own = own || c.InCluster
			if c.Kubeconfig != "" && mountOf(c.Kubeconfig, mounted) == "" {
				t.Errorf("%s: kubeconfig %s is on no volume", dir, c.Kubeconfig)
			}
		}
		if token := *set.Spec.Template.Spec.AutomountServiceAccountToken; token != own {
			t.Errorf("%s: the pod has a token of its cluster: %t; it records its cluster: %t", dir, token, own)
		}
		checkReferences(t, dir, &set)
	}
}

func mounts(c corev1.Container) map[string]string {
	out := map[string]string{}
	for _, m := range c.VolumeMounts {
		out[m.MountPath] = m.Name
	}
	return out
}

// mountOf is the mount that a path is on, "" for none.
func mountOf(p string, mounts map[string]string) string {
	for ; p != "/" && p != "."; p = path.Dir(p) {
		if _, ok := mounts[p]; ok {
			return p
		}
	}
	return ""
}

// checkReferences: mounts have volumes, probes have ports.
func checkReferences(t *testing.T, dir string, set *appsv1.StatefulSet) {
	t.Helper()
	spec := set.Spec.Template.Spec
	volumes := map[string]bool{}
	for _, v := range spec.Volumes {
		volumes[v.Name] = true
	}
	for _, v := range set.Spec.VolumeClaimTemplates {
		volumes[v.Name] = true
	}
	for _, c := range append(spec.Containers, spec.InitContainers...) {
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s: container %s mounts %s, which is no volume", dir, c.Name, m.Name)
			}
		}
		if c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
			t.Errorf("%s: container %s has no memory request or limit", dir, c.Name)
		}
	}
	main := spec.Containers[0]
	for probe, path := range map[*corev1.Probe]string{main.LivenessProbe: "/healthz", main.ReadinessProbe: "/readyz", main.StartupProbe: "/healthz"} {
		if probe == nil || probe.HTTPGet.Path != path || probe.HTTPGet.Port != intstr.FromString(main.Ports[0].Name) {
			t.Errorf("%s: a probe is not %s on port %s: %v", dir, path, main.Ports[0].Name, probe)
		}
	}
}

// TestLitestream: what is shipped is the directory of the histories, and nothing that is only being made there.
func TestLitestream(t *testing.T) {
	objects := build(t, filepath.Join("overlays", "litestream"))
	var set appsv1.StatefulSet
	find(t, objects, "StatefulSet", name, &set)
	data, err := os.ReadFile(filepath.Join("components", "litestream", "litestream.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		DBs []struct {
			Dir     string            `json:"dir"`
			Pattern string            `json:"pattern"`
			Watch   bool              `json:"watch"`
			Replica map[string]string `json:"replica"`
		} `json:"dbs"`
		Snapshot map[string]string `json:"snapshot"`
	}
	if err := yaml.UnmarshalStrict(data, &config); err != nil {
		t.Fatal(err)
	}
	db := config.DBs[0]
	main, sidecar := set.Spec.Template.Spec.Containers[0], set.Spec.Template.Spec.InitContainers[0]
	found := false
	for _, a := range main.Args {
		found = found || a == "--dir="+db.Dir
	}
	if !found || mounts(main)[db.Dir] != "histories" || mounts(sidecar)[db.Dir] != "histories" || !db.Watch {
		t.Errorf("litestream ships %s, the recorder writes %v", db.Dir, main.Args)
	}
	for file, want := range map[string]bool{"prod-eu.db": true, "0.db": true, ".upload-1.db": false, ".prod-eu.db.1.importing": false, "prod-eu.db-wal": false} {
		if got, err := filepath.Match(db.Pattern, file); err != nil || got != want {
			t.Errorf("pattern %q takes %s: %t %v", db.Pattern, file, got, err)
		}
	}
	env := map[string]bool{}
	for _, e := range sidecar.Env {
		env["${"+e.Name+"}"] = true
	}
	for k, v := range db.Replica {
		if strings.Contains(v, "$") && !env[v] {
			t.Errorf("replica.%s is %s, which the sidecar does not have", k, v)
		}
	}
	if sidecar.RestartPolicy == nil || *sidecar.RestartPolicy != corev1.ContainerRestartPolicyAlways {
		t.Error("the sidecar does not run beside the recorder")
	}
}
