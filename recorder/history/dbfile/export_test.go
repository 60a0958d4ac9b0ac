package dbfile

// SetReadersTake lets tests choose how long readers are waited for, in milliseconds; it gives the choice before.
func SetReadersTake(ms int) int {
	before := readersTake
	readersTake = ms
	return before
}
