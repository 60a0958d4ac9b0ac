package docstest

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// root is the top of the repository.
const root = "../.."

// pages are the Markdown files of the repository by their path from the top, with slashes.
func pages(t *testing.T) map[string]page {
	t.Helper()
	out := map[string]page{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // what other tests make and remove meanwhile
		}
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "gen" || name == "bin" || name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") && name != ".." {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".md") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		out[filepath.ToSlash(rel)] = parse(string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 10 {
		t.Fatalf("found %d pages: is %s the top of the repository?", len(out), root)
	}
	return out
}

// resolve is the file and the anchor a link means, from the page it is in; false for links to other places.
func resolve(from, target string) (file, anchor string, inside bool) {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "" || u.Host != "" || strings.HasPrefix(target, "/") {
		return "", "", false
	}
	if u.Path == "" {
		return from, u.Fragment, true
	}
	return path.Join(path.Dir(from), u.Path), u.Fragment, true
}

// TestLinksResolve: every relative link leads to a file or a folder of the repository, and every anchor to a heading.
func TestLinksResolve(t *testing.T) {
	all := pages(t)
	for name, p := range all {
		for _, l := range p.links {
			file, anchor, inside := resolve(name, l.target)
			if !inside {
				continue
			}
			if strings.HasPrefix(file, "..") {
				t.Errorf("%s:%d: %s leads out of the repository", name, l.line, l.target)
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(file))); err != nil {
				t.Errorf("%s:%d: %s: there is no %s", name, l.line, l.target, file)
				continue
			}
			if to, isPage := all[file]; anchor != "" && isPage && !to.anchors[anchor] {
				t.Errorf("%s:%d: %s: %s has no heading #%s", name, l.line, l.target, file, anchor)
			}
		}
	}
}

// TestEveryPageIsInTheIndex: docs/README.md links every other page of docs/.
func TestEveryPageIsInTheIndex(t *testing.T) {
	all := pages(t)
	const index = "docs/README.md"
	linked := map[string]bool{}
	for _, l := range all[index].links {
		if file, _, inside := resolve(index, l.target); inside {
			linked[file] = true
		}
	}
	for name := range all {
		if path.Dir(name) == "docs" && name != index && !linked[name] {
			t.Errorf("%s has no link to %s: add it to the index", index, name)
		}
	}
}

// TestEveryFixtureIsInTheTable: all of them are there for anyone who looks for an example.
func TestEveryFixtureIsInTheTable(t *testing.T) {
	table, err := os.ReadFile(filepath.Join(root, "docs", "fixtures.md"))
	if err != nil {
		t.Fatal(err)
	}
	recordings, err := filepath.Glob(filepath.Join(root, "fixtures", "*", "recording.db"))
	if err != nil {
		t.Fatal(err)
	}
	if len(recordings) == 0 {
		t.Fatal("fixtures/ has no recordings")
	}
	for _, r := range recordings {
		name := filepath.Base(filepath.Dir(r))
		if !strings.Contains(string(table), "\n| `"+name+"` |") {
			t.Errorf("docs/fixtures.md: the table of fixtures has no line for %s", name)
		}
	}
}

func TestParse(t *testing.T) {
	p := parse("# Cause *and* effect\n\n[a](b.md#c) `[no](x.md)` ![p](p.png \"title\")\n\n```sh\n# no heading [no](y.md)\n```\n" +
		"## `serve --check`\n## Twice\n## Twice\n[r]: ref.md\n<a id=\"own\"></a><img src=\"q.png\">\n## Packages: imports, down\n")
	var anchors []string
	for a := range p.anchors {
		anchors = append(anchors, a)
	}
	slices.Sort(anchors)
	want := []string{"cause-and-effect", "own", "packages-imports-down", "serve---check", "twice", "twice-1"}
	if diff := cmp.Diff(want, anchors); diff != "" {
		t.Errorf("anchors (-want +got):\n%s", diff)
	}
	wantLinks := []link{{"b.md#c", 3}, {"p.png", 3}, {"ref.md", 11}, {"q.png", 12}}
	if diff := cmp.Diff(wantLinks, p.links, cmp.AllowUnexported(link{})); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
}

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		target, file, anchor string
		inside               bool
	}{
		{"../README.md#a", "README.md", "a", true},
		{"#here", "docs/x.md", "here", true},
		{"images/p.png", "docs/images/p.png", "", true},
		{"https://example.com/x.md", "", "", false},
		{"mailto:a@example.com", "", "", false},
	} {
		file, anchor, inside := resolve("docs/x.md", c.target)
		if file != c.file || anchor != c.anchor || inside != c.inside {
			t.Errorf("resolve(%q) = %q, %q, %v, want %q, %q, %v", c.target, file, anchor, inside, c.file, c.anchor, c.inside)
		}
	}
}
