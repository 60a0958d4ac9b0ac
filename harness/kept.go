package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/durable"
)

// KeptName is the file, in the directory of WithFiles, with the objects of the controllers as they are at the end of a replay.
const KeptName = "controllers.yaml"

// keeping is a controller that has its state in objects of the cluster, where it finds it again after a restart. They have an apiVersion and a
// kind.
type keeping interface {
	Kept(now time.Time) ([]scalehist.Object, error)
}

// keep writes the objects of the controllers into a directory, as WithObjects takes them. Without a directory, and without such
// controllers, it does nothing.
func (r *run) keep() error {
	var text []byte
	for _, c := range r.controllers {
		k, ok := c.(keeping)
		if !ok || r.opts.files == "" {
			continue
		}
		objects, err := k.Kept(r.now)
		if err != nil {
			return fmt.Errorf("%s: what it keeps: %w", c.Name(), err)
		}
		for _, o := range objects {
			doc, err := yaml.Marshal(o)
			if err != nil {
				return fmt.Errorf("%s: what it keeps: %w", c.Name(), err)
			}
			text = append(append(text, "---\n"...), doc...)
		}
	}
	if text == nil {
		return nil
	}
	if err := os.MkdirAll(r.opts.files, 0o755); err != nil {
		return err
	}
	temp := filepath.Join(r.opts.files, KeptName+".new")
	if err := os.WriteFile(temp, text, 0o644); err != nil {
		return err
	}
	return durable.Replace(temp, filepath.Join(r.opts.files, KeptName))
}
