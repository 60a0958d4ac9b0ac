package realprogram

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"time"
)

// versionLine is the first that a cluster-autoscaler logs (main.go).
var versionLine = regexp.MustCompile(`Cluster Autoscaler (\S+)`)

// versionTime bounds how long a program may take to say what it is.
const versionTime = 20 * time.Second

// Version is the version of a cluster-autoscaler ("1.36.1"). It has no flag for that: it is started without a cluster, and ends at once.
func Version(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--kubeconfig=/nonexistent", "--leader-elect=false", "--address=127.0.0.1:0", "--v=1").CombinedOutput()
	if m := versionLine.FindSubmatch(out); m != nil {
		return string(m[1]), nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return "", fmt.Errorf("%s does not say that it is a cluster-autoscaler (%w): give the path of one that is built with the externalgrpc provider", path, err)
}
