//go:build staging

// Package deps pins versions of modules that no package here imports. Nobody imports it.
package deps

// k8s.io/kubernetes requires its staging modules at v0.0.0, which does not exist: in its own tree it replaces them. A module that
// imports ours takes no replace from us, so go.mod requires all of them at their real version. `go mod tidy`, for which all tags
// are set, would drop those of which nothing is imported but for this file.
import (
	_ "k8s.io/cli-runtime"
	_ "k8s.io/code-generator"
	_ "k8s.io/cri-api"
	_ "k8s.io/cri-client/pkg/logs"
	_ "k8s.io/cri-streaming/pkg/streaming/portforward"
	_ "k8s.io/sample-apiserver/pkg/apis/wardle"
	_ "k8s.io/sample-controller/pkg/signals"
)
