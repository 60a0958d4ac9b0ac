package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/scalehist/scalehist"
)

const (
	// identityKey is the meta key of the UID of the recorded cluster's namespace kube-system.
	identityKey = "cluster_uid"
	// originKey is the meta key of a scalehist.Origin.
	originKey = "origin"
	// importSource begins the meta value "source" of every history that was imported.
	importSource = "import of "
)

// checkOrigin refuses to continue a history that is not the past of the cluster to record: the first lists of a
// recording end every object that they do not show. Names and addresses of a cluster are not compared: they change,
// and "127.0.0.1:6443" is many clusters.
func checkOrigin(ctx context.Context, q queryer, path string, o Options) error {
	meta, err := readMeta(ctx, q)
	if err != nil {
		return readError(path, err)
	}
	if source := meta["source"]; strings.HasPrefix(source, importSource) {
		return &ImportedError{Path: path, Source: source}
	}
	have := meta[identityKey]
	if have == "" {
		if have, err = recordedIdentity(ctx, q); err != nil {
			return readError(path, err)
		}
	}
	if have != "" && have != o.Identity {
		return &OtherClusterError{Path: path, Cluster: meta["cluster"], Have: have, Want: o.Identity}
	}
	return nil
}

// origin is what a new history is evidence of.
func (o Options) origin() scalehist.Origin {
	return originOf(map[string]string{originKey: string(o.Origin), "source": o.Source, identityKey: o.Identity})
}

// originOf reads it from the meta of a history, also of one that was made before it was written down: imports say so in
// their source, and a cluster in virtual time is one that a script plays.
func originOf(meta map[string]string) scalehist.Origin {
	switch {
	case meta[originKey] != "":
		return scalehist.Origin(meta[originKey])
	case strings.HasPrefix(meta["source"], importSource):
		return scalehist.OriginImported
	case meta[identityKey] == VirtualIdentity:
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
	if err != nil {
		return "", err
	}
	if meta[identityKey] == "" {
		if meta[identityKey], err = recordedIdentity(ctx, q); err != nil {
			return "", err
		}
	}
	return originOf(meta), nil
}

// VirtualIdentity is the identity of every cluster that lives in virtual time: its API server, and with it the UIDs, are
// made anew for each recording.
const VirtualIdentity = "virtual"

// recordedIdentity looks for the namespace kube-system among the objects, for histories from before identityKey. A
// made-up UID there is of virtual time.
func recordedIdentity(ctx context.Context, q queryer) (string, error) {
	var uid any
	err := q.QueryRowContext(ctx, `SELECT o.uid FROM scope s CROSS JOIN object o ON o.scope_id = s.id AND o.few = 1
		WHERE s.kind = 'Namespace' AND s.prefix || o.name = 'kube-system' ORDER BY o.id DESC LIMIT 1`).Scan(&uid)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("namespace kube-system: %w", err)
	}
	if id := uidFrom(uid); !synthetic(id) {
		return string(id), nil
	}
	return VirtualIdentity, nil
}
