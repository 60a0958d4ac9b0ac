package report

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/durable"
)

// Save writes report.json, report.txt and timeline.txt into dir, which it makes.
func Save(dir string, r *scalehist.ReplayReport) error {
	files, err := Files(r)
	if err != nil {
		return err
	}
	return SaveFiles(dir, r, files)
}

// Files are report.json, report.txt and timeline.txt by their names.
func Files(r *scalehist.ReplayReport) (map[string][]byte, error) {
	b, err := marshal(r)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"report.json": b, "report.txt": []byte(Text(r)), "timeline.txt": []byte(Timeline(r))}, nil
}

// SaveFiles writes the files of one report into dir, which it makes, by their names. They take their places when all of them are written,
// so that a full disk leaves those of the report before, and never some of each. A power cut leaves each of them whole.
func SaveFiles(dir string, r *scalehist.ReplayReport, files map[string][]byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("save report of %s: %w", r.Scenario, err)
		}
	}()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(files))
	temps := map[string]string{}
	defer func() {
		for _, name := range names {
			if temp, made := temps[name]; made { // it has not taken its place
				err = errors.Join(err, os.Remove(temp))
			}
		}
	}()
	for _, name := range names {
		f, err := os.CreateTemp(dir, ".report-*")
		if err != nil {
			return err
		}
		temps[name] = f.Name()
		_, err = f.Write(files[name])
		if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
			return err
		}
		if err := durable.Sync(temps[name]); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := durable.Rename(temps[name], filepath.Join(dir, name)); err != nil {
			return err
		}
		delete(temps, name)
	}
	return nil
}
