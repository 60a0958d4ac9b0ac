package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// traces are what a program prints that fell.
var traces = []string{"panic:", "goroutine ", "fatal error:", "runtime error", "http: panic serving", "SIGSEGV", ".go:"}

// jargon is what only those understand who wrote the program.
var jargon = regexp.MustCompile(`Go value|Go struct|struct \{|\*?\bv1alpha1\.[A-Z]|reflect\.|json: cannot|while decoding JSON|\.Unmarshal(JSON|Text|YAML)`)

// longest is how much a command may say about what is wrong, in bytes: hostile input is not to be repeated whole.
const longest = 16 << 10

// judgeEnding says what is wrong with how t ended. about are the words of which a refusal has to have one; without any it may say anything.
func judgeEnding(e ending, within limits, t target, about ...string) []string {
	var wrong []string
	text := e.stderr.String()
	switch {
	case e.peak > within.memory:
		return []string{fmt.Sprintf("memory: %d MB, more than the bound of %d MB", e.peak>>20, within.memory>>20)}
	case e.late:
		return []string{fmt.Sprintf("hangs: runs longer than %s; its stacks are in the kept standard error", within.deadline)}
	case e.code < 0:
		wrong = append(wrong, "ended by a signal")
	case e.code == 1 && !t.compares, e.code > 2:
		wrong = append(wrong, fmt.Sprintf("exit code %d", e.code))
	}
	for _, trace := range traces {
		if strings.Contains(text, trace) {
			return append(wrong, fmt.Sprintf("panics or shows its stack: standard error has %q", trace))
		}
	}
	if e.code != 2 {
		return append(wrong, long(e)...)
	}
	switch {
	case t.reports && e.stdout.size > 0:
	case !strings.HasPrefix(text, "scalehist: ") && !strings.Contains(text, "\nscalehist: "):
		wrong = append(wrong, "exit code 2 without a message")
	case len(about) > 0 && !slices.ContainsFunc(about, func(w string) bool { return strings.Contains(text, w) }):
		wrong = append(wrong, fmt.Sprintf("the message names none of %q", about))
	}
	if found := jargon.FindString(text); found != "" {
		wrong = append(wrong, fmt.Sprintf("the message speaks of %q", found))
	}
	return append(wrong, long(e)...)
}

func long(e ending) []string {
	var wrong []string
	if e.code == 2 && e.stderr.size > longest {
		wrong = append(wrong, fmt.Sprintf("the message has %d bytes", e.stderr.size))
	}
	if e.stdout.size+e.stderr.size > outputLimit {
		wrong = append(wrong, fmt.Sprintf("the output has %d MB", (e.stdout.size+e.stderr.size)>>20))
	}
	return wrong
}

// hashes are those of all files below dir, by name.
func hashes(dir string) (map[string][sha256.Size]byte, error) {
	all := map[string][sha256.Size]byte{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		all[name] = sha256.Sum256(data)
		return err
	})
	return all, err
}

// judgeFolder says what is different in a folder that was to stay as it was.
func judgeFolder(before, after map[string][sha256.Size]byte) []string {
	var wrong []string
	for name, was := range before {
		is, there := after[name]
		switch {
		case !there:
			wrong = append(wrong, fmt.Sprintf("input %s is gone", name))
		case is != was:
			wrong = append(wrong, fmt.Sprintf("input %s is changed", name))
		}
	}
	for name := range after {
		if _, there := before[name]; !there {
			wrong = append(wrong, fmt.Sprintf("%s is left behind", name))
		}
	}
	slices.Sort(wrong)
	return wrong
}
