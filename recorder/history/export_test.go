package history

import "testing"

// SetMinKeyframe lets tests and benchmarks choose how often there are keyframes; it gives the choice before.
func SetMinKeyframe(n int64) int64 {
	before := minKeyframe
	minKeyframe = n
	return before
}

// SetRetainChunk is the same for the rows of one transaction of Retain.
func SetRetainChunk(n int) int {
	before := retainChunk
	retainChunk = n
	return before
}

// DSNs are how files are opened, by what for.
func DSNs(t testing.TB, path string) map[string]string {
	t.Helper()
	h, err := readHeader(path, path)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"read": readDSN(path, h), "write": writeDSN(path, false)}
}
