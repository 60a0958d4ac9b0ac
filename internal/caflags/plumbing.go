package caflags

import (
	"slices"
	"strings"
)

// plumbing are flags that say how an autoscaler reaches its world and how it logs.
var plumbing = []string{
	"cloud-provider", "cloud-config", "kubeconfig", "kubernetes", "leader-elect", "address", "namespace", "v", "logtostderr", "stderrthreshold",
	"alsologtostderr", "log-file", "log-dir", "profiling", "health-check-server",
}

// WithoutPlumbing keeps the flags that decide something, for an autoscaler that is run elsewhere.
func WithoutPlumbing(flags []string) []string {
	return slices.DeleteFunc(slices.Clone(flags), func(f string) bool {
		return !strings.HasPrefix(f, "-") || slices.Contains(plumbing, Name(f))
	})
}

// Name is the name of a flag argument; "" for a value that stands by itself.
func Name(arg string) string {
	if !strings.HasPrefix(arg, "-") {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return strings.ReplaceAll(name, "_", "-")
}

// IsMasked says whether the value of a flag was taken out of a recording.
func IsMasked(arg string) bool { return strings.HasSuffix(arg, "="+Masked) }
