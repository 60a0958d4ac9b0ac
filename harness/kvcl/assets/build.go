package assets

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/mod/modfile"

	"github.com/scalehist/scalehist/harness/kvcl/internal/owned"
)

// The module that the binaries are built in, from a checkout and from an installed scalehist alike. It has nothing but them: its
// packages are in the module cache.
var (
	//go:embed controlplane.mod
	goMod []byte
	//go:embed controlplane.sum
	goSum []byte
)

// Packages the binaries are built from; controlplane.mod lists them as tools, so controlplane.sum has all they need.
const (
	apiserverPackage = "k8s.io/kubernetes/cmd/kube-apiserver"
	etcdPackage      = "go.etcd.io/etcd/server/v3"
)

// errorLines is how much of a failed build's output an error shows.
const errorLines = 15

// versions are the pinned module versions the binaries come from ("v1.36.3", "v3.6.8").
type versions struct{ kubernetes, etcd string }

// pinned reads the versions out of controlplane.mod.
func pinned() (versions, error) {
	f, err := modfile.ParseLax("controlplane.mod", goMod, nil)
	if err != nil {
		return versions{}, err
	}
	var v versions
	for _, r := range f.Require {
		switch r.Mod.Path {
		case "k8s.io/kubernetes":
			v.kubernetes = r.Mod.Version
		case etcdPackage:
			v.etcd = r.Mod.Version
		}
	}
	if v.kubernetes == "" || v.etcd == "" {
		return versions{}, fmt.Errorf("controlplane.mod does not require k8s.io/kubernetes and %s", etcdPackage)
	}
	return v, nil
}

// Kubernetes is the pinned version ("v1.36.3"), of the control plane and of the libraries that this binary is linked from.
func Kubernetes() string {
	v, err := pinned()
	if err != nil {
		return "unknown"
	}
	return v.kubernetes
}

// flags of go build. The version is what kube-apiserver reports; without it, it says v0.0.0.
func (v versions) flags() []string {
	version := strings.TrimPrefix(v.kubernetes, "v")
	parts := append(strings.SplitN(version, ".", 3), "", "")
	x := "k8s.io/component-base/version."
	ld := []string{
		"-s", "-w",
		"-X", x + "gitVersion=" + v.kubernetes,
		"-X", x + "gitMajor=" + parts[0],
		"-X", x + "gitMinor=" + parts[1],
		"-X", x + "gitTreeState=clean",
		"-X", x + "buildDate=1970-01-01T00:00:00Z",
	}
	return []string{"-trimpath", "-mod=readonly", "-ldflags=" + strings.Join(ld, " ")}
}

// prefix is the readable part of the key.
func (v versions) prefix() string {
	return fmt.Sprintf("kubernetes-%s-etcd-%s-%s-%s-", v.kubernetes, v.etcd, runtime.GOOS, runtime.GOARCH)
}

// key names the directory of a build. Other dependencies may move without a new build: what the server does is decided
// by these versions.
func (v versions) key(ctx context.Context, goTool string) (string, error) {
	out, err := exec.CommandContext(ctx, goTool, "env", "GOVERSION").Output()
	if cause := ctx.Err(); err != nil && cause != nil { // the command says only that it was killed
		return "", fmt.Errorf("%s env GOVERSION: %w", goTool, cause)
	}
	if err != nil {
		return "", fmt.Errorf("%s env GOVERSION: %w", goTool, err)
	}
	h := sha256.New()
	for _, part := range append(v.flags(), string(goMod), string(goSum)) {
		fmt.Fprintf(h, "%d\n%s", len(part), part)
	}
	return v.prefix() + strings.TrimSpace(string(out)) + "-" + hex.EncodeToString(h.Sum(nil))[:12], nil
}

// build makes the binaries in dir, unless they are there by the time it holds the lock.
func build(ctx context.Context, goTool, dir string, v versions, progress io.Writer) (Paths, error) {
	if p, ok, err := complete(dir); ok || err != nil {
		return p, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Paths{}, fmt.Errorf("cache directory for kube-apiserver and etcd: %w", err)
	}
	for _, folder := range []string{filepath.Dir(dir), dir} { // before three minutes of building
		if err := owned.Trusted(folder); err != nil {
			return Paths{}, fmt.Errorf("cache directory for kube-apiserver and etcd: %w", err)
		}
	}
	l, err := lock(ctx, dir+".lock")
	if err != nil {
		return Paths{}, err
	}
	defer l.Close()
	if p, ok, err := complete(dir); ok || err != nil {
		return p, err
	}
	mod, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return Paths{}, fmt.Errorf("cache directory for kube-apiserver and etcd: %w", err)
	}
	defer os.RemoveAll(mod)
	for name, data := range map[string][]byte{"go.mod": goMod, "go.sum": goSum} {
		if err := os.WriteFile(filepath.Join(mod, name), data, 0o644); err != nil {
			return Paths{}, fmt.Errorf("cache directory for kube-apiserver and etcd: %w", err)
		}
	}
	p := pathsIn(dir)
	for _, b := range []struct{ pkg, file, version, takes string }{
		{etcdPackage, p.Etcd, v.etcd, "half a minute"},
		{apiserverPackage, p.KubeAPIServer, v.kubernetes, "3 minutes"},
	} {
		if err := buildOne(ctx, goTool, mod, b.pkg, b.file, b.version, b.takes, v.flags(), progress); err != nil {
			return Paths{}, err
		}
	}
	return p, nil
}

func buildOne(ctx context.Context, goTool, mod, pkg, file, version, takes string, flags []string, progress io.Writer) error {
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	name := filepath.Base(file)
	fmt.Fprintf(progress, "building %s %s (about %s the first time) ...\n", name, version, takes)
	start := time.Now()
	tmp := filepath.Join(mod, name)
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, goTool, append(append([]string{"build", "-o", tmp}, flags...), pkg)...)
	cmd.Dir = mod
	cmd.Stdout, cmd.Stderr = &out, &out
	// A workspace or flags of the surroundings must not decide what is built.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0")
	// The compilers are children of go: end the whole group.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("build %s: %w", name, ctx.Err())
		}
		return fmt.Errorf("build %s %s with %s: %w\n%s\nset %s to a directory that has kube-apiserver and etcd to do without a build",
			name, version, goTool, err, lastLines(out.String(), errorLines), EnvDir)
	}
	// Whatever the umask: complete refuses what others may write to.
	if err := errors.Join(os.Chmod(tmp, 0o755), os.Rename(tmp, file)); err != nil {
		return fmt.Errorf("build %s: %w", name, err)
	}
	fmt.Fprintf(progress, "built %s %s in %s\n", name, version, time.Since(start).Round(time.Second))
	return nil
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) > n {
		lines = append([]string{"..."}, lines[len(lines)-n:]...)
	}
	return strings.Join(lines, "\n")
}
