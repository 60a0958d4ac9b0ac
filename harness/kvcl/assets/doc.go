// Package assets finds kube-apiserver and etcd, or builds them from the Go modules this module pins.
//
// KUBEBUILDER_ASSETS names a directory that has both. Without it they are built once with the Go toolchain into the
// user's cache directory, under a key of everything that decides what comes out: versions, toolchain, platform, flags.
//
// It must not know what the binaries are for.
package assets
