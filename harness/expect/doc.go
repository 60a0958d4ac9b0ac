// Package expect judges replay reports in specs. Its matchers read a report and nothing else, so a saved report can be
// judged again in milliseconds; a failure shows the node group table, the first decision that went another way, and
// how to run it again. They are Gomega's to use, and do not need it: scenario files are judged by the same ones.
package expect

// Matcher is what Gomega wants of one (types.GomegaMatcher).
type Matcher interface {
	Match(actual any) (success bool, err error)
	FailureMessage(actual any) string
	NegatedFailureMessage(actual any) string
}
