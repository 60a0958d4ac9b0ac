// Package leaktest fails a package's tests when they leave goroutines of this module behind.
package leaktest

import (
	"fmt"
	"os"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// limit is how long goroutines that are ending may take to end.
const limit = 30 * time.Second

// Main runs the tests and returns the exit code for TestMain: not 0 when they passed but goroutines with a frame of code
// under path (an import path's part) are left. closing runs between the two, nil for nothing.
func Main(m *testing.M, path string, closing func()) int {
	code := m.Run()
	if closing != nil {
		closing()
	}
	if code != 0 {
		return code
	}
	left, err := waitQuiet(path)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	case left != "":
		fmt.Fprintf(os.Stderr, "goroutines are left behind:\n%s", left)
		return 1
	}
	return 0
}

// waitQuiet waits for the last goroutines of path to end and returns the stacks of those that do not.
func waitQuiet(path string) (left string, err error) {
	for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		var stacks strings.Builder
		if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err != nil {
			return "", err
		}
		left = ""
		for g := range strings.SplitSeq(stacks.String(), "\n\n") {
			if strings.Contains(g, path) && !strings.Contains(g, "TestMain") {
				left += g + "\n\n"
			}
		}
		if left == "" || time.Now().After(end) {
			return left, nil
		}
	}
}
