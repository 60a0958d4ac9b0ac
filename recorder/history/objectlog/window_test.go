package objectlog

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// bomb is a pod of many empty containers: 3 bytes of text each, and a kilobyte in memory.
func bomb(second, containers int) string {
	return fmt.Sprintf(`{"at":"2026-01-01T00:00:%02dZ","op":"add","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p-%d"},"spec":{"containers":[%s{}]}}}`+"\n",
		second, second, strings.Repeat("{},", containers))
}

// TestWindowIsBounded: lines that are small as text and large in memory are not all held to be sorted.
//
//scalehist:unraced
func TestWindowIsBounded(t *testing.T) {
	var log strings.Builder
	const lines, containers = 22, 30_000
	for i := range lines {
		log.WriteString(bomb(i, containers))
	}
	r, err := NewReader(strings.NewReader(log.String()), "x")
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for i := range lines {
		l, err := r.Read()
		if err != nil || l.Object.GetName() != fmt.Sprintf("p-%d", i) {
			t.Fatalf("line %d: %v", i, err)
		}
		most = max(most, len(r.pending))
	}
	if _, err := r.Read(); !errors.Is(err, io.EOF) || r.held != 0 {
		t.Errorf("at the end: %v, %d bytes held", err, r.held)
	}
	if want := maxHeld/(containers*elementWeight) + 1; most > want {
		t.Errorf("%d lines are held at once, want at most %d", most, want)
	}
}

// TestLineOfManyValues: a line of more values than an object can have is refused before it is read.
func TestLineOfManyValues(t *testing.T) {
	r, err := NewReader(strings.NewReader(bomb(0, maxElements+1)), "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(); err == nil || !strings.Contains(err.Error(), "x:1: the line has more than 200000 values") {
		t.Error(err)
	}
}
