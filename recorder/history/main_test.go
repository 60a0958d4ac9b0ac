package history_test

import (
	"flag"
	"os"
	"testing"

	"github.com/scalehist/scalehist/recorder/history"
)

// TestMain lets each property try 12 lives, not rapid's 100: every one makes up to three files. More with
// "go test ./recorder/history -rapid.checks=1000".
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "12"); err != nil {
		panic(err)
	}
	history.SetMinKeyframe(3) // small histories have them too
	os.Exit(m.Run())
}
