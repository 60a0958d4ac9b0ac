package history

import "fmt"

// MissingError: there is no file at Path.
type MissingError struct{ Path string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("history %s does not exist: check the path, or make one with 'scalehist record' or 'scalehist import'", e.Path)
}

// CorruptError: the file is a SQLite file no more, or cut short.
type CorruptError struct {
	Path string
	// Detail says what SQLite found wrong.
	Detail string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("history %s is damaged or cut short (%s): copy it again from its source", e.Path, e.Detail)
}

// ForeignError: the file is something else than a history.
type ForeignError struct {
	Path string
	// What it is, as far as is known.
	What string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s is not a scalehist history but %s: give a file written by 'scalehist record' or 'scalehist import'", e.Path, e.What)
}

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

// EmptyError: the file is a history in which nothing was recorded.
type EmptyError struct{ Path string }

func (e *EmptyError) Error() string {
	return fmt.Sprintf("history %s is empty: nothing was recorded in it", e.Path)
}

// LockedError: another process writes to the history.
type LockedError struct {
	Path string
	// PID of the writer, 0 if it could not be read.
	PID int
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("history %s is being written by %s: stop it, or write to another file", e.Path, who)
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

// ExistsError: an import or a cut would overwrite a file.
type ExistsError struct{ Path string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s exists already: remove it, choose another name, or force", e.Path)
}

// LinkedError: the file has several names (hard links), and may not be written through one of them.
type LinkedError struct {
	Path string
	// Names is how many there are.
	Names uint64
}

func (e *LinkedError) Error() string {
	return fmt.Sprintf("history %s has %d names (hard links), and what is recorded under one would be missing under the others:"+
		" remove the others, use symbolic links, or record into another file", e.Path, e.Names)
}
