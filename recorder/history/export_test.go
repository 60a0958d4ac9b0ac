package history

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
