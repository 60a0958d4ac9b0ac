// Package expect judges replay reports in specs. Its matchers read a report and nothing else, so a saved report can be
// judged again in milliseconds; a failure shows the node group table, the first decision that went another way, and
// how to run it again. It is the only non-test package that imports Gomega.
package expect
