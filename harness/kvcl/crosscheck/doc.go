// Package crosscheck compares two control planes: it runs random programs of changes on both and wants the same from
// both after every step: the error, what the scheduler did, and every field of every object.
//
// A program is data: steps that apply changes, set taints, evict and move the clock. A seed stands for one program, the
// same everywhere, whatever ran before it and however many workers run. Of a program that shows a difference the package
// finds a smaller one that shows the same difference.
//
// Planes are parameters. The package knows nothing of what is behind them, of histories, replays and autoscalers. What may
// differ by nature is listed in compare.go, each with its reason; everything else must be equal.
package crosscheck
