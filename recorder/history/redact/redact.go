package redact

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// Options choose what stays.
type Options struct {
	// Salt is the secret behind the pseudonyms, at least MinSalt bytes. The same salt gives the same file for the same
	// history, and another history's equal words the same hash in their pseudonyms.
	Salt []byte
	// KeepLabels are label keys that stay, with their values: wherever labels are, in selectors, taints and tolerations.
	KeepLabels []string
	// KeepNamespaces are names of namespaces that stay. Their words stay in all names.
	KeepNamespaces []string
	// Force replaces an existing file.
	Force bool
	// Progress is called now and then with the lines done, of twice the lines of the history.
	Progress func(lines int64)
}

// MinSalt is the least length of a salt in bytes: shorter ones can be guessed.
const MinSalt = 16

// Result says what a redaction did.
type Result struct {
	// Lines of the object log that the history is.
	Lines int64 `json:"lines"`
	// Words counts the words replaced; Names the replaced names by class; Texts the texts replaced whole.
	Words int            `json:"words"`
	Names map[string]int `json:"names"`
	Texts int            `json:"texts"`
	// HashLength is how many characters of the hash a pseudonym carries; less than 4 where long names leave no room.
	HashLength int `json:"hashLength"`
	// Warnings are those of writing the history.
	Warnings []string `json:"warnings,omitempty"`
	// Mapping is all that was replaced.
	Mapping *Mapping `json:"-"`
}

// File writes the redacted copy of the history at src to dst, which appears complete or not at all. An existing dst is
// a dbfile.ExistsError, unless forced.
func File(ctx context.Context, src, dst string, o Options) (result *Result, err error) {
	if len(o.Salt) < MinSalt {
		return nil, fmt.Errorf("redact: the salt has %d bytes: give at least %d", len(o.Salt), MinSalt)
	}
	db, err := history.Open(ctx, src)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	meta, err := db.Meta(ctx)
	if err != nil {
		return nil, err
	}
	r := newRewriter(o)
	cluster := meta["cluster"]
	r.name("cluster", cluster)
	var lines int64
	collected := func(l objectlog.Line) error {
		lines++
		r.object(l.Object)
		r.progress(lines)
		return r.err
	}
	if err := each(ctx, db, collected); err != nil {
		return nil, fmt.Errorf("redact %s: %w", src, err)
	}
	if err := r.settle(); err != nil {
		return nil, fmt.Errorf("redact %s: %w", src, err)
	}
	cluster = r.name("cluster", cluster)
	report, err := transfer.ImportLines(ctx, dst, transfer.ImportOptions{Name: "redacted", Cluster: cluster, Force: o.Force}, func(write func(objectlog.Line) error) error {
		return r.write(ctx, db, write, lines)
	})
	if err != nil {
		return nil, fmt.Errorf("redact %s: %w", src, err)
	}
	return r.result(lines, report.Warnings), nil
}

// write is the second pass: every line, rewritten.
func (r *rewriter) write(ctx context.Context, db *history.DB, write func(objectlog.Line) error, done int64) error {
	return each(ctx, db, func(l objectlog.Line) error {
		r.object(l.Object)
		if r.err != nil {
			return r.err
		}
		done++
		r.progress(done)
		return write(l)
	})
}

func (r *rewriter) progress(lines int64) {
	if r.options.Progress != nil && lines%1000 == 0 {
		r.options.Progress(lines)
	}
}

// each gives every line of a history to f, whose object is f's own. Its error comes back as it is.
func each(ctx context.Context, db *history.DB, f func(objectlog.Line) error) error {
	var own error
	err := db.Lines(ctx, time.Time{}, time.Time{}, func(l objectlog.Line) error {
		own = f(l)
		return own
	})
	if own != nil {
		return own
	}
	return err
}

func (r *rewriter) result(lines int64, warnings []string) *Result {
	out := &Result{Lines: lines, Words: len(r.words.words), Names: map[string]int{}, Texts: len(r.mapping.Texts),
		HashLength: r.hashLen, Warnings: warnings, Mapping: r.mapping}
	for class, names := range r.mapping.Names {
		out.Names[class] = len(names)
	}
	return out
}
