package assets

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBinariesThatOthersCouldHavePutThereAreNotRun: in the cache and in the directory that was given.
func TestBinariesThatOthersCouldHavePutThereAreNotRun(t *testing.T) {
	v, err := pinned()
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(dir string, p Paths) (bad string, err error){
		"another user's folder": func(dir string, _ Paths) (string, error) { return dir, os.Chown(dir, 54321, 54321) },
		"another user's etcd":   func(_ string, p Paths) (string, error) { return p.Etcd, os.Chown(p.Etcd, 54321, 54321) },
		"a folder all may write to": func(dir string, _ Paths) (string, error) {
			return dir, os.Chmod(dir, 0o777)
		},
		"a kube-apiserver the group may write to": func(_ string, p Paths) (string, error) {
			return p.KubeAPIServer, os.Chmod(p.KubeAPIServer, 0o775)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "another user") && os.Geteuid() != 0 {
				t.Skip("only root can give a file away; CI runs as root")
			}
			cache := t.TempDir()
			dir := filepath.Join(cache, v.prefix()+"go1.0-abc")
			bad, err := spoil(dir, makeBinaries(t, dir))
			if err != nil {
				t.Fatal(err)
			}
			check := func(where string, err error) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), bad+" ") || !strings.Contains(err.Error(), "are not run") {
					t.Errorf("%s: error %v, want it to name %s and why", where, err, bad)
				}
			}
			t.Setenv("PATH", t.TempDir()) // no toolchain: whatever is in the cache
			t.Setenv(EnvDir, "")
			_, err = Ensure(t.Context(), Options{CacheDir: cache})
			check("cache", err)
			t.Setenv(EnvDir, dir)
			_, err = Ensure(t.Context(), Options{})
			check("given", err)
		})
	}
}

// TestAPlantedCacheIsNotBuiltInto: the folder of the build exists already, and others may write to it.
func TestAPlantedCacheIsNotBuiltInto(t *testing.T) {
	log := fakeGo(t, `printf x > "$out"`)
	cache := filepath.Join(t.TempDir(), "cache")
	if err := os.Mkdir(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(cache, 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := Ensure(t.Context(), Options{CacheDir: cache, Progress: new(bytes.Buffer)})
	if err == nil || !strings.Contains(err.Error(), cache+" is writable by other users") {
		t.Errorf("error %v, want it to name %s", err, cache)
	}
	if b := builds(t, log); len(b) != 0 {
		t.Errorf("built %q", b)
	}
}
