package recall

// SetRoom makes the memory as small as given, until the returned function is called.
func SetRoom(answers, counts, selectors int) (restore func()) {
	a, c, s := maxAnswers, maxCounts, maxSelectors
	maxAnswers, maxCounts, maxSelectors = answers, counts, selectors
	return func() { maxAnswers, maxCounts, maxSelectors = a, c, s }
}
