package realprogram

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Variable names the cluster-autoscaler to run.
const Variable = "SCALEHIST_CLUSTER_AUTOSCALER"

// packed is where a compressed binary lies beside the repository.
const packed = "../shared/bin/cluster-autoscaler-*.xz"

// ErrNone is what errors.Is finds where there is no cluster-autoscaler to run.
var ErrNone = errors.New("no cluster-autoscaler binary: set " + Variable + " to one that is built with the externalgrpc provider " +
	"(kubernetes/autoscaler, tag cluster-autoscaler-1.36.1, go build -tags externalgrpc), or put one xz file at " + packed)

// Find finds the cluster-autoscaler, unpacking it once into the user's cache. root is the directory of the repository.
func Find(ctx context.Context, root string) (string, error) {
	if path := os.Getenv(Variable); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%s: %w", Variable, err)
		}
		return filepath.Abs(path)
	}
	found, err := filepath.Glob(filepath.Join(root, packed))
	if err != nil || len(found) != 1 {
		return "", ErrNone
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("unpack %s: %w", found[0], err)
	}
	name := filepath.Base(found[0])
	path := filepath.Join(cache, "scalehist", name[:len(name)-len(".xz")])
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), name)
	if err != nil {
		return "", err
	}
	unpack := exec.CommandContext(ctx, "xz", "-dc", found[0])
	unpack.Stdout, unpack.Stderr = tmp, os.Stderr
	err = errors.Join(unpack.Run(), tmp.Chmod(0o755), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("unpack %s: %w", found[0], err), os.Remove(tmp.Name()))
	}
	return path, nil
}
