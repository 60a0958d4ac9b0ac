package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/scalehist/scalehist"
)

const (
	bin = "/usr/local/bin"
	// user is who runs in the image: nobody with rights, and the same as that of distroless images.
	user = 65532
)

// contents is what goes into an image.
type contents struct {
	// Scalehist, KubeAPIServer and Etcd are paths of static Linux binaries, all for one architecture.
	Scalehist, KubeAPIServer, Etcd string
	Version                        string
	// Level is that of gzip; the binaries hardly become smaller above the lowest, and take minutes to.
	Level int
}

// writeImage writes an image as a tarball.
func writeImage(file, tag string, c contents) error {
	ref, err := name.NewTag(tag, name.WithDefaultRegistry(""))
	if err != nil {
		return fmt.Errorf("-tag: %w", err)
	}
	img, err := image(c)
	if err != nil {
		return err
	}
	return create(file, func(w io.Writer) error { return tarball.Write(ref, img, w) })
}

// image has three layers, what changes least first: users and folders, the control plane, scalehist.
func image(c contents) (v1.Image, error) {
	arch, err := architecture(c.Scalehist, c.KubeAPIServer, c.Etcd)
	if err != nil {
		return nil, err
	}
	base := layer{}
	base.folder("tmp", 0o1777, 0)
	base.folder("home", 0o755, 0)
	base.folder("home/nonroot", 0o700, user)
	base.folder("work", 0o777, user)
	base.file("etc/passwd", 0o644, fmt.Appendf(nil, "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:%d:%d:nonroot:/home/nonroot:/sbin/nologin\n", user, user))
	base.file("etc/group", 0o644, fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", user))
	// Engines put a hosts file of their own in its place; without any, nobody knows localhost.
	base.file("etc/hosts", 0o644, []byte("127.0.0.1 localhost\n::1 localhost\n"))
	base.file("etc/nsswitch.conf", 0o644, []byte("hosts: files dns\n"))
	plane, own := layer{}, layer{}
	own.file("usr/share/licenses/scalehist/LICENSE", 0o644, scalehist.License)
	for _, b := range []struct {
		layer  *layer
		source string
		as     string
	}{{&plane, c.KubeAPIServer, "kube-apiserver"}, {&plane, c.Etcd, "etcd"}, {&own, c.Scalehist, "scalehist"}} {
		data, err := os.ReadFile(b.source)
		if err != nil {
			return nil, err
		}
		b.layer.file(path.Join(bin, b.as)[1:], 0o755, data)
	}
	img := v1.Image(empty.Image)
	for _, l := range []*layer{&base, &plane, &own} {
		made, err := l.layer(c.Level)
		if err != nil {
			return nil, err
		}
		if img, err = mutate.AppendLayers(img, made); err != nil {
			return nil, err
		}
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	config.Created = v1.Time{Time: epoch}
	config.Config = v1.Config{
		Entrypoint: []string{path.Join(bin, "scalehist")},
		Env:        []string{"PATH=" + bin, "HOME=/home/nonroot", "KUBEBUILDER_ASSETS=" + bin},
		User:       fmt.Sprintf("%d:%d", user, user),
		WorkingDir: "/work",
		Labels: map[string]string{
			"org.opencontainers.image.title":       "scalehist",
			"org.opencontainers.image.description": "Record a Kubernetes cluster's scaling history, replay it through any autoscaler, and assert on what that autoscaler did",
			"org.opencontainers.image.source":      "https://github.com/scalehist/scalehist",
			"org.opencontainers.image.licenses":    "Apache-2.0",
			"org.opencontainers.image.version":     c.Version,
		},
	}
	return mutate.ConfigFile(img, config)
}

// epoch is the time of everything in an image: the same files give the same image.
var epoch = time.Unix(0, 0).UTC()

// layer is a tar in the making. Folders come before what is in them.
type layer struct {
	bytes.Buffer
	tar *tar.Writer
	err error
	// folders are those that are there.
	folders map[string]bool
}

func (l *layer) add(h tar.Header, data []byte) {
	if l.tar == nil {
		l.tar, l.folders = tar.NewWriter(&l.Buffer), map[string]bool{}
	}
	if parent := path.Dir(h.Name); parent != "." && !l.folders[parent] {
		l.folder(parent, 0o755, 0)
	}
	h.ModTime, h.Format = epoch, tar.FormatPAX
	if l.err == nil {
		l.err = l.tar.WriteHeader(&h)
	}
	if l.err == nil {
		_, l.err = l.tar.Write(data)
	}
}

func (l *layer) folder(name string, mode int64, owner int) {
	if l.folders[name] {
		return
	}
	l.add(tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode, Uid: owner, Gid: owner}, nil)
	l.folders[name] = true
}

func (l *layer) file(name string, mode int64, data []byte) {
	l.add(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data))}, data)
}

func (l *layer) layer(level int) (v1.Layer, error) {
	if l.err == nil {
		l.err = l.tar.Close()
	}
	if l.err != nil {
		return nil, l.err
	}
	data := l.Bytes()
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
		tarball.WithCompressionLevel(level), tarball.WithCompressedCaching)
}

// architecture is that of the binaries, in Go's words. They must be for Linux, static, and all for the same.
func architecture(files ...string) (string, error) {
	known := map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}
	arch := ""
	for _, file := range files {
		f, err := elf.Open(file)
		if err != nil {
			return "", fmt.Errorf("%s is no Linux binary: %w", file, err)
		}
		machine, static := known[f.Machine], true
		for _, p := range f.Progs {
			static = static && p.Type != elf.PT_INTERP
		}
		if err := f.Close(); err != nil {
			return "", err
		}
		switch {
		case machine == "":
			return "", fmt.Errorf("%s is for %s: images are made for amd64 and arm64", file, f.Machine)
		case !static:
			return "", fmt.Errorf("%s needs a dynamic linker, and the image has none: build it with CGO_ENABLED=0", file)
		case arch != "" && machine != arch:
			return "", fmt.Errorf("%s is for %s, %s is for %s", files[0], arch, file, machine)
		}
		arch = machine
	}
	return arch, nil
}
