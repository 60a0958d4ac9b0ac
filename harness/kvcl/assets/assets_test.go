package assets

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// fakeGo puts a program named go on PATH. It answers "go env GOVERSION"; for "go build" it appends a line to the file
// "builds" in the returned directory and runs body with the output file in $out.
func fakeGo(t *testing.T, body string) string {
	t.Helper()
	dir := t.TempDir()
	script := `#!/bin/sh
if [ "$1" = env ]; then echo go1.0-fake; exit 0; fi
out=$3
echo "$@" >> ` + dir + `/builds
` + body + "\n"
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	t.Setenv(EnvDir, "")
	return dir
}

func builds(t *testing.T, dir string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "builds"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func TestBuildsOnceThenFinds(t *testing.T) {
	dir := fakeGo(t, `test -s go.mod && test -s go.sum && printf x > "$out"`)
	var progress bytes.Buffer
	o := Options{CacheDir: t.TempDir(), Progress: &progress}
	first, err := Ensure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"building kube-apiserver v1.", "about 3 minutes the first time", "building etcd v3."} {
		if !strings.Contains(progress.String(), want) {
			t.Errorf("progress %q does not say %q", progress.String(), want)
		}
	}
	second, err := Ensure(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Errorf("second call gave %v, want %v", second, first)
	}
	b := builds(t, dir)
	if len(b) != 2 {
		t.Fatalf("%d builds, want 2: %q", len(b), b)
	}
	all := strings.Join(b, "\n")
	for _, want := range []string{"-trimpath", "-X k8s.io/component-base/version.gitVersion=v1.", apiserverPackage, etcdPackage} {
		if !strings.Contains(all, want) {
			t.Errorf("build commands %q lack %q", all, want)
		}
	}
	onlyBinaries(t, o.CacheDir)
}

// onlyBinaries checks that nothing half made is left.
func onlyBinaries(t *testing.T, cache string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(cache, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if b := filepath.Base(f); b != "kube-apiserver" && b != "etcd" {
			t.Errorf("%s is left in the cache", f)
		}
	}
}

func TestManyAtOnceBuildOnce(t *testing.T) {
	dir := fakeGo(t, `printf x > "$out"`)
	o := Options{CacheDir: t.TempDir(), Progress: new(bytes.Buffer)}
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = Ensure(t.Context(), Options{CacheDir: o.CacheDir, Progress: new(bytes.Buffer)})
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if b := builds(t, dir); len(b) != 2 {
		t.Errorf("%d builds, want 2", len(b))
	}
}

func TestFailedBuildShowsItsEnd(t *testing.T) {
	fakeGo(t, `i=0; while [ $i -lt 100 ]; do echo "line $i"; i=$((i+1)); done; echo "no space left on device" >&2; exit 1`)
	o := Options{CacheDir: t.TempDir(), Progress: new(bytes.Buffer)}
	_, err := Ensure(t.Context(), o)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"build etcd v3.", "line 99", "no space left on device", EnvDir} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "line 50") {
		t.Errorf("error %q has more than the end of the output", err)
	}
	onlyBinaries(t, o.CacheDir)
}

func TestCancelEndsTheBuild(t *testing.T) {
	dir := fakeGo(t, `printf x > "$out"; echo started > `+"$(dirname $0)"+`/started; sleep 600 & wait`)
	o := Options{CacheDir: t.TempDir(), Progress: new(bytes.Buffer)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := Ensure(ctx, o)
		done <- err
	}()
	for {
		if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
			break
		}
		select {
		case err := <-done:
			t.Fatalf("ended before it was cancelled: %v", err)
		default:
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	onlyBinaries(t, o.CacheDir)
}

func TestNoToolchain(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv(EnvDir, "")
	cache := t.TempDir()
	_, err := Ensure(t.Context(), Options{CacheDir: cache})
	if err == nil || !strings.Contains(err.Error(), "no Go toolchain on PATH") || !strings.Contains(err.Error(), EnvDir) {
		t.Fatalf("error %v, want what is missing and what helps", err)
	}
	// Binaries that are there already need no toolchain.
	v, err := pinned()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, v.prefix()+"go1.0-abc")
	want := makeBinaries(t, dir)
	got, err := Ensure(t.Context(), Options{CacheDir: cache})
	if err != nil || got != want {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func makeBinaries(t *testing.T, dir string) Paths {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p := pathsIn(dir)
	for _, f := range []string{p.KubeAPIServer, p.Etcd} {
		if err := os.WriteFile(f, []byte("x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func TestGivenDirectory(t *testing.T) {
	dir := t.TempDir()
	want := makeBinaries(t, dir)
	t.Setenv(EnvDir, dir)
	got, err := Ensure(t.Context(), Options{})
	if err != nil || got != want {
		t.Fatalf("got %v, %v; want %v", got, err, want)
	}
	if err := os.Chmod(want.Etcd, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Ensure(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "etcd there is not an executable file") {
		t.Errorf("error %v, want it to name etcd", err)
	}
	if err := os.Remove(want.Etcd); err != nil {
		t.Fatal(err)
	}
	_, err = Ensure(t.Context(), Options{})
	if err == nil || !strings.Contains(err.Error(), "there is no etcd") || !strings.Contains(err.Error(), EnvDir+" is "+dir) {
		t.Errorf("error %v, want it to name the variable, the directory and etcd", err)
	}
}

// TestCacheThatCannotBeWritten: the disk says no, and the error says where.
func TestCacheThatCannotBeWritten(t *testing.T) {
	t.Setenv(EnvDir, "")
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Ensure(t.Context(), Options{CacheDir: blocked})
	if err == nil || !strings.Contains(err.Error(), blocked) || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("error %v, want it to name %s", err, blocked)
	}
}
