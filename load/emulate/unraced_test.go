//go:build !race

package emulate

const raced = false
