// Package report writes ReplayReports for people and machines: JSON with a published schema, a text page, the
// timeline kept as a golden file, and the table a failing spec prints. It reads reports and nothing else: no cluster,
// no history, no test framework.
package report
