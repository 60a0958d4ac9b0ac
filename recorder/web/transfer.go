package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"k8s.io/klog/v2"

	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
	"github.com/scalehist/scalehist/recorder/history/transfer"
	"github.com/scalehist/scalehist/recorder/service"
)

// download gives a consistent copy of a history, or of a window of it, while it may be recorded. The copy is a file
// without a name by the time its first byte leaves.
func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	// A page elsewhere can make a browser ask, with the credentials it has, as often as it likes. Older browsers do not say who asks.
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		s.fail(w, r, withStatus(http.StatusForbidden, "a page of another site asks for this file: download it from the page of this server"))
		return
	}
	from, to, err := window(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	name := r.PathValue("name")
	path, err := s.library.path(name)
	if err != nil {
		if _, known := s.library.one(r.Context(), name); known == nil {
			err = withStatus(http.StatusNotFound, "nothing is recorded of %s yet", name)
		}
		s.fail(w, r, err)
		return
	}
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{}) // making the copy may take longer than an answer
	c, err := s.copyOf(r.Context(), path, from, to)
	if err != nil {
		if errors.Is(err, errCopies) {
			w.Header().Set("Retry-After", strconv.Itoa(int(copyRetry.Seconds())))
		}
		s.fail(w, r, err)
		return
	}
	defer s.copies.release(c)
	filename := name + ".db"
	if !from.IsZero() || !to.IsZero() {
		filename = name + "-window.db"
	}
	h := w.Header()
	h.Set("Content-Type", "application/vnd.sqlite3")
	h.Set("Content-Disposition", `attachment; filename="`+filename+`"`)
	h.Set("Content-Length", strconv.FormatInt(c.size, 10))
	if _, err := io.Copy(&patientWriter{w, control, newPace(s.o.Clock)}, c.reader()); err != nil && r.Context().Err() == nil {
		klog.FromContext(r.Context()).Info("A download ended early", "history", name, "reason", err.Error())
	}
}

// copyOf is a copy of a history, or of a window of it, to be released.
func (s *Server) copyOf(ctx context.Context, path string, from, to time.Time) (*historyCopy, error) {
	key := copyKey{path: path, from: from, to: to}
	var err error
	if key.file, err = stateOf(path); err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	if key.log, err = stateOf(path + "-wal"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("download: %w", err)
	}
	return s.copies.acquire(ctx, key, func(ctx context.Context) (*os.File, error) { return s.writeCopy(ctx, path, from, to) })
}

// writeCopy makes a copy and unlinks it: it is gone with the descriptor, however the process ends.
func (s *Server) writeCopy(ctx context.Context, path string, from, to time.Time) (_ *os.File, err error) {
	dir, err := s.library.tempIn()
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	copied := filepath.Join(dir, "copy.db")
	if err := copyHistory(ctx, path, copied, from, to); err != nil {
		return nil, unreadable(windowError(err), path)
	}
	file, err := os.Open(copied)
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	return file, nil
}

// copyHistory copies what a reader sees at this moment.
func copyHistory(ctx context.Context, src, dst string, from, to time.Time) (err error) {
	db, err := history.Open(ctx, src)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	begin, end := db.Span()
	if !from.IsZero() && from.After(end) || !to.IsZero() && to.Before(begin) {
		return withStatus(http.StatusUnprocessableEntity, "the history goes from %s to %s: choose a window in it",
			begin.Format(time.RFC3339), end.Format(time.RFC3339))
	}
	if from.IsZero() && to.IsZero() {
		return db.CopyTo(ctx, dst)
	}
	return transfer.Cut(ctx, src, dst, from, to)
}

// windowError says what is wrong with a request, rather than with the server.
func windowError(err error) error {
	var empty *dbfile.EmptyError
	if errors.As(err, &empty) {
		return withStatus(http.StatusUnprocessableEntity, "nothing is recorded there yet")
	}
	return err
}

// apiUpload takes in a history: the body is the file.
func (s *Server) apiUpload(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	created, err := s.upload(w, r, name, r.URL.Query().Get("overwrite") == "true", r.Body)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	cluster, err := s.library.one(r.Context(), name)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	code := http.StatusOK
	if created {
		code = http.StatusCreated
		w.Header().Set("Location", "/api/clusters/"+name)
	}
	writeJSON(w, code, cluster)
}

// uploadForm is the same for the form of the page.
func (s *Server) uploadForm(w http.ResponseWriter, r *http.Request) {
	parts, err := r.MultipartReader()
	if err != nil {
		s.fail(w, r, withStatus(http.StatusBadRequest, "not a form with a file: %w", err))
		return
	}
	name, overwrite := "", false
	for {
		part, err := parts.NextPart()
		if err != nil {
			s.fail(w, r, withStatus(http.StatusBadRequest, "the form has no file: choose one"))
			return
		}
		switch part.FormName() {
		case "name", "overwrite":
			value, err := io.ReadAll(io.LimitReader(part, 256))
			if err != nil {
				s.fail(w, r, withStatus(http.StatusBadRequest, "form: %w", err))
				return
			}
			if part.FormName() == "name" {
				name = strings.TrimSpace(string(value))
			} else {
				overwrite = string(value) == "true"
			}
		case "file": // the last field, so that the others are known
			if _, err := s.upload(w, r, name, overwrite, part); err != nil {
				s.fail(w, r, err)
				return
			}
			http.Redirect(w, r, "/clusters/"+name, http.StatusSeeOther)
			return
		}
	}
}

