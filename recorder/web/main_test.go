package web

import (
	"fmt"
	"net/http"
	"os"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// TestMain fails when the app leaves goroutines behind.
func TestMain(m *testing.M) {
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if code == 0 && !quiet(30*time.Second) {
		code = 1
	}
	os.Exit(code)
}

// quiet waits for the last goroutines that are ours to end.
func quiet(limit time.Duration) bool {
	var stacks strings.Builder
	for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		stacks.Reset()
		if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return false
		}
		left := ""
		for g := range strings.SplitSeq(stacks.String(), "\n\n") {
			if strings.Contains(g, "scalehist/recorder") && !strings.Contains(g, "TestMain") {
				left += g + "\n\n"
			}
		}
		if left == "" {
			return true
		}
		if time.Now().After(end) {
			fmt.Fprintf(os.Stderr, "goroutines are left behind:\n%s", left)
			return false
		}
	}
}
