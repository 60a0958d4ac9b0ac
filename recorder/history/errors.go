package history

import "fmt"

// VersionError: the file has a schema that this build does not read.
type VersionError struct {
	Path string
	// Have is the file's schema version; this build reads SchemaVersion.
	Have int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("history %s has schema version %d, this scalehist reads version %d only: use the scalehist that wrote it, or record again",
		e.Path, e.Have, SchemaVersion)
}

// ImportedError: a recorder may not continue a history that was imported: what is not in the cluster would be deleted.
type ImportedError struct {
	Path string
	// Source says what it is an import of.
	Source string
}

func (e *ImportedError) Error() string {
	return fmt.Sprintf("history %s is an %s: a recording cannot continue it, record into another file", e.Path, e.Source)
}

// OtherClusterError: the history is of another cluster than the one to record.
type OtherClusterError struct {
	Path string
	// Cluster names the history's cluster, if it is known. Have and Want are the UIDs of the namespace kube-system in
	// the history and in the cluster to record; Want is empty if the cluster would not say.
	Cluster, Have, Want string
}

func (e *OtherClusterError) Error() string {
	of := "another cluster"
	if e.Cluster != "" {
		of += " (" + e.Cluster + ")"
	}
	if e.Want == "" {
		return fmt.Sprintf("history %s may be of %s: the namespace kube-system, whose UID tells clusters apart, cannot be read: "+
			"record into another file, or allow get, list and watch on namespaces", e.Path, of)
	}
	return fmt.Sprintf("history %s is of %s: its namespace kube-system has UID %s, that of the cluster to record is %s: record into another file",
		e.Path, of, e.Have, e.Want)
}
