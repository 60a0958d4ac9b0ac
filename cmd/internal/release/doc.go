// Command release makes what a release ships beside the binaries of goreleaser: a container image with scalehist,
// kube-apiserver and etcd in it, and a software bill of materials (SBOM) of the three. It needs no container engine and no
// network, and the same files give the same bytes.
//
//	go run ./cmd/internal/release image -binary bin/scalehist -o dist/scalehist-image.tar
//	go run ./cmd/internal/release sbom -o dist/scalehist.cdx.json bin/scalehist
//
// Words: a layer is a tar of files; an image is layers and a configuration, here in a tarball that `docker load`,
// `podman load`, `ctr images import` and `crane push` read. It knows nothing of histories and replays.
package main
