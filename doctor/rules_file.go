package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
	"github.com/scalehist/scalehist/recorder/history/fsck"
)

var fileRules = []Rule{
	{Code: "SH001", Title: "file is damaged", Severity: Error, onFile: true, run: damaged,
		Doc: "SQLite finds the file cut short, or pages, rows, indexes or constraints that are not as it wrote them (`PRAGMA integrity_check`). " +
			"A replay would stop, or read what never was.",
		Advice: "copy the file again from where it was recorded, while no recorder writes to it or with `scalehist export`"},
	{Code: "SH002", Title: "file is no history", Severity: Error, onFile: true, run: foreign,
		Doc: "The file is something else (an object log, another database, one with tables, views, indexes or triggers that scalehist does not make), " +
			"or a history in which nothing was recorded.",
		Advice: "give a file written by `scalehist record`; turn an object log into one with `scalehist import`"},
	{Code: "SH003", Title: "another format", Severity: Error, onFile: true, run: version,
		Doc:    "A scalehist with another schema of histories wrote the file; this one does not read it.",
		Advice: "use the scalehist that wrote it, or record again"},
	{Code: "SH005", Title: "rows that refer to nothing", Severity: Error, onFile: true, run: dangling,
		Doc: "A row refers to another that is not there (`PRAGMA foreign_key_check`): a version of an unknown object, a version without its content. " +
			"The recorder writes both in one transaction, so something else changed the file.",
		Advice: "copy the file again from where it was recorded; do not trust the part after the first such row"},
	{Code: "SH006", Title: "overlapping or inverted versions", Severity: Error, onFile: true, run: disordered,
		Doc: "The versions of an object must follow each other without overlap, each ending after it begins, the last one with the object. " +
			"Where they do not, the state at an instant has two answers or none.",
		Advice: "copy the file again from where it was recorded; choose a window (--from, --to) before the first such version"},
	{Code: "SH007", Title: "history cannot be read", Severity: Error, onFile: true, run: unreadable,
		Doc:    "The tables are whole, but an object in them cannot be decoded: its kind is unknown to this scalehist, or its JSON is no such object.",
		Advice: "use a scalehist as new as the one that recorded, or copy the file again"},
	{Code: "SH008", Title: "altered contents", Severity: Error, onFile: true, run: altered,
		Doc: "What an object was is kept with a hash of it, and one of them is not what its hash says: a byte of the file is another than the one " +
			"recorded, by a bad disk or copy, or by hand. SQLite cannot see that. A replay that reads this content stops with an error.",
		Advice: "copy the file again from where it was recorded; choose a window (--from, --to) in which the object does not appear"},
}

func damaged(_ context.Context, in *Input) ([]Finding, error) {
	var out []Finding
	var corrupt *dbfile.CorruptError
	switch {
	case errors.As(in.OpenErr, &corrupt):
		out = append(out, Finding{Message: corrupt.Detail})
	case in.OpenErr != nil && !refused(in.OpenErr):
		out = append(out, Finding{Message: in.OpenErr.Error()})
	}
	return append(out, problems(in, fsck.Damage)...), nil
}

// refused: the store knows what the file is, and does not read it.
func refused(err error) bool {
	var foreign *dbfile.ForeignError
	var empty *dbfile.EmptyError
	var version *history.VersionError
	return errors.As(err, &foreign) || errors.As(err, &empty) || errors.As(err, &version)
}

func foreign(_ context.Context, in *Input) ([]Finding, error) {
	var foreign *dbfile.ForeignError
	var empty *dbfile.EmptyError
	switch {
	case errors.As(in.OpenErr, &foreign):
		return []Finding{{Message: "it is " + foreign.What}}, nil
	case errors.As(in.OpenErr, &empty):
		return []Finding{{Message: "nothing was recorded in it"}}, nil
	}
	return nil, nil
}

func version(_ context.Context, in *Input) ([]Finding, error) {
	var version *history.VersionError
	if errors.As(in.OpenErr, &version) {
		return []Finding{{Message: fmt.Sprintf("its schema version is %d, this scalehist reads %d", version.Have, history.SchemaVersion)}}, nil
	}
	return nil, nil
}

func dangling(_ context.Context, in *Input) ([]Finding, error) {
	return problems(in, fsck.Dangling), nil
}
func disordered(_ context.Context, in *Input) ([]Finding, error) {
	return problems(in, fsck.Order), nil
}

func altered(_ context.Context, in *Input) ([]Finding, error) {
	return problems(in, fsck.Altered), nil
}

func unreadable(_ context.Context, in *Input) ([]Finding, error) {
	if in.LoadErr == nil || len(in.Problems) > 0 { // the reason is reported already
		return nil, nil
	}
	return []Finding{{Message: in.LoadErr.Error()}}, nil
}

func problems(in *Input, class fsck.Class) []Finding {
	var out []Finding
	for _, p := range in.Problems {
		if p.Class == class {
			out = append(out, Finding{At: p.At, Object: p.Object, Message: p.What})
		}
	}
	return out
}
