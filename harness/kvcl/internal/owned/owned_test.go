package owned

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stranger is a uid that is neither root's nor ours.
const stranger = 54321

// give makes path another user's. Only root can; where the tests run as another user there is no stranger's file to test with.
func give(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away; CI runs as root")
	}
	if err := os.Chown(path, stranger, stranger); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

func TestFolder(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(t *testing.T, path string)
		want string // in the error, "" for none
	}{
		{"missing", func(*testing.T, string) {}, ""},
		{"ours", func(t *testing.T, p string) { mkdir(t, p, 0o700) }, ""},
		{"another user's", func(t *testing.T, p string) { mkdir(t, p, 0o700); give(t, p) }, "belongs to uid 54321"},
		{"link to a folder of ours", func(t *testing.T, p string) {
			if err := os.Symlink(t.TempDir(), p); err != nil {
				t.Fatal(err)
			}
		}, "is a symbolic link"},
		{"link to nothing", func(t *testing.T, p string) {
			if err := os.Symlink(filepath.Join(t.TempDir(), "none"), p); err != nil {
				t.Fatal(err)
			}
		}, "is a symbolic link"},
		{"file", func(t *testing.T, p string) {
			if err := os.WriteFile(p, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "is not a folder"},
		{"readable by others", func(t *testing.T, p string) { mkdir(t, p, 0o755) }, "is open to other users (mode 0755)"},
		{"writable by the group", func(t *testing.T, p string) { mkdir(t, p, 0o770) }, "is open to other users (mode 0770)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "private")
			tt.make(t, path)
			root, err := Folder(path)
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o700 {
					t.Errorf("folder %v, %v; want mode 0700", info, err)
				}
				if err := root.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			foreign := (*ForeignError)(nil)
			if !errors.As(err, &foreign) || !strings.Contains(err.Error(), tt.want) || foreign.Do == "" {
				t.Errorf("error %v, want a ForeignError that says %q and what to do", err, tt.want)
			}
		})
	}
}

func TestProgram(t *testing.T) {
	for _, tt := range []struct {
		name string
		with func(t *testing.T, dir, program string) string // returns the path to ask about
		want string
	}{
		{"ours", func(_ *testing.T, _, p string) string { return p }, ""},
		{"a link to ours", func(t *testing.T, _, p string) string { return link(t, p) }, ""},
		{"another user's file", func(t *testing.T, _, p string) string { give(t, p); return p }, "belongs to uid 54321"},
		{"another user's folder", func(t *testing.T, d, p string) string { give(t, d); return p }, "belongs to uid 54321"},
		{"a link to another user's file", func(t *testing.T, _, p string) string { give(t, p); return link(t, p) }, "belongs to uid 54321"},
		{"writable by the group", func(t *testing.T, _, p string) string { chmod(t, p, 0o775); return p }, "(mode 0775)"},
		{"in a folder writable by all", func(t *testing.T, d, p string) string { chmod(t, d, 0o757); return p }, "(mode 0757)"},
		{"a link into a folder writable by all", func(t *testing.T, d, p string) string { chmod(t, d, 0o757); return link(t, p) }, "(mode 0757)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			chmod(t, dir, 0o755)
			program := filepath.Join(dir, "etcd")
			if err := os.WriteFile(program, []byte("x"), 0o755); err != nil {
				t.Fatal(err)
			}
			chmod(t, program, 0o755)
			err := Program(tt.with(t, dir, program))
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			foreign := (*ForeignError)(nil)
			if !errors.As(err, &foreign) || !strings.Contains(err.Error(), tt.want) || foreign.Do == "" {
				t.Errorf("error %v, want a ForeignError that says %q and what to do", err, tt.want)
			}
		})
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// link makes a link to path in a folder of its own.
func link(t *testing.T, path string) string {
	t.Helper()
	dir := t.TempDir()
	chmod(t, dir, 0o755)
	out := filepath.Join(dir, "link")
	if err := os.Symlink(path, out); err != nil {
		t.Fatal(err)
	}
	return out
}
