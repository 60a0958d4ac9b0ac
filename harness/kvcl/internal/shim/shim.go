package shim

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Marker is part of the name of the directory that links live in; a program under another path is left alone.
const Marker = "scalehist-kvcl-"

// Spec says what a link stands for. It lies beside the link, as "<link>.json".
type Spec struct {
	// Path is the real binary.
	Path string `json:"path"`
	// Env goes before the environment: programs take the first of two values.
	Env []string `json:"env,omitempty"`
	// Parent is the process that must still be the parent once the kernel watches it.
	Parent int `json:"parent"`
}

// Process says which process a link became.
type Process struct {
	PID int `json:"pid"`
	// StartTime is field 22 of /proc/<pid>/stat, empty where there is none. With the pid it names a process for good.
	StartTime string `json:"startTime,omitempty"`
}

// Link makes a link in dir that starts the binary at path, and returns its path.
func Link(dir, name, path string, env []string) (string, error) {
	self := "/proc/self/exe"
	if _, err := os.Lstat(self); err != nil {
		if self, err = os.Executable(); err != nil {
			return "", err
		}
	}
	link := filepath.Join(dir, name)
	data, err := json.Marshal(Spec{Path: path, Env: env, Parent: os.Getpid()})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(link+".json", data, 0o600); err != nil {
		return "", err
	}
	return link, os.Symlink(self, link)
}

// Disarm makes the link fail from now on: nothing is started through it any more.
func Disarm(link string) { _ = os.Remove(link + ".json") }

// ReadProcess says which process the link became last; false before it did.
func ReadProcess(link string) (Process, bool) {
	var p Process
	data, err := os.ReadFile(link + ".pid")
	if err != nil || json.Unmarshal(data, &p) != nil || p.PID <= 1 {
		return Process{}, false
	}
	return p, true
}

// StartTime is field 22 of /proc/<pid>/stat, or "" if the process is gone or there is no /proc.
func StartTime(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The command name is in parentheses and may hold spaces; fields are counted after it, from field 3.
	_, rest, ok := cutLast(string(data), ") ")
	if !ok {
		return ""
	}
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return ""
	}
	return fields[19]
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func init() {
	if len(os.Args) == 0 || !strings.Contains(os.Args[0], "/"+Marker) {
		return
	}
	link := os.Args[0]
	if fi, err := os.Lstat(link); err != nil || fi.Mode()&os.ModeSymlink == 0 {
		return
	}
	// envtest asks "<binary> --help" which flags there are. It gets all it needs from us, so nothing need be said.
	// syscall.Exit, because os.Exit takes a second in a binary built with -race.
	if len(os.Args) == 2 && os.Args[1] == "--help" {
		syscall.Exit(0)
	}
	if err := become(link); err != nil {
		fmt.Fprintf(os.Stderr, "start %s: %v\n", filepath.Base(link), err)
		syscall.Exit(127)
	}
}

// become replaces this process with the real binary. It returns only on error.
func become(link string) error {
	data, err := os.ReadFile(link + ".json")
	if err != nil {
		return fmt.Errorf("the virtual cluster is being shut down: %w", err)
	}
	var s Spec
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	dieWithParent()
	if os.Getppid() != s.Parent {
		return fmt.Errorf("the parent process %d has gone", s.Parent)
	}
	pid := os.Getpid()
	p, err := json.Marshal(Process{PID: pid, StartTime: StartTime(pid)})
	if err != nil {
		return err
	}
	if err := os.WriteFile(link+".pid.new", p, 0o600); err != nil {
		return err
	}
	if err := os.Rename(link+".pid.new", link+".pid"); err != nil {
		return err
	}
	if err := syscall.Exec(s.Path, append([]string{s.Path}, os.Args[1:]...), append(s.Env, os.Environ()...)); err != nil {
		return fmt.Errorf("%s: %w", s.Path, err)
	}
	return nil
}
