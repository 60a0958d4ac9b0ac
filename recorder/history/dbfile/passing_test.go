package dbfile

import (
	"errors"
	"fmt"
	"testing"
)

// TestPassing: only what SQLite says of room and locks may pass.
func TestPassing(t *testing.T) {
	if err := fmt.Errorf("write: %w", errors.New("disk is full")); Passing(err) {
		t.Error("an error that is not SQLite's is called passing")
	}
	if Passing(nil) {
		t.Error("no error is called passing")
	}
}
