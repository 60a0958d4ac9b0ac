package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
)

// peaks are the most memory that commands took, by entrance: a command and what it is given.
type peaks struct {
	mu sync.Mutex
	of map[string]int64 // in bytes
}

// add notes what a command took; what was not seen, because it ended at once, is 0.
func (p *peaks) add(t target, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[string]int64{}
	}
	p.of[t.entrance()] = max(p.of[t.entrance()], bytes)
}

// print writes a line for each entrance.
func (p *peaks) print(w io.Writer, bound int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(w, "the most memory of each entrance, bound %d MB:\n", bound>>20)
	for _, name := range slices.Sorted(maps.Keys(p.of)) {
		fmt.Fprintf(w, "  %4d MB  %s\n", p.of[name]>>20, name)
	}
}

// entrance is a command and what it is given: "replay, a history", "serve, PUT /api/histories/x".
func (t target) entrance() string {
	if t.serves != "" {
		return t.command + ", " + t.serves
	}
	return t.command + ", " + string(cmp.Or(t.kind, historyKind)) // what follows another has its input, a history
}
