//go:build race

package emulate

// raced: the race detector keeps memory of its own for each byte that is held, several times as much.
const raced = true