// upload writes a history to a temporary file, looks into it, and gives it its name in one step. A refused one leaves
// nothing.
func (s *Server) upload(w http.ResponseWriter, r *http.Request, name string, overwrite bool, body io.Reader) (created bool, err error) {
	if !service.ValidName(name) {
		return false, withStatus(http.StatusBadRequest, "name %q is no DNS label: use at most 63 of a-z, 0-9 and - (not first or last)", name)
	}
	for _, c := range s.o.Recordings.Clusters() {
		if c.Name == name {
			return false, withStatus(http.StatusConflict, "%s is a cluster that is recorded here: upload under another name", name)
		}
	}
	dst := s.o.Recordings.HistoryPath(name)
	_, statErr := os.Lstat(dst)
	if statErr == nil && !overwrite {
		return false, withStatus(http.StatusConflict, "there is a history %s already: choose another name, or overwrite it", name)
	}
	if statErr == nil && beingWritten(dst) {
		return false, errBeingWritten(name)
	}
	if r.ContentLength > s.o.MaxUpload {
		return false, s.tooLarge()
	}
	select {
	case s.uploads <- struct{}{}:
		defer func() { <-s.uploads }()
	default:
		w.Header().Set("Retry-After", strconv.Itoa(int(copyRetry.Seconds())))
		return false, withStatus(http.StatusServiceUnavailable, "%d uploads are under way already, the most there may be: try again in %s", maxUploads, copyRetry)
	}
	temp, err := os.CreateTemp(s.o.Recordings.Dir(), uploadPattern)
	if err != nil {
		return false, fmt.Errorf("upload: %w", err)
	}
	defer func() { // a reader may have made a log beside it
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if e := os.Remove(temp.Name() + suffix); e != nil && !errors.Is(e, os.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
	}()
	control := http.NewResponseController(w)
	limited := http.MaxBytesReader(w, io.NopCloser(&patientReader{body, control, newPace(s.o.Clock)}), s.o.MaxUpload)
	_, err = io.Copy(temp, limited)
	_ = control.SetWriteDeadline(time.Time{}) // looking into it may take longer than an answer
	if err = errors.Join(err, temp.Chmod(0o644), temp.Close()); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return false, s.tooLarge()
		}
		return false, withStatus(http.StatusBadRequest, "upload: %w", err)
	}
	if err := readable(r.Context(), temp.Name()); err != nil {
		if r.Context().Err() != nil {
			return false, r.Context().Err()
		}
		return false, withStatus(http.StatusUnprocessableEntity, "the file is refused: %s",
			strings.ReplaceAll(err.Error(), temp.Name(), name+".db"))
	}
	var exists *dbfile.ExistsError
	var locked *dbfile.LockedError
	switch err := dbfile.Place(r.Context(), temp.Name(), dst, overwrite); {
	case errors.As(err, &exists):
		return false, withStatus(http.StatusConflict, "there is a history %s already: choose another name, or overwrite it", name)
	case errors.As(err, &locked):
		return false, errBeingWritten(name)
	case err != nil:
		return false, fmt.Errorf("upload: %w", err)
	}
	return statErr != nil, nil
}

func errBeingWritten(name string) error {
	return withStatus(http.StatusConflict, "the history %s is being written: stop what writes it, or upload under another name", name)
}

// beingWritten says whether a writer holds a history: that of a cluster that was just taken out of the configuration, or
// another process.
func beingWritten(path string) bool {
	file, err := dbfile.RealPath(path)
	if err != nil {
		return true // who writes where nobody can look is not known
	}
	lock := flock.New(file+".lock", flock.SetFlag(os.O_RDWR)) // not made if it is not there
	ok, err := lock.TryLock()
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	return !ok || lock.Close() != nil
}

func (s *Server) tooLarge() error {
	return withStatus(http.StatusRequestEntityTooLarge, "the file is larger than %s: start the server with a larger --max-upload", size(s.o.MaxUpload))
}

// checkTimeout is how long a file that was uploaded is looked at: SQLite reads all of it, 4 GiB in some minutes. copyTimeout
// is for a copy of it.
const (
	checkTimeout = 10 * time.Minute
	copyTimeout  = 10 * time.Minute
)

// readable says whether a file may be listed: its schema is ours (history.Open), it is whole, and its counts and its last
// state can be read.
func readable(ctx context.Context, path string) error {
	return withHistory(ctx, path, checkTimeout, func(ctx context.Context, db *history.DB) error {
		if err := db.Check(ctx); err != nil { // first: in a file that is whole, every read ends
			return err
		}
		if _, err := db.Stats(ctx); err != nil {
			return err
		}
		_, to := db.Span()
		_, err := db.SnapshotAt(ctx, to)
		return err
	})
}

// size is for people: "12.3 MiB".
func size(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f := float64(n)
	for _, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if f /= 1024; f < 1024 || unit == "TiB" {
			return strconv.FormatFloat(f, 'f', 1, 64) + " " + unit
		}
	}
	return ""
}
