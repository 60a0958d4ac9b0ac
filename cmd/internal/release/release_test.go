package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/scalehist/scalehist/harness/kvcl/assets"
)

// binaries are the real ones: scalehist as a release builds it, kube-apiserver and etcd as `make assets` does.
func binaries(t *testing.T) contents {
	t.Helper()
	paths, err := assets.Ensure(t.Context(), assets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	scalehist := filepath.Join(t.TempDir(), "scalehist")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", scalehist, "../../scalehist")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return contents{Scalehist: scalehist, KubeAPIServer: paths.KubeAPIServer, Etcd: paths.Etcd, Version: "v9.9.9", Level: gzip.NoCompression}
}

// TestRelease makes the image and the bill of materials of real binaries, twice, and replays a recording on the control
// plane that is in the image, with nothing else in reach.
func TestRelease(t *testing.T) {
	c := binaries(t)
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := writeImage(file, "scalehist:v9.9.9", c); err != nil {
		t.Fatal(err)
	}
	img, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("config", func(t *testing.T) { checkConfig(t, img) })
	t.Run("same bytes", func(t *testing.T) {
		small := contents{Scalehist: c.Etcd, KubeAPIServer: c.Etcd, Etcd: c.Etcd, Version: c.Version, Level: gzip.NoCompression} // the smallest of them
		var made [2][]byte
		for i := range made {
			file := filepath.Join(t.TempDir(), "image.tar")
			if err := writeImage(file, "scalehist:v9.9.9", small); err != nil {
				t.Fatal(err)
			}
			made[i] = read(t, file)
		}
		if !bytes.Equal(made[0], made[1]) {
			t.Errorf("two images of the same files differ: %d and %d bytes", len(made[0]), len(made[1]))
		}
	})
	t.Run("bill", func(t *testing.T) { checkBill(t, c) })
	t.Run("replay", func(t *testing.T) {
		root := unpack(t, img)
		copyFile(t, "../../../fixtures/zonal-spread/recording.db", filepath.Join(root, "work", "recording.db"))
		out := runIn(t, root, "/usr/local/bin/scalehist", "replay", "/work/recording.db", "--control-plane", "envtest", "-o", "json")
		var report struct {
			ScaledUpNodeGroups map[string]int
			Run                struct{ ControlPlane string }
		}
		if err := json.Unmarshal(out, &report); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		want := map[string]int{"za": 1, "zb": 1, "zc": 1}
		if diff := cmp.Diff(want, report.ScaledUpNodeGroups); diff != "" {
			t.Errorf("the replay in the image (-want +got):\n%s", diff)
		}
		if report.Run.ControlPlane != "envtest" {
			t.Errorf("it was replayed on %q, not on the image's kube-apiserver", report.Run.ControlPlane)
		}
	})
}

func checkConfig(t *testing.T, img v1.Image) {
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || config.OS != "linux" || config.Config.Labels["org.opencontainers.image.version"] != "v9.9.9" {
		t.Errorf("user %q, os %q, labels %v", config.Config.User, config.OS, config.Config.Labels)
	}
	if diff := cmp.Diff([]string{"/usr/local/bin/scalehist"}, config.Config.Entrypoint); diff != "" {
		t.Error(diff)
	}
}

func checkBill(t *testing.T, c contents) {
	file, again := filepath.Join(t.TempDir(), "a.json"), filepath.Join(t.TempDir(), "b.json")
	for _, f := range []string{file, again} {
		if err := writeSBOM(f, c.Version, []string{c.Scalehist, c.KubeAPIServer, c.Etcd}); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(read(t, file), read(t, again)) {
		t.Error("two bills of the same binaries differ")
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(read(t, file)), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, c := range *bom.Components {
		versions[c.Name] = c.Version
		if c.Hashes == nil && c.Name != "stdlib" {
			t.Errorf("%s has no hash", c.Name)
		}
	}
	for name, want := range map[string]string{"scalehist": "v9.9.9", "kube-apiserver": "v1.36.3", "etcd": "v3.6.8", "k8s.io/client-go": "v0.36.5", "modernc.org/sqlite": "v1.60.1"} {
		if versions[name] != want {
			t.Errorf("the bill has %s %q, want %s", name, versions[name], want)
		}
	}
	if versions["stdlib"] == "" {
		t.Error("the bill does not say which Go it was built with")
	}
}

// TestForeignBinaries: what would not run in the image is refused.
func TestForeignBinaries(t *testing.T) {
	if _, err := architecture("release_test.go"); err == nil || !strings.Contains(err.Error(), "no Linux binary") {
		t.Errorf("a text file: %v", err)
	}
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := architecture(shell); err == nil || !strings.Contains(err.Error(), "CGO_ENABLED=0") {
		t.Errorf("a binary with a dynamic linker: %v", err)
	}
	dir := t.TempDir()
	if err := create(filepath.Join(dir, "x"), func(io.Writer) error { return errors.New("no more") }); err == nil {
		t.Error("a file that cannot be written is no error")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("half a file is left: %v %v", left, err)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"image"}, {"sbom"}, {"cake"}, {"image", "-x"}} {
		if err := run(t.Context(), args, io.Discard); err == nil || !strings.Contains(err.Error(), "release image -binary") {
			t.Errorf("release %v: %v", args, err)
		}
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	if err := os.WriteFile(to, read(t, from), 0o644); err != nil {
		t.Fatal(err)
	}
}

// unpack is the image's file system.
func unpack(t *testing.T, img v1.Image) string {
	t.Helper()
	// Not below t.TempDir, which only its owner may enter.
	root, err := os.MkdirTemp("", "scalehist-image-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	stream := mutate.Extract(img)
	defer stream.Close()
	for r := tar.NewReader(stream); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return root
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(root, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(to, 0o755)
		} else {
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(to, data, 0o600)
			}
		}
		// Chmod is not subject to the umask; the mode keeps the sticky bit of /tmp.
		if err = errors.Join(err, os.Chmod(to, h.FileInfo().Mode())); err == nil && os.Getuid() == 0 {
			err = os.Chown(to, h.Uid, h.Gid)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// runIn runs a command of an unpacked image with the image's files for all files, as its user, as far as this machine lets
// us: in mount and user namespaces of its own, else in place.
func runIn(t *testing.T, root string, command ...string) []byte {
	t.Helper()
	for _, dir := range []string{"proc", "dev"} { // as every engine gives a container
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	enter := []string{"unshare", "--mount"}
	user := "--userspec=65532:65532"
	if os.Getuid() != 0 {
		enter, user = append(enter, "--map-root-user"), "--userspec=0:0"
	}
	enter = append(enter, "sh", "-c", `mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$@"`, root)
	env := []string{"PATH=/usr/local/bin", "HOME=/home/nonroot", "KUBEBUILDER_ASSETS=/usr/local/bin"}
	if out, err := exec.Command(enter[0], append(enter[1:], user, root, "/usr/local/bin/scalehist", "version")...).CombinedOutput(); err != nil {
		t.Logf("namespaces cannot be made here (%v: %s): the image's binaries run in place", err, out)
		enter = nil
		command[0] = filepath.Join(root, command[0])
		for i, arg := range command {
			if strings.HasPrefix(arg, "/work/") {
				command[i] = filepath.Join(root, arg)
			}
		}
		env = []string{"PATH=" + filepath.Join(root, "usr/local/bin"), "HOME=" + filepath.Join(root, "home/nonroot"), "KUBEBUILDER_ASSETS=" + filepath.Join(root, "usr/local/bin")}
	} else {
		enter = append(enter, user, root)
		env = append(env, "PATH="+os.Getenv("PATH")+":/usr/local/bin")
	}
	args := append(enter, command...)
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	differs := errors.As(err, &exit) && exit.ExitCode() == 1
	if err != nil && !differs { // from the recording, that is
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, stderr.Bytes())
	}
	return out
}
