package main

import (
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/scalehist/scalehist/harness/kvcl/assets"
)

const usage = `

  release image -binary FILE -o FILE.tar [-tag NAME:TAG] [-version V]
  release sbom -o FILE.cdx.json [-version V] BINARY...`

// wrong is a mistake in the command line, with what it takes.
func wrong(format string, args ...any) error {
	return fmt.Errorf(format+"%s", append(args, usage)...)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, progress io.Writer) error {
	if len(args) == 0 {
		return wrong("say what to make")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var (
		out     = flags.String("o", "", "file to write")
		version = flags.String("version", "devel", "version of scalehist")
		binary  = flags.String("binary", "", "scalehist, built for Linux without cgo")
		tag     = flags.String("tag", "", "name of the image (default scalehist:VERSION)")
	)
	err := flags.Parse(args[1:])
	switch {
	case err != nil:
		return wrong("%w", err)
	case args[0] == "image" && (*binary == "" || *out == "" || flags.NArg() > 0):
		return wrong("image: give -binary and -o")
	case args[0] == "image":
		paths, err := assets.Ensure(ctx, assets.Options{Progress: progress})
		if err != nil {
			return err
		}
		if *tag == "" {
			*tag = "scalehist:" + *version
		}
		return writeImage(*out, *tag, contents{Scalehist: *binary, KubeAPIServer: paths.KubeAPIServer, Etcd: paths.Etcd, Version: *version, Level: gzip.BestSpeed})
	case args[0] == "sbom" && (*out == "" || flags.NArg() == 0):
		return wrong("sbom: give -o and the binaries")
	case args[0] == "sbom":
		return writeSBOM(*out, *version, flags.Args())
	}
	return wrong("%q cannot be made", args[0])
}

// create writes a file, whole or not at all.
func create(path string, write func(io.Writer) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err == nil {
			err = os.Rename(f.Name(), path)
		}
		if err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(f.Name()))
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	return f.Chmod(0o644)
}
