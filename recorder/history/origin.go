package history

import (
	"context"
	"strings"

	"github.com/scalehist/scalehist"
)

const (
	// identityKey is the meta key of the UID of the recorded cluster's namespace kube-system.
	identityKey = "cluster_uid"
	// OriginKey is the meta key of a scalehist.Origin.
	OriginKey = "origin"
	// ImportSource begins the meta value "source" of every history that was imported.
	ImportSource = "import of "
)

// checkOrigin refuses to continue a history that is not the past of the cluster to record: the first lists of a
// recording end every object that they do not show. Names and addresses of a cluster are not compared: they change,
// and "127.0.0.1:6443" is many clusters.
func checkOrigin(ctx context.Context, q queryer, path string, o Options) error {
	meta, err := readMeta(ctx, q)
	if err != nil {
		return readError(path, err)
	}
	if source := meta["source"]; strings.HasPrefix(source, ImportSource) {
		return &ImportedError{Path: path, Source: source}
	}
	if have := meta[identityKey]; have != "" && have != o.Identity {
		return &OtherClusterError{Path: path, Cluster: meta["cluster"], Have: have, Want: o.Identity}
	}
	return nil
}

// origin is what a new history is evidence of: imports say so in their source, and a cluster in virtual time is one that a
// script plays.
func (o Options) origin() scalehist.Origin {
	switch {
	case o.Origin != "":
		return o.Origin
	case strings.HasPrefix(o.Source, ImportSource):
		return scalehist.OriginImported
	case o.Identity == VirtualIdentity:
		return scalehist.OriginScripted
	}
	return scalehist.OriginRecorded
}

// Origin says what the history is evidence of. A copy, a cut and a redacted copy of what a script played are scripted too,
// and so is what is imported of its export.
func (db *DB) Origin(ctx context.Context) (scalehist.Origin, error) {
	var out scalehist.Origin
	err := db.read(ctx, "origin", func(q queryer) (err error) {
		out, err = readOrigin(ctx, q)
		return err
	})
	return out, err
}

func readOrigin(ctx context.Context, q queryer) (scalehist.Origin, error) {
	meta, err := readMeta(ctx, q)
	return scalehist.Origin(meta[OriginKey]), err
}

// VirtualIdentity is the identity of every cluster that lives in virtual time: its API server, and with it the UIDs, are
// made again for each recording.
const VirtualIdentity = "virtual"
