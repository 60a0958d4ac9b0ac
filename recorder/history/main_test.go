package history_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets each property try 40 lives, not rapid's 100: every one makes up to three files. More with
// "go test ./recorder/history -rapid.checks=1000".
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "40"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
