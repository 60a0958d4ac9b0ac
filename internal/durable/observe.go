package durable

import "sync/atomic"

// An Event is something that was done.
type Event struct {
	Op   Op
	Path string
	// To is the new name of what was Renamed or Linked.
	To string
}

// Op is what was done.
type Op int

// What is done, step by step.
const (
	Synced Op = iota
	FolderSynced
	Renamed
	Linked
	Removed
)

var observer atomic.Pointer[func(Event)]

// Observe lets f see each step in this process, after it was done, from whatever goroutine does it; nil ends that. It is for tests of what
// a power cut between two steps leaves.
func Observe(f func(Event)) {
	if f == nil {
		observer.Store(nil)
		return
	}
	observer.Store(&f)
}

func report(e Event) {
	if f := observer.Load(); f != nil {
		(*f)(e)
	}
}
