package histories

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/durable"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
	"github.com/scalehist/scalehist/recorder/history/redact"
)

// redactFlags are the flags of redact.
type redactFlags struct {
	to, saltFile, saveSalt, saveMapping string
	keep, keepNamespaces                []string
	force                               bool
	format                              console.Format
}

func newRedactCommand(s console.IO) *cobra.Command {
	f := redactFlags{keepNamespaces: []string{"kube-system"}}
	cmd := &cobra.Command{
		Use:   "redact FILE.db",
		Short: "Write a copy of a history without names, that replays alike",
		Long: `Write a copy of a history in which names, labels, images, addresses, UIDs and free texts are replaced, and that replays
like the original: what selects, tolerates, owns or sorts before something still does.

Words of names are replaced by pseudonyms that a secret salt makes. A random salt is used once and forgotten, unless
--save-salt writes it to a file; with the same salt (--salt-file) the same history gives the same copy. --save-mapping
writes what was replaced, by which a report on the copy can be read. Keep both files to yourself.

What stays: times, sizes, amounts of resources, machine types of clouds, keys that Kubernetes and providers define, and how names
sort. See docs/redact.md for what the copy still tells.`,
		Example: `  # A copy to attach to an issue
  scalehist redact prod.db -f incident.db

  # Copies of several days that can be compared with each other
  scalehist redact monday.db -f monday-redacted.db --save-salt salt
  scalehist redact tuesday.db -f tuesday-redacted.db --salt-file salt

  # A label and a namespace that may be seen
  scalehist redact prod.db -f incident.db --keep-labels team --keep-namespaces kube-system,monitoring`,
		Args:              console.ExactArgs("FILE.db"),
		ValidArgsFunction: console.CompleteHistory,
		RunE:              func(cmd *cobra.Command, args []string) error { return runRedact(cmd, s, args[0], &f) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.to, "out", "f", "", "the history to make (OUT.db)")
	flags.StringVar(&f.saltFile, "salt-file", "", "file with the salt, at least 16 characters; random without it")
	flags.StringVar(&f.saveSalt, "save-salt", "", "write the random salt to this file, which must not exist")
	flags.StringVar(&f.saveMapping, "save-mapping", "", "write what was replaced, as JSON, to this file, which must not exist")
	flags.StringSliceVar(&f.keep, "keep-labels", nil, "label keys to keep, with their values")
	flags.StringSliceVar(&f.keepNamespaces, "keep-namespaces", f.keepNamespaces, "namespaces to keep; their words stay in all names")
	flags.BoolVar(&f.force, "overwrite", false, "replace the output if it exists")
	console.AddFormatFlag(cmd, &f.format)
	cmd.MarkFlagsMutuallyExclusive("salt-file", "save-salt")
	console.RequireFlag(cmd, "out")
	return cmd
}

// redactedJSON is the result of redact -o json.
type redactedJSON struct {
	History string `json:"history"`
	redact.Result
}

func runRedact(cmd *cobra.Command, s console.IO, src string, f *redactFlags) error {
	if sameFile(src, f.to) {
		return fmt.Errorf("redact: %s is the original, which is not replaced: give the copy another name", f.to)
	}
	salt, err := saltOf(f)
	if err != nil {
		return fmt.Errorf("redact: %w", err)
	}
	for _, secret := range []struct{ flag, path string }{{"save-salt", f.saveSalt}, {"save-mapping", f.saveMapping}} {
		if secret.path == "" {
			continue
		}
		if _, err := os.Lstat(secret.path); err == nil {
			return fmt.Errorf("redact: --%s %s exists already: choose another name", secret.flag, secret.path)
		}
		dir := filepath.Dir(secret.path)
		if info, err := os.Stat(dir); err != nil || !info.IsDir() { // known before the copy is made
			return fmt.Errorf("redact: --%s %s: there is no folder %s: choose one that exists and can be written", secret.flag, secret.path, dir)
		}
	}
	if f.saveSalt != "" && filepath.Clean(f.saveSalt) == filepath.Clean(f.saveMapping) {
		return fmt.Errorf("redact: --save-salt and --save-mapping are both %s: choose two names", f.saveSalt)
	}
	progress := s.NewProgress("redacting lines", -1)
	result, err := redact.File(cmd.Context(), src, f.to, redact.Options{Salt: salt, KeepLabels: f.keep, KeepNamespaces: f.keepNamespaces,
		Force: f.force, Progress: func(lines int64) { progress.Set(lines, "") }})
	var exists *dbfile.ExistsError
	if errors.As(err, &exists) {
		return fmt.Errorf("redact: %s exists already: choose another name, or replace it with --overwrite", exists.Path)
	}
	if err != nil {
		return err
	}
	progress.Done()
	if err := saveSecrets(cmd.Context(), f, salt, result.Mapping); err != nil {
		return fmt.Errorf("redact: %s is written, but %w", f.to, err)
	}
	for _, w := range result.Warnings {
		s.Errf("warning: %s\n", w)
	}
	if f.format == console.FormatJSON {
		return s.PrintJSON(redactedJSON{f.to, *result})
	}
	t := console.Table{Title: fmt.Sprintf("%s: %s, %s replaced", f.to, plural.Of(result.Lines, "line"), plural.Of(result.Words, "word")),
		Columns: []console.Column{{Name: "what"}, {Name: "replaced", Right: true}}}
	for _, class := range slices.Sorted(maps.Keys(result.Names)) {
		t.Rows = append(t.Rows, []string{class, strconv.Itoa(result.Names[class])})
	}
	t.Rows = append(t.Rows, []string{"whole texts", strconv.Itoa(result.Texts)})
	s.PrintTable(t, f.format)
	return nil
}

// saltOf reads the salt, or makes one.
func saltOf(f *redactFlags) ([]byte, error) {
	if f.saltFile == "" {
		random := make([]byte, 32)
		if _, err := rand.Read(random); err != nil {
			return nil, fmt.Errorf("random salt: %w", err)
		}
		return []byte(hex.EncodeToString(random)), nil
	}
	b, err := os.ReadFile(f.saltFile)
	if err != nil {
		return nil, fmt.Errorf("--salt-file: %w", err)
	}
	salt := bytes.TrimSpace(b)
	if len(salt) < redact.MinSalt {
		return nil, fmt.Errorf("--salt-file %s: %d characters can be guessed: give at least %d", f.saltFile, len(salt), redact.MinSalt)
	}
	return salt, nil
}

// saveSecrets writes what only the owner of the history may read.
func saveSecrets(ctx context.Context, f *redactFlags, salt []byte, m *redact.Mapping) error {
	save := func(path string, write func(w io.Writer) error) error {
		if path == "" {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("%s is not: %w", path, durable.WithoutPaths(err))
		}
		if err := errors.Join(write(out), out.Close()); err != nil {
			return fmt.Errorf("%s is not: %w", path, durable.WithoutPaths(err))
		}
		return nil
	}
	return errors.Join(
		save(f.saveSalt, func(w io.Writer) error { _, err := fmt.Fprintf(w, "%s\n", salt); return err }),
		save(f.saveMapping, func(w io.Writer) error { return console.WriteJSON(w, m) }))
}
