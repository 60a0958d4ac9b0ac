package dbfile

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
