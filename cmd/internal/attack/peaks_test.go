package main

import (
	"strings"
	"testing"
)

// TestPeaks: of each entrance the highest is printed, in the order of the names.
func TestPeaks(t *testing.T) {
	var p peaks
	serve := target{command: "serve", kind: historyKind, serves: "PUT /x"}
	p.add(serve, 3<<20)
	p.add(target{command: "replay", kind: historyKind}, 5<<20)
	p.add(serve, 7<<20)
	p.add(serve, 6<<20)
	var out strings.Builder
	p.print(&out, 1<<30)
	if want := "the most memory of each entrance, bound 1024 MB:\n     5 MB  replay, history\n     7 MB  serve, PUT /x\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
